//! What was announced, for those who listen.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;

use crate::Result;

/// One announcement with its place in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Grows; never used twice.
    pub seq: u64,
    /// The CloudEvents type.
    pub kind: String,
    /// The CloudEvents JSON.
    pub event: String,
}

/// The outbox: written in the transaction that changes a row, read by whoever passes announcements on.
#[async_trait]
pub trait Notices: Send + Sync {
    /// The tenant's announcements after `seq`, in order.
    async fn announced_after(
        &self,
        tenant: &TenantId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<Announced>>;

    /// The place of the newest announcement of any tenant; 0 when there is none.
    async fn newest_announcement(&self) -> Result<u64>;

    /// Returns when there may be announcements after `seq`. May return early, never hangs when there are some.
    async fn announcement_past(&self, seq: u64);

    /// Removes up to `limit` announcements older than `before`. Returns how many were removed.
    async fn forget_announcements(&self, before: Timestamp, limit: usize) -> Result<usize>;
}
