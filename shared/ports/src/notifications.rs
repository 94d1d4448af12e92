//! Notifications, for subscribers.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::notification::Notification;
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;

/// A notification with its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredNotification {
    /// Increases; never reused.
    pub seq: u64,
    /// The CloudEvents type.
    pub kind: String,
    /// The CloudEvents JSON.
    pub event: String,
}

/// The notification outbox. SQLite writes it together with the change that it reports. On DynamoDB the publisher adds to it
/// from the table's stream, a moment later and after a crash perhaps twice, under the same ids.
#[async_trait]
pub trait Notifications: Send + Sync {
    /// The tenant's notifications after `seq`, in order.
    async fn notifications_after(
        &self,
        tenant: &TenantId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredNotification>>;

    /// The position of the newest notification of the tenant: all later ones come after it. 0 if there is none.
    async fn newest_notification(&self, tenant: &TenantId) -> Result<u64>;

    /// Says that a listener reads the tenant's notifications. A store that keeps them only for listeners does so for a
    /// minute from then on, starting within seconds. Where some are missing, it returns one of the kind `gap`.
    async fn listening(&self, tenant: &TenantId, now: Timestamp) -> Result<()>;
}

/// Waits for notifications, where the store is in the same process.
#[async_trait]
pub trait NotificationListener: Send + Sync {
    /// Returns when there may be notifications after `seq`. May return early; never blocks if there are some.
    async fn notification_past(&self, seq: u64);
}

/// Publishes notifications to external subscribers.
#[async_trait]
pub trait Topic: Send + Sync {
    /// One result per notification, in order. A notification may be published twice, under the same id.
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>>;
}
