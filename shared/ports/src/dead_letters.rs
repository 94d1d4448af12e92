//! Events that cannot be published, for an operator.

use async_trait::async_trait;

use crate::Result;

#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Stores the text of an event as it was received, with the reason. On `Err` it may be stored or not.
    async fn add(&self, event: &str, reason: &str) -> Result<()>;
}
