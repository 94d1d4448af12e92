//! Records of tenants: names and limits.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;

use crate::Result;
use crate::configs::Changed;

/// Stores records of tenants. A tenant exists if it has a record, a key or a webhook, or had one; the default tenant always
/// exists. Strongly consistent.
#[async_trait]
pub trait Tenants: Send + Sync {
    /// A tenant that exists, with or without a record.
    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>>;

    /// The tenants after this one, in order of their ids, up to `limit`. Fewer only at the end.
    async fn tenant_page(&self, limit: usize, after: Option<&TenantId>) -> Result<Vec<Tenant>>;

    /// Stores a record and raises the version of the tenant's webhooks, if the stored record was last changed at `seen`;
    /// `None` stands for no record. Otherwise `Outdated`, and nothing changes.
    async fn put_tenant(&self, tenant: Tenant, seen: Option<Timestamp>) -> Result<Changed>;
}
