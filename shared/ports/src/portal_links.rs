//! Links to the portal.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::key::KeyDigest;
use postrider_domain::portal::PortalLink;
use postrider_domain::time::Timestamp;

use crate::Result;

/// Remembers links until they are used or expire. A link is found by the digest of its token; which tenant it is for is
/// part of the link.
#[async_trait]
pub trait PortalLinks: Send + Sync {
    async fn add_portal_link(&self, link: PortalLink) -> Result<()>;

    /// Uses the link. `None` if there is none, if it was used before, or if it has expired. Of concurrent callers, one gets
    /// the link.
    async fn use_portal_link(
        &self,
        digest: KeyDigest,
        now: Timestamp,
    ) -> Result<Option<PortalLink>>;

    /// Ends all links and sessions of a tenant's portal that began by `at`. Remembered for as long as one of them could last.
    async fn end_portal(&self, tenant: &TenantId, at: Timestamp) -> Result<()>;

    /// When the portal of a tenant was last ended; `None` if nothing from before can still be valid.
    async fn portal_ended_at(&self, tenant: &TenantId) -> Result<Option<Timestamp>>;
}
