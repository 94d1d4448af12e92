//! The rate at which one webhook is called.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pace::{Asked, Given, Pace, Signal};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Hands out turns across all processes that send, and stores the rate of each webhook.
#[async_trait]
pub trait Pacing: Send + Sync {
    /// The paces of these webhooks, in order; the default for one that was never slowed down.
    async fn paces(&self, tenant: &TenantId, webhooks: &[WebhookId]) -> Result<Vec<Pace>>;

    /// Reserves turns by [`Pace::reserve`]. No two callers get the same turn. With concurrent callers the last turns may be
    /// slightly later than asked for.
    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asked: Asked,
        now: Timestamp,
    ) -> Result<Given>;

    /// Updates the pace with the signal of an attempt, by [`Pace::signalled`]. Writes nothing if nothing changes.
    async fn report(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        signal: Signal,
        per_second: u32,
        now: Timestamp,
    ) -> Result<()>;
}
