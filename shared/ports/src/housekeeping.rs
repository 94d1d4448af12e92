//! Deletes old data, for stores that do not expire it themselves.

use async_trait::async_trait;
use postrider_domain::retention::Retention;
use postrider_domain::time::Timestamp;

use crate::Result;

/// The result of one slice of an expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    pub removed: usize,
    /// Whether there is more to examine. A slice may remove nothing and still not be the last.
    pub more: bool,
}

#[async_trait]
pub trait Housekeeping: Send + Sync {
    /// Removes up to `limit` rows past their retention, events without rows, and old jobs, counters and e-mail. For a row
    /// that was still open it sends `delivery.dead` with the reason `expired`.
    async fn expire(&self, retention: Retention, limit: usize, now: Timestamp) -> Result<Expired>;

    /// Removes up to `limit` rejected requests received before `before`. Returns how many.
    async fn delete_old_rejections(&self, before: Timestamp, limit: usize) -> Result<usize>;

    /// Removes up to `limit` notifications older than `before`. Returns how many.
    async fn delete_old_notifications(
        &self,
        before: Timestamp,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize>;
}
