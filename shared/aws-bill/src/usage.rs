//! What AWS bills, in its own units.

/// A billed quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// Write request units of a table on demand, its indexes included.
    WriteUnits,
    /// Read request units of a table on demand.
    ReadUnits,
    /// Gigabytes of items and index entries, for a month.
    TableStorage,
    /// Gigabytes of a table with point-in-time recovery, for a month. Indexes are not charged.
    PointInTimeRecovery,
    /// Requests to an HTTP API of up to 512 KB each.
    HttpRequests,
    /// Invocations of functions.
    Invocations,
    /// Gigabytes of a function's memory for a second, on arm64.
    Compute,
    /// Requests to a queue of up to 64 KB each.
    QueueRequests,
    /// Requests to a queue with messages that have a group id, as in a fair queue.
    FairQueueRequests,
    /// Requests to publish to a topic of up to 64 KB each.
    TopicRequests,
    /// Gigabytes of logs written.
    LogsWritten,
    /// Gigabytes of logs, compressed, for a month.
    LogsStored,
    /// Gigabytes sent to the internet.
    Transfer,
    /// Requests to KMS.
    KeyRequests,
    /// Invocations by a schedule.
    ScheduledInvocations,
    /// KMS keys for a month.
    Keys,
    /// Secrets for a month.
    Secrets,
    /// Alarms of standard resolution for a month.
    Alarms,
    /// Dashboards for a month.
    Dashboards,
    /// Custom metrics for a month.
    Metrics,
}

impl Item {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteUnits => "DynamoDB write units",
            Self::ReadUnits => "DynamoDB read units",
            Self::TableStorage => "DynamoDB storage, GB-month",
            Self::PointInTimeRecovery => "Point-in-time recovery, GB-month",
            Self::HttpRequests => "HTTP API requests",
            Self::Invocations => "Lambda requests",
            Self::Compute => "Lambda GB-seconds",
            Self::QueueRequests => "SQS requests",
            Self::FairQueueRequests => "SQS requests, fair queue",
            Self::TopicRequests => "SNS requests",
            Self::LogsWritten => "Logs written, GB",
            Self::LogsStored => "Logs stored, GB-month",
            Self::Transfer => "Transfer to the internet, GB",
            Self::KeyRequests => "KMS requests",
            Self::ScheduledInvocations => "Scheduler invocations",
            Self::Keys => "KMS keys",
            Self::Secrets => "Secrets",
            Self::Alarms => "Alarms",
            Self::Dashboards => "Dashboards",
            Self::Metrics => "Custom metrics",
        }
    }
}

/// How much of an item was used, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    pub item: Item,
    /// The function or step that used it.
    pub by: String,
    pub quantity: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage(Vec<Used>);

impl Usage {
    /// Adds to the usage; nothing is listed for a quantity of zero.
    #[must_use]
    pub fn with(mut self, item: Item, by: &str, quantity: f64) -> Self {
        if quantity > 0.0 {
            let by = by.to_owned();
            self.0.push(Used { item, by, quantity });
        }
        self
    }

    #[must_use]
    pub fn all(&self) -> &[Used] {
        &self.0
    }

    /// The quantity of an item, whatever used it.
    #[must_use]
    pub fn total(&self, item: Item) -> f64 {
        let of_item = self.0.iter().filter(|used| used.item == item);
        of_item.map(|used| used.quantity).sum()
    }

    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        for used in &mut self.0 {
            used.quantity *= factor;
        }
        self
    }
}
