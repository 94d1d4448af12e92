//! Changes to rows by operators and by housekeeping.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;

/// The result of *Retry now*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requeued {
    /// It is pending and due now, or in the backlog if its webhook is paused or failed.
    Done(Box<Delivery>),
    InFlight,
    /// It was delivered; requeueing it needs `force`.
    Delivered,
    Pending,
    WebhookDisabled,
    /// Its event was erased: there is nothing to send.
    Erased,
    Missing,
}

/// The result of adding a row to a stored event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Added {
    Done,
    /// The event already has a row for this webhook; nothing was changed.
    Exists,
    /// The event is not stored, or no longer.
    EventMissing,
}

/// Requeues, adds and ends rows.
#[async_trait]
pub trait Interventions: Send + Sync {
    /// Requeues a row by the rules of [`Delivery::requeue`]. Its history stays.
    async fn requeue(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
        now: Timestamp,
    ) -> Result<Requeued>;

    /// Adds a fresh row to a stored event, which is stored for at least as long from then on. The store does not look at the
    /// webhook: whether the row may be attempted is found out when it is claimed.
    async fn add_delivery(&self, row: Delivery) -> Result<Added>;

    /// Ends up to `limit` free open rows, due or not, whose webhook was deleted. Returns how many; 0 if none is left.
    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize>;
}
