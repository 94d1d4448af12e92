//! Sources: senders of inbound webhooks.

use async_trait::async_trait;
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::time::Timestamp;

use crate::Result;
use crate::configs::{Changed, Created};

/// A change to a source.
#[derive(Clone, Debug)]
pub struct SourceChange {
    /// The `updated_at` that the change is based on; a different one means that another change was faster.
    pub seen: Timestamp,
    pub settings: SourceSettings,
    pub secrets: SecretRing<SharedSecret>,
    /// Later than `seen`.
    pub updated_at: Timestamp,
}

/// Stores sources. Secrets are encrypted at rest. Readers see a write at once.
#[async_trait]
pub trait Sources: Send + Sync {
    /// Ordered by id.
    async fn sources(&self, tenant: &TenantId) -> Result<Vec<Source>>;

    async fn source(&self, tenant: &TenantId, id: SourceId) -> Result<Option<Source>>;

    /// A source of any tenant: the id in the path is all that identifies the sender. Looking up one that does not exist takes
    /// about as long.
    async fn source_by_id(&self, id: SourceId) -> Result<Option<Source>>;

    /// Stores a new source, up to [`MAX_SOURCES`](postrider_domain::source::MAX_SOURCES) per tenant.
    async fn create_source(&self, source: Source) -> Result<Created>;

    /// Changes settings and secrets.
    async fn change_source(
        &self,
        tenant: &TenantId,
        id: SourceId,
        change: SourceChange,
    ) -> Result<Changed>;

    /// Deletes a source with its counts of rejected requests. Returns whether it existed. Its events stay.
    async fn delete_source(&self, tenant: &TenantId, id: SourceId) -> Result<bool>;
}
