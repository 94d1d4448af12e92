//! Forgetting what is old, where the store does not do so by itself.

use async_trait::async_trait;
use postrider_domain::retention::Retention;
use postrider_domain::time::Timestamp;

use crate::Result;

/// What one slice of an expiry came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// How many rows and events were removed.
    pub removed: usize,
    /// Whether there is more to look at. A slice may remove nothing and still not be the last.
    pub more: bool,
}

/// Removes what has been kept long enough.
#[async_trait]
pub trait Housekeeping: Send + Sync {
    /// Removes up to `limit` rows whose time to be kept is over, events without rows, and jobs, counters and letters of
    /// long ago. A row that was still open is announced as dead, reason `expired`.
    async fn expire(&self, retention: Retention, limit: usize, now: Timestamp) -> Result<Expired>;

    /// Removes up to `limit` refused requests that came in before `before`. Returns how many were removed.
    async fn delete_old_rejections(&self, before: Timestamp, limit: usize) -> Result<usize>;

    /// Removes up to `limit` announcements older than `before`. Returns how many were removed.
    async fn delete_old_notifications(&self, before: Timestamp, limit: usize) -> Result<usize>;
}
