//! The rate at which one webhook is sent to.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pace::{Asked, Given, Pace, Signal};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Hands out turns across every process that sends, and keeps how fast each webhook can be sent to.
#[async_trait]
pub trait Pacing: Send + Sync {
    /// The paces of these webhooks, in their order; that of one which was never slowed is the default.
    async fn paces(&self, tenant: &TenantId, webhooks: &[WebhookId]) -> Result<Vec<Pace>>;

    /// Reserves turns by [`Pace::reserve`]. No two callers are given the same turn. With callers at the same time the last
    /// turns may lie a little later than asked for.
    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asked: Asked,
        now: Timestamp,
    ) -> Result<Given>;

    /// Lets the pace hear what an attempt says of it, by [`Pace::signalled`]. Writes nothing when nothing changes.
    async fn report(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        signal: Signal,
        per_second: u32,
        now: Timestamp,
    ) -> Result<()>;
}
