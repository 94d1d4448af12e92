//! The key that a gateway is set up with.

use async_trait::async_trait;

use crate::Result;

/// A key that was made with the gateway and lies outside of its store, which learns of it when it is first used.
#[async_trait]
pub trait FirstKey: Send + Sync {
    /// Whether this text is that key. Takes the same time whatever is wrong with it.
    async fn is_first(&self, token: &str) -> Result<bool>;
}
