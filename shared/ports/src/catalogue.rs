//! The catalogue of event types.

use async_trait::async_trait;
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::ids::TenantId;
use postrider_domain::pattern::EventType;

use crate::Result;

/// Stores what a tenant says about its event types. Every change raises the version of the tenant's webhooks
/// ([`Webhooks::webhooks_version`](crate::configs::Webhooks::webhooks_version)), because payloads are checked against schemas before
/// an event is accepted.
#[async_trait]
pub trait Catalogue: Send + Sync {
    /// All entries of the tenant, by name.
    async fn event_types(&self, tenant: &TenantId) -> Result<Vec<CatalogueEntry>>;

    async fn event_type(
        &self,
        tenant: &TenantId,
        name: &EventType,
    ) -> Result<Option<CatalogueEntry>>;

    /// Creates or replaces the entry of this name.
    async fn put_event_type(&self, tenant: &TenantId, entry: CatalogueEntry) -> Result<()>;

    /// Whether there was one.
    async fn delete_event_type(&self, tenant: &TenantId, name: &EventType) -> Result<bool>;
}
