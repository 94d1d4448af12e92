//! Values handed out to clients, sealed with the tenant's data key.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_ports::Result;
use postrider_ports::sealing::Sealing;
use postrider_store_format::{seal_text, unseal_text};

use super::DynamoStore;

#[async_trait]
impl Sealing for DynamoStore {
    async fn seal(&self, tenant: &TenantId, purpose: String, text: String) -> Result<String> {
        let vault = self.vault_for_sealing(tenant).await?;
        seal_text(&vault, tenant, &purpose, &text)
    }

    async fn unseal(
        &self,
        tenant: &TenantId,
        purpose: String,
        sealed: String,
    ) -> Result<Option<String>> {
        // A tenant without a data key has sealed nothing; the tenant name may be made up.
        let vault = self.existing_vault(tenant).await?;
        Ok(vault.and_then(|vault| unseal_text(&vault, tenant, &purpose, &sealed)))
    }
}
