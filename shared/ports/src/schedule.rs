//! Which rows are due, and when the next ones will be.

use async_trait::async_trait;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;

use crate::Result;

/// When a webhook's next open row is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaEntry {
    pub tenant: TenantId,
    pub webhook: WebhookId,
    /// For a held row, the first instant after its lease.
    pub due_at: Timestamp,
}

/// A page of the agenda.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgendaPage {
    pub entries: Vec<AgendaEntry>,
    /// After which webhook the next page starts; `None` if this is the last one.
    pub next: Option<(TenantId, WebhookId)>,
}

/// An open row that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRow {
    pub tenant: TenantId,
    pub id: DeliveryId,
    pub next_retry_at: Timestamp,
    /// Whether it is subject to its webhook's rate.
    pub is_retry: bool,
}

/// Which rows of a webhook to read: those of one kind that are due in a range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub kind: AttemptKind,
    /// Inclusive.
    pub from: Timestamp,
    /// Exclusive.
    pub until: Timestamp,
    pub limit: usize,
}

impl Ask {
    /// The first rows of a kind.
    #[must_use]
    pub const fn all(kind: AttemptKind, limit: usize) -> Self {
        Self {
            kind,
            from: Timestamp::from_millis(i64::MIN),
            until: Timestamp::from_millis(i64::MAX),
            limit,
        }
    }
}

/// The first due rows that an [`Ask`] describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueRows {
    /// The most overdue first.
    pub rows: Vec<DueRow>,
    /// When the row after these is due. In the past if more rows are due than were asked for.
    pub next_at: Option<Timestamp>,
}

/// Finds open rows that are free. Read-only; the result may be outdated, and the claim decides.
#[async_trait]
pub trait Schedule: Send + Sync {
    /// One entry per webhook with open rows, including overdue ones: up to `limit` webhooks with free rows, starting after
    /// the given one. The first page also has an entry for each webhook with held rows. Rows held by dead
    /// processes count as free.
    async fn agenda(
        &self,
        after: Option<&(TenantId, WebhookId)>,
        limit: usize,
        now: Timestamp,
    ) -> Result<AgendaPage>;

    /// The rows of one webhook that are due at `now`; one result per ask, in order. Costs the same however many rows wait.
    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asks: &[Ask],
        now: Timestamp,
    ) -> Result<Vec<DueRows>>;
}
