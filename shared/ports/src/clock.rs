//! Time and chance, which come in at the edge.

use async_trait::async_trait;
use postrider_domain::time::Timestamp;

/// The time of day.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Returns at `at` or soon after; at once if that is past.
    async fn sleep_until(&self, at: Timestamp);
}

/// Random bytes from a generator fit for keys.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy {
    /// Random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}
