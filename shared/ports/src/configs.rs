//! Webhooks and keys.

use async_trait::async_trait;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{KeyId, TenantId, WebhookId};
use postrider_domain::key::{ApiKey, KeyDigest};
use postrider_domain::secret::SecretRing;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::{Webhook, WebhookSettings};
use serde::{Deserialize, Serialize};

use crate::Result;

/// The webhooks of a tenant, and the version that tells whether they are still these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookList {
    /// Raised by every change of a webhook's settings, secrets or status.
    pub version: u64,
    /// All of them, by id.
    pub webhooks: Vec<Webhook>,
}

/// What became of a webhook or a source that was to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Created {
    /// It is stored.
    Done,
    /// The tenant has as many as it may have.
    TooMany,
}

/// What shall change about a webhook, its state apart.
#[derive(Clone, Debug)]
pub struct WebhookChange {
    /// The `updated_at` that the change was made from; another one means that somebody was faster.
    pub seen: Timestamp,
    /// The new settings.
    pub settings: WebhookSettings,
    /// The new secrets.
    pub secrets: SecretRing,
    /// The new `updated_at`; later than `seen`.
    pub updated_at: Timestamp,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changed {
    /// It is stored.
    Done,
    /// Somebody was faster: read again.
    Outdated,
    /// There is nothing with this id.
    Missing,
}

/// Keeps webhooks. Secrets and header values are encrypted at rest.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// The version of the tenant's webhooks, strongly consistent; 0 for a tenant without any.
    async fn webhooks_version(&self, tenant: &TenantId) -> Result<u64>;

    /// All webhooks of the tenant.
    async fn webhooks(&self, tenant: &TenantId) -> Result<WebhookList>;

    /// One webhook.
    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>>;

    /// How many webhooks of all tenants are failed now. Reads the state of each: for whoever looks now and then.
    async fn failed_webhooks(&self) -> Result<u64>;

    /// Stores a new webhook, up to [`MAX_WEBHOOKS`](postrider_domain::webhook::MAX_WEBHOOKS) a tenant.
    async fn create_webhook(&self, webhook: Webhook) -> Result<Created>;

    /// Changes settings and secrets.
    async fn change_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<Changed>;

    /// Sets the status on a person's word, by [`Health::set`], and announces it. `None` when there is no such webhook.
    /// A webhook that has the status already is left as it is.
    async fn set_webhook_status(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        status: WebhookStatus,
        now: Timestamp,
    ) -> Result<Option<Health>>;

    /// Removes a webhook; its open rows die when their time comes. Returns whether it was there.
    async fn delete_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<bool>;
}

/// Keeps API keys, by their digests.
#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// The key with this digest, of whatever tenant.
    async fn key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>>;

    /// The tenant's keys, the oldest first.
    async fn keys(&self, tenant: &TenantId) -> Result<Vec<ApiKey>>;

    /// Stores a key. One with the same digest is replaced.
    async fn put_key(&self, key: ApiKey) -> Result<()>;

    /// Revokes a key. Returns whether it was there.
    async fn revoke_key(&self, tenant: &TenantId, id: KeyId) -> Result<bool>;

    /// Notes when a key was used.
    async fn touch_key(&self, tenant: &TenantId, id: KeyId, at: Timestamp) -> Result<()>;
}
