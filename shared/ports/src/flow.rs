//! How fast webhooks are called now.

use async_trait::async_trait;
use postrider_domain::flow::FlowStatus;
use postrider_domain::webhook::Webhook;

use crate::Result;

#[async_trait]
pub trait FlowStates: Send + Sync {
    /// The flow to each of these webhooks, in order.
    async fn flows(&self, webhooks: &[Webhook]) -> Result<Vec<FlowStatus>>;

    /// The fastest `max_rate` that the workers keep to without falling behind it.
    fn fastest_max_rate(&self) -> u32;
}
