//! What people and housekeeping do to rows.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::queue::AttemptMessage;

/// What became of *Retry now*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requeued {
    /// It is pending and due now (parked, if its webhook is paused or failed).
    Done(Box<Delivery>),
    /// It is being attempted right now.
    InFlight,
    /// It was delivered, and nobody insisted.
    Delivered,
    /// It is pending already.
    Pending,
    /// Its webhook is disabled or deleted.
    WebhookDisabled,
    /// There is no such row.
    Missing,
}

/// Changes rows on somebody's word.
#[async_trait]
pub trait Interventions: Send + Sync {
    /// Puts one row back by the rules of [`Delivery::requeue`]. The history stays.
    async fn requeue(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
        now: Timestamp,
    ) -> Result<Requeued>;

    /// Frees up to `limit` rows that are parked although their webhook is active or gone, the longest due first, and
    /// names them, for somebody to send. Those of an active webhook are given the turns of its pace in the same write, none
    /// later than `until`. Returns none when no row is left that there is a turn for.
    /// Trouble with one webhook's rows keeps no other waiting.
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

    /// Ends up to `limit` free open rows, due or not, whose webhook was deleted. Returns how many; 0 when none is left.
    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize>;
}
