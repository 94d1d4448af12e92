//! Lists of all tenants and of their webhooks.

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Query, Table};
use super::keys::{Key, TENANTS, WEBHOOK_PREFIX};
use crate::fault::unreadable;

impl DynamoStore {
    /// Every tenant that ever had a key or a webhook.
    pub(super) async fn listed_tenants(&self) -> Result<Vec<TenantId>> {
        let tenants = self.query_all(Query::partition(Table::Configs, TENANTS));
        let name = |item| {
            let name = Key::of(&item)?.sk.parse();
            name.map_err(|_| unreadable("a tenant"))
        };
        tenants.await?.into_iter().map(name).collect()
    }

    pub(super) async fn webhook_ids(
        &self,
        tenant: &TenantId,
    ) -> Result<Vec<(TenantId, WebhookId)>> {
        let webhooks = Query::prefix(Table::Configs, tenant.as_str(), WEBHOOK_PREFIX);
        let id = |item| {
            let id = Key::of(&item)?.sk.parse();
            Ok((tenant.clone(), id.map_err(|_| unreadable("a webhook"))?))
        };
        self.query_all(webhooks)
            .await?
            .into_iter()
            .map(id)
            .collect()
    }
}
