//! Changes to rows by operators and by housekeeping.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::queue::AttemptMessage;

/// The result of *Retry now*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requeued {
    /// It is pending and due now, or parked if its webhook is paused or failed.
    Done(Box<Delivery>),
    InFlight,
    /// It was delivered; requeueing it needs `force`.
    Delivered,
    Pending,
    WebhookDisabled,
    Missing,
}

/// Requeues, releases and ends rows.
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

    /// Releases up to `limit` rows that are parked although their webhook is active or deleted, the most overdue first, and
    /// returns messages for them, which the caller sends. Rows of an active webhook get turns of its pace in the same write,
    /// none later than `until`. Returns none if no row is left that has a turn. An error for one webhook's rows does not
    /// delay those of others.
    async fn release(
        &self,
        limit: usize,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<AttemptMessage>>;

    /// The same for the rows of one webhook.
    async fn release_webhook(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        limit: usize,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<AttemptMessage>>;

    /// Ends up to `limit` free open rows, due or not, whose webhook was deleted. Returns how many; 0 if none is left.
    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize>;
}
