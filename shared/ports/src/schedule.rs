//! Which rows are due, and when the next ones will be.

use async_trait::async_trait;
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

/// An open row that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRow {
    pub tenant: TenantId,
    pub id: DeliveryId,
    pub next_retry_at: Timestamp,
    /// Whether it is subject to its webhook's rate.
    pub is_retry: bool,
    pub turn: Turn,
}

/// Whether a row has a turn of its webhook's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Unset,
    /// Its `next_retry_at` is a turn.
    Set,
    /// Its `next_retry_at` is a turn that replaced one that had passed.
    SetAgain,
}

impl Turn {
    #[must_use]
    pub const fn of(paced: bool) -> Self {
        if paced { Self::Set } else { Self::Unset }
    }
}

/// Finds open rows that are free and not parked. Read-only; the result may be outdated, and the claim decides.
#[async_trait]
pub trait Schedule: Send + Sync {
    /// One entry per webhook with open rows, including overdue ones. Rows held by dead processes count as free.
    async fn agenda(&self, now: Timestamp) -> Result<Vec<AgendaEntry>>;

    /// The rows of one webhook that are due at `now`, the most overdue first.
    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<DueRow>>;
}
