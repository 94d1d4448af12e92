//! Values that clients carry and send back, such as a browser's session.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;

use crate::Result;

/// Seals values with a secret that all processes of the gateway share.
#[async_trait]
pub trait Sealing: Send + Sync {
    /// Seals a text of this tenant for one purpose: only the gateway can read, change or create one. The result consists of
    /// letters, digits, `-` and `_`.
    async fn seal(&self, tenant: &TenantId, purpose: String, text: String) -> Result<String>;

    /// The text that was sealed for this tenant and purpose; `None` for anything else.
    async fn unseal(
        &self,
        tenant: &TenantId,
        purpose: String,
        sealed: String,
    ) -> Result<Option<String>>;
}
