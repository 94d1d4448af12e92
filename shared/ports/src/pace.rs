//! The rate at which one webhook's retries go out.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;

use crate::Result;

/// Hands out turns, `1 / rate` apart, across every process that sends.
#[async_trait]
pub trait Pace: Send + Sync {
    /// Reserves `count` turns: the first at `now` or at the next free one, each further one `1 / per_second` later.
    /// No two callers are given the same turn.
    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        count: usize,
        per_second: u32,
        now: Timestamp,
    ) -> Result<Vec<Timestamp>>;
}
