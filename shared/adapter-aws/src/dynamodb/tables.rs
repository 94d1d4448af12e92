//! The tables and their indexes, as the template declares them.

/// The names of the two tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Events, deliveries, attempts, the state of webhooks, counters, jobs.
    pub deliveries: String,
    /// Webhooks, sources, keys.
    pub configs: String,
}

/// An index of the deliveries table. All of them hold keys only: rows are read by key, strongly consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// Open rows by when they are due.
    Due,
    /// A tenant's rows by when they were accepted.
    Recent,
    /// The same, of one webhook.
    ByWebhook,
    /// The same, of one session.
    BySession,
    /// The same, failed or dead.
    Trouble,
}

impl Index {
    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Due => "status-next_retry_at",
            Self::Recent => "recent",
            Self::ByWebhook => "by_webhook",
            Self::BySession => "by_session",
            Self::Trouble => "trouble",
        }
    }

    /// The attribute that it is divided by.
    pub(super) const fn hash(self) -> &'static str {
        match self {
            Self::Due => "lane",
            Self::Recent => "recent",
            Self::ByWebhook => "by_webhook",
            Self::BySession => "by_session",
            Self::Trouble => "trouble",
        }
    }

    /// The attribute that it is ordered by.
    pub(super) const fn range(self) -> &'static str {
        match self {
            Self::Due => "next_retry_at",
            Self::Recent | Self::ByWebhook | Self::BySession | Self::Trouble => "created_at",
        }
    }
}
