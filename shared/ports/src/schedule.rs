//! What is due, and when something will be.

use async_trait::async_trait;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;

use crate::Result;

/// When a webhook's first open row deserves attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaEntry {
    /// Whose it is.
    pub tenant: TenantId,
    /// Which webhook.
    pub webhook: WebhookId,
    /// When its first row is due; of a held one, the first instant after its lease.
    pub due_at: Timestamp,
}

/// An open row whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRow {
    /// Whose it is.
    pub tenant: TenantId,
    /// Which row.
    pub id: DeliveryId,
    /// When it was due.
    pub next_retry_at: Timestamp,
    /// Whether it may only go out at its webhook's rate.
    pub is_retry: bool,
    /// Whether it has a turn.
    pub turn: Turn,
}

/// Whether a row has a turn of its webhook's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has to ask for one.
    Unset,
    /// Its `next_retry_at` is one.
    Set,
    /// Its `next_retry_at` is one, in place of one that had passed.
    SetAgain,
}

impl Turn {
    /// What a row says.
    #[must_use]
    pub const fn of(paced: bool) -> Self {
        if paced { Self::Set } else { Self::Unset }
    }
}

/// Finds open rows that are free and not parked. Reads only; what it returns is a hint, and the claim decides.
#[async_trait]
pub trait Schedule: Send + Sync {
    /// One entry for each webhook with open rows, the past-due ones included. Rows of processes that are gone count as
    /// free.
    async fn agenda(&self, now: Timestamp) -> Result<Vec<AgendaEntry>>;

    /// The rows of one webhook due at `now`, the longest due first.
    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<DueRow>>;
}
