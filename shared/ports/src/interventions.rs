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
    Missing,
}

/// Requeues and ends rows.
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

    /// Ends up to `limit` free open rows, due or not, whose webhook was deleted. Returns how many; 0 if none is left.
    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize>;
}
