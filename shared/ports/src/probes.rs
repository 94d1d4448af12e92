//! Probes of failed webhooks, for `auto_resume`.

use async_trait::async_trait;
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Schedules probes.
#[async_trait]
pub trait Probes: Send + Sync {
    /// Up to `limit` failed webhooks of all tenants that have `auto_resume` and whose next probe is due.
    async fn probes_due(&self, limit: usize, now: Timestamp) -> Result<Vec<(TenantId, WebhookId)>>;

    /// Starts a probe by [`Health::probe_begun`]: of any number of callers, only one succeeds. `None` if no probe is
    /// due.
    async fn begin_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<Option<Health>>;

    /// Undoes the beginning of the probe with this number, which was not sent, by [`Health::probe_given_back`].
    async fn give_back_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        probes: u32,
        now: Timestamp,
    ) -> Result<()>;

    /// A probe of this generation succeeded: the webhook is resumed by [`Health::passed_probe`], now or soon after, with
    /// everything that follows from a resume.
    async fn probe_passed(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        generation: u32,
        now: Timestamp,
    ) -> Result<()>;
}
