//! Values that somebody carries away and brings back, such as a browser its session.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;

use crate::Result;

/// Seals values with a secret that only the gateway has, the same for all its processes.
#[async_trait]
pub trait Sealing: Send + Sync {
    /// Seals a text of this tenant for one purpose: nobody else can read it, change it or make one. What comes out is
    /// of letters, digits, `-` and `_`.
    async fn seal(&self, tenant: &TenantId, purpose: String, text: String) -> Result<String>;

    /// The text that was sealed for this tenant and purpose; none if this is no such thing.
    async fn unseal(
        &self,
        tenant: &TenantId,
        purpose: String,
        sealed: String,
    ) -> Result<Option<String>>;
}
