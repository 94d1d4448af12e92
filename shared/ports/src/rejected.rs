//! Rejected requests, stored for diagnosis.

use async_trait::async_trait;
use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::rejected::{RejectedRequest, RejectionCounts, StoredRejection};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Stores rejected requests: the last [`RING`](postrider_domain::rejected::RING) per source, each for
/// [`KEPT_FOR`](postrider_domain::rejected::KEPT_FOR). Their content is encrypted at rest.
#[async_trait]
pub trait RejectedRequests: Send + Sync {
    /// Stores a request and sends a notification if its source's limit per minute allows, otherwise counts it. Requests
    /// to unknown sources share one limit, cause no notification and are never read, but take as long. If several
    /// requests are concurrent, some may only be counted although the limit allows more. Returns the id of a stored
    /// request.
    async fn store_rejected(&self, rejected: RejectedRequest) -> Result<Option<RejectedId>>;

    /// The stored requests of a source, newest first.
    async fn rejections(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<StoredRejection>>;

    async fn rejected_request(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RejectedId,
        now: Timestamp,
    ) -> Result<Option<StoredRejection>>;

    /// How many requests of a source were stored and counted.
    async fn rejection_counts(
        &self,
        tenant: &TenantId,
        source: SourceId,
    ) -> Result<RejectionCounts>;
}

/// The rejected requests of one source since the last batch.
#[derive(Clone, Debug)]
pub struct RejectionBatch {
    pub tenant: TenantId,
    pub source: SourceId,
    /// The oldest, in order.
    pub first: Vec<RejectedRequest>,
    /// How many more there were.
    pub more: u64,
}

/// A store that can take many rejected requests in one write.
#[async_trait]
pub trait BatchedRejections: Send + Sync {
    /// Does what [`RejectedRequests::store_rejected`] does for each of `first`, and counts the others.
    async fn store_rejections(&self, batches: Vec<RejectionBatch>) -> Result<()>;
}
