//! What people and housekeeping do to rows.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retention::Retention;
use postrider_domain::time::Timestamp;

use crate::Result;

/// What became of *Retry now*.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// What one slice of an expiry came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// How many rows and events were removed.
    pub removed: usize,
    /// Whether there is more to look at. A slice may remove nothing and still not be the last.
    pub more: bool,
}

/// Changes rows on somebody's word, or because their time is over.
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

    /// Frees up to `limit` rows that are parked although their webhook is active or gone. Returns how many; 0 when
    /// none is left.
    async fn release(&self, limit: usize, now: Timestamp) -> Result<usize>;

    /// Ends up to `limit` free open rows, due or not, whose webhook was deleted. Returns how many; 0 when none is left.
    async fn bury(&self, limit: usize, now: Timestamp) -> Result<usize>;

    /// Removes up to `limit` rows whose time to be kept is over, events without rows, and jobs that ended long ago. A
    /// row that was still open is announced as dead, reason `expired`.
    async fn expire(&self, retention: Retention, limit: usize, now: Timestamp) -> Result<Expired>;
}
