//! Tests of failed webhooks, which may resume them.

use async_trait::async_trait;
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Keeps when failed webhooks are tested.
#[async_trait]
pub trait Probes: Send + Sync {
    /// Up to `limit` failed webhooks of every tenant whose owners want them tested, and whose next test is due.
    async fn probes_due(&self, limit: usize, now: Timestamp) -> Result<Vec<(TenantId, WebhookId)>>;

    /// Begins a test by [`Health::probe_begun`]: of any number of callers one makes it. `None` when there is none to make.
    async fn begin_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<Option<Health>>;

    /// A test that was begun in this generation was answered: the webhook is resumed by [`Health::passed_test`], now or
    /// soon after, with all that follows from a resume.
    async fn probe_passed(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        generation: u32,
        now: Timestamp,
    ) -> Result<()>;
}
