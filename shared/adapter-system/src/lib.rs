//! The system's clock and random numbers.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use postrider_domain::time::Timestamp;
use postrider_ports::clock::{Clock, Entropy};

/// The longest single sleep: after it the time of day is read again, so that a changed clock is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the edge: time enters here")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::ZERO.plus(since_epoch.into())
    }

    #[expect(clippy::disallowed_methods, reason = "the edge: waiting happens here")]
    async fn sleep_until(&self, at: Timestamp) {
        // No longer than calculated at first: otherwise a clock that is set back would extend every sleep.
        let longest = Instant::now() + Duration::from(at.since(self.now()));
        loop {
            let left = Duration::from(at.since(self.now()))
                .min(longest.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
        }
    }
}

/// The operating system's random number generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge: randomness enters here"
    )]
    #[expect(
        clippy::expect_used,
        reason = "without random numbers there are no safe ids or secrets"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system provides random numbers");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::time::Millis;

    #[tokio::test]
    async fn a_sleep_ends_at_its_time() {
        let until = SystemClock.now().plus(Millis::new(20));
        SystemClock.sleep_until(until).await;
        assert!(SystemClock.now() >= until);
        SystemClock.sleep_until(Timestamp::ZERO).await;
    }

    #[test]
    fn no_two_draws_are_alike() {
        let entropy: &dyn Entropy = &SystemEntropy;
        assert_ne!(entropy.bytes::<16>(), entropy.bytes::<16>());
    }
}
