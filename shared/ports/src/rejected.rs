//! Refused requests, kept for their owners to look at.

use async_trait::async_trait;
use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::rejected::{RejectedRequest, RejectionCounts, StoredRejection};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Keeps refused requests: the last [`RING`](postrider_domain::rejected::RING) of a source, each for
/// [`KEPT_FOR`](postrider_domain::rejected::KEPT_FOR). What they hold is encrypted at rest.
#[async_trait]
pub trait RejectedRequests: Send + Sync {
    /// Keeps a request and announces it if its source's tally has room; else counts it. Nobody's requests share one
    /// tally, are announced to nobody and never read again, but take as long. Of several at once some may only be
    /// counted, though there is room. Returns the id of one that was kept.
    async fn store_rejected(&self, refused: RejectedRequest) -> Result<Option<RejectedId>>;

    /// The requests of a source that are still kept, the newest first.
    async fn refused(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<StoredRejection>>;

    /// One of them.
    async fn rejected_request(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RejectedId,
        now: Timestamp,
    ) -> Result<Option<StoredRejection>>;

    /// How many there were of a source.
    async fn rejection_counts(
        &self,
        tenant: &TenantId,
        source: SourceId,
    ) -> Result<RejectionCounts>;
}
