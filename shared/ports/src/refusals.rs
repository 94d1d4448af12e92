//! Refused requests, kept for their owners to look at.

use async_trait::async_trait;
use postrider_domain::ids::{RefusedId, SourceId, TenantId};
use postrider_domain::refused::{KeptRequest, RefusedRequest, Tally};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Keeps refused requests: the last [`RING`](postrider_domain::refused::RING) of a source, each for
/// [`KEPT_FOR`](postrider_domain::refused::KEPT_FOR). What they hold is encrypted at rest.
#[async_trait]
pub trait Refusals: Send + Sync {
    /// Keeps a request and announces it if its source's tally has room; else counts it. Nobody's requests share one
    /// tally, are announced to nobody and never read again, but take as long. Of several at once some may only be
    /// counted, though there is room. Returns the id of one that was kept.
    async fn keep_refused(&self, refused: RefusedRequest) -> Result<Option<RefusedId>>;

    /// The requests of a source that are still kept, the newest first.
    async fn refused(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<KeptRequest>>;

    /// One of them.
    async fn refused_one(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RefusedId,
        now: Timestamp,
    ) -> Result<Option<KeptRequest>>;

    /// How many there were of a source.
    async fn refused_tally(&self, tenant: &TenantId, source: SourceId) -> Result<Tally>;
}
