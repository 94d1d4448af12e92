//! Values handed out to clients, sealed with the key of the stored secrets.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_ports::Result;
use postrider_ports::sealing::Sealing;
use postrider_store_format::{seal_text, unseal_text};

use super::SqliteStore;

#[async_trait]
impl Sealing for SqliteStore {
    async fn seal(&self, tenant: &TenantId, purpose: String, text: String) -> Result<String> {
        seal_text(&self.vault, tenant, &purpose, &text)
    }

    async fn unseal(
        &self,
        tenant: &TenantId,
        purpose: String,
        sealed: String,
    ) -> Result<Option<String>> {
        Ok(unseal_text(&self.vault, tenant, &purpose, &sealed))
    }
}
