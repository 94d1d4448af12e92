//! Whether the store works.

use async_trait::async_trait;

use crate::Result;

#[async_trait]
pub trait Vitals: Send + Sync {
    /// Whether the store can be read, and, where that costs next to nothing, written.
    ///
    /// # Errors
    /// The error that a caller would get.
    async fn check(&self) -> Result<()>;

    /// Whether this process can recover without being restarted.
    fn is_alive(&self) -> bool;
}
