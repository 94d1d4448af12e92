//! The key that a gateway is deployed with.

use async_trait::async_trait;

use crate::Result;

/// A key that was created at deployment, outside the store. The store adopts it on first use.
#[async_trait]
pub trait FirstKey: Send + Sync {
    /// Whether this text is that key, in constant time.
    async fn is_first(&self, token: &str) -> Result<bool>;
}
