//! Ended sessions, and whether the store works.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::configs::Webhooks;
use postrider_ports::sessions::{SessionId, Sessions};
use postrider_ports::vitals::Vitals;

use super::DynamoStore;
use super::calls::{Change, Table};
use super::keys::Key;

#[async_trait]
impl Sessions for DynamoStore {
    async fn end_session(
        &self,
        tenant: &TenantId,
        session: SessionId,
        until: Timestamp,
    ) -> Result<()> {
        let expires_at = AttributeValue::N(until.as_seconds().to_string());
        let ended = Change::of(Table::Configs, Key::session(tenant, session));
        self.change(ended.set("expires_at", expires_at)).await?;
        Ok(())
    }

    async fn has_ended(&self, tenant: &TenantId, session: SessionId) -> Result<bool> {
        let key = Key::session(tenant, session);
        Ok(self.get(Table::Configs, &key).await?.is_some())
    }
}

#[async_trait]
impl Vitals for DynamoStore {
    /// Only reads: a write is billed, and DynamoDB has no disk that is full.
    async fn check(&self) -> Result<()> {
        self.webhooks_version(&TenantId::default()).await.map(drop)
    }

    fn is_alive(&self) -> bool {
        true
    }
}
