//! Time and randomness, which come in at the edge.

use async_trait::async_trait;
use postrider_domain::time::Timestamp;

#[async_trait]
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns at `at` or soon after; immediately if `at` has passed.
    async fn sleep_until(&self, at: Timestamp);
}

/// A random number generator that is fit for keys.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy {
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}
