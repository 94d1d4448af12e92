//! Sources: who may post events in.

use async_trait::async_trait;
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::time::Timestamp;

use crate::Result;
use crate::configs::{Changed, Created};

/// What shall change about a source.
#[derive(Clone, Debug)]
pub struct SourceChange {
    /// The `updated_at` that the change was made from; another one means that somebody was faster.
    pub seen: Timestamp,
    /// The new settings.
    pub settings: SourceSettings,
    /// The new secrets.
    pub secrets: SecretRing<SharedSecret>,
    /// The new `updated_at`; later than `seen`.
    pub updated_at: Timestamp,
}

/// Keeps sources. Secrets are encrypted at rest. What was written is seen by the next reader.
#[async_trait]
pub trait Sources: Send + Sync {
    /// All sources of the tenant, by id.
    async fn sources(&self, tenant: &TenantId) -> Result<Vec<Source>>;

    /// One source.
    async fn source(&self, tenant: &TenantId, id: SourceId) -> Result<Option<Source>>;

    /// One source of whatever tenant: the id in the path is all that a sender says of itself. One that does not exist
    /// takes about as long to find out.
    async fn source_by_id(&self, id: SourceId) -> Result<Option<Source>>;

    /// Stores a new source, up to [`MAX_SOURCES`](postrider_domain::source::MAX_SOURCES) a tenant.
    async fn create_source(&self, source: Source) -> Result<Created>;

    /// Changes settings and secrets.
    async fn change_source(
        &self,
        tenant: &TenantId,
        id: SourceId,
        change: SourceChange,
    ) -> Result<Changed>;

    /// Removes a source, with its tally of refused requests. Returns whether it was there. What it sent stays.
    async fn delete_source(&self, tenant: &TenantId, id: SourceId) -> Result<bool>;
}
