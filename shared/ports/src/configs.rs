//! Webhooks and API keys.

use async_trait::async_trait;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{KeyId, TenantId, WebhookId};
use postrider_domain::key::{ApiKey, KeyDigest};
use postrider_domain::secret::SecretRing;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::{Webhook, WebhookSettings};
use serde::{Deserialize, Serialize};

use crate::Result;

/// The webhooks of a tenant with their version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookList {
    /// Raised by every change that affects plans: a webhook is created, changed, disabled, enabled or deleted. Other changes of
    /// status may raise it or not, so the health below may be outdated although the version is current.
    pub version: u64,
    /// Ordered by id. One that cannot be read is logged and left out.
    pub webhooks: Vec<Webhook>,
    /// The tenant's record, if it has one. A change of it raises the version.
    pub tenant: Option<Tenant>,
}

/// The result of creating a webhook or a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Created {
    Done,
    /// The tenant has reached its limit.
    TooMany,
}

/// A change to a webhook, except its state.
#[derive(Clone, Debug)]
pub struct WebhookChange {
    /// The `updated_at` that the change is based on; a different one means that another change was faster.
    pub seen: Timestamp,
    pub settings: WebhookSettings,
    pub secrets: SecretRing,
    /// Later than `seen`.
    pub updated_at: Timestamp,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changed {
    Done,
    /// Another change was faster; read again.
    Outdated,
    Missing,
}

/// Stores webhooks. Secrets and header values are encrypted at rest.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Strongly consistent; 0 for a tenant without webhooks. While a change is committed, a call may return less than an earlier
    /// one.
    async fn webhooks_version(&self, tenant: &TenantId) -> Result<u64>;

    /// Strongly consistent.
    async fn webhooks(&self, tenant: &TenantId) -> Result<WebhookList>;

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>>;

    /// How many webhooks of all tenants are failed. Reads the state of each, so call it rarely.
    async fn failed_webhooks(&self) -> Result<u64>;

    /// Stores a new webhook, up to the tenant's own limit and [`MAX_WEBHOOKS`](postrider_domain::webhook::MAX_WEBHOOKS).
    async fn create_webhook(&self, webhook: Webhook) -> Result<Created>;

    /// Changes settings and secrets and sends `webhook.updated`.
    async fn change_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<Changed>;

    /// Sets the status for an operator, by [`Health::set`], and sends a notification. `None` if the webhook does not exist.
    /// A webhook that already has the status is not changed.
    async fn set_webhook_status(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        status: WebhookStatus,
        now: Timestamp,
    ) -> Result<Option<Health>>;

    /// Deletes a webhook; its open rows are ended later. Returns whether it existed.
    async fn delete_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<bool>;
}

/// Stores API keys by their digests.
#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// Of any tenant.
    async fn key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>>;

    /// Oldest first.
    async fn keys(&self, tenant: &TenantId) -> Result<Vec<ApiKey>>;

    /// Stores a key, replacing one with the same digest.
    async fn put_key(&self, key: ApiKey) -> Result<()>;

    /// Returns whether it existed.
    async fn revoke_key(&self, tenant: &TenantId, id: KeyId) -> Result<bool>;

    /// Records that a key was used, if it still exists.
    async fn touch_key(&self, key: &ApiKey, at: Timestamp) -> Result<()>;
}
