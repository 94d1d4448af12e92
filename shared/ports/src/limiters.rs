//! The limiter of each webhook, shared by all workers.

use async_trait::async_trait;
use postrider_domain::flow::{Credit, Limiter, Limits};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::drains::DrainState;

/// What all workers share about the flow to one webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookFlow {
    pub status: WebhookStatus,
    /// The generation of the webhook's state.
    pub generation: u32,
    /// When the webhook's settings or secrets were last changed; `None` if they never were.
    pub updated_at: Option<Timestamp>,
    pub limiter: Limiter,
    /// Whether its settings limit all attempts ([`Limits::is_capped`]).
    pub capped: bool,
    /// Failures in a row that were to be retried, over all workers, since the webhook was last not limited. May lag.
    pub failed_in_a_row: u32,
    /// The credit of its retries; `None` if none was taken yet.
    pub credit: Option<Credit>,
    pub drain: DrainState,
}

impl WebhookFlow {
    /// Whether only the holder of the drain lease attempts its rows.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.limiter.limited || self.capped
    }
}

/// The result of a write that depends on what the caller has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stored {
    Done,
    /// Another writer was faster; nothing was written.
    Outdated,
}

/// Reads and limits the flow to webhooks. Resuming and pausing a webhook change its limiter in the same transaction, by
/// [`Limiter::resumed`] and [`Limiter::paused`].
#[async_trait]
pub trait Limiters: Send + Sync {
    /// The flows of these webhooks, in order; `None` for one that does not exist, and an error for one that cannot be read.
    async fn flows(&self, webhooks: &[(TenantId, WebhookId)]) -> Vec<Result<Option<WebhookFlow>>>;

    /// Stores the limiter of a webhook that has become limited, if it is not limited yet and still in `seen_epoch`. Any
    /// worker may call it. Its backlog is registered first.
    async fn enter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen_epoch: u64,
        entered: Limiter,
        now: Timestamp,
    ) -> Result<Stored>;

    /// Takes credit for up to `want` retries of a webhook that is neither limited nor capped, in one write, and returns for
    /// how many. None while its backlog is being drained: the drainer then has all the credit. `seen` is the flow that the
    /// caller has just read.
    async fn take_credit(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen: &WebhookFlow,
        want: usize,
        limits: Limits,
        now: Timestamp,
    ) -> Result<usize>;
}
