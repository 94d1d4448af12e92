//! What was announced, for those who listen.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::notification::Notification;
use serde::{Deserialize, Serialize};

use crate::Result;

/// One announcement with its place in the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredNotification {
    /// Grows; never used twice.
    pub seq: u64,
    /// The CloudEvents type.
    pub kind: String,
    /// The CloudEvents JSON.
    pub event: String,
}

/// The outbox: written with the change of a row, read by whoever passes announcements on.
#[async_trait]
pub trait Notifications: Send + Sync {
    /// The tenant's announcements after `seq`, in order.
    async fn notifications_after(
        &self,
        tenant: &TenantId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredNotification>>;

    /// A place that none of the tenant's announcements so far comes after, and all that follow do; 0 when there is
    /// none.
    async fn newest_notification(&self, tenant: &TenantId) -> Result<u64>;
}

/// Waits for announcements, where somebody can.
#[async_trait]
pub trait NotificationListener: Send + Sync {
    /// Returns when there may be announcements after `seq`. May return early, never hangs when there are some.
    async fn notification_past(&self, seq: u64);
}

/// Passes announcements on to whoever subscribed, wherever they are.
#[async_trait]
pub trait Topic: Send + Sync {
    /// Publishes announcements; one result each, in order. One may be published twice, under the same id.
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>>;
}
