//! The tables and their indexes, as declared in the template.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Events, deliveries, attempts, the state of webhooks, counters, jobs.
    pub deliveries: String,
    /// Webhooks, sources, keys.
    pub configs: String,
}

/// An index of the deliveries table. All of them contain keys only: rows are read by key, with strong consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// Open rows by due time.
    Due,
    /// A tenant's rows by acceptance time.
    Recent,
    /// The same, for one webhook.
    ByWebhook,
    /// The same, for one session.
    BySession,
    /// The same, for failed and dead rows.
    Trouble,
}

impl Index {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Due => "status-next_retry_at",
            Self::Recent => "recent",
            Self::ByWebhook => "by_webhook",
            Self::BySession => "by_session",
            Self::Trouble => "trouble",
        }
    }

    /// The partition key attribute.
    pub(super) const fn hash(self) -> &'static str {
        match self {
            Self::Due => "lane",
            Self::Recent => "recent",
            Self::ByWebhook => "by_webhook",
            Self::BySession => "by_session",
            Self::Trouble => "trouble",
        }
    }

    /// The sort key attribute.
    pub(super) const fn range(self) -> &'static str {
        match self {
            Self::Due => "next_retry_at",
            Self::Recent | Self::ByWebhook | Self::BySession | Self::Trouble => "created_at",
        }
    }
}
