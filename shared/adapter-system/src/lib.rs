//! The system's clock and random numbers.

use std::cell::RefCell;
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

/// The operating system's random number generator. A delivery draws three short numbers; a system call for each takes longer
/// than the numbers do, so each thread draws some ahead.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

/// Random bytes that are used once.
struct Drawn {
    bytes: [u8; 512],
    used: usize,
}

thread_local! {
    static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn { bytes: [0; 512], used: 512 }) };
}

impl Drawn {
    /// Moves bytes out, so that no number can be read a second time. `None` if the request is too long to draw ahead.
    fn take(&mut self, into: &mut [u8]) -> Option<()> {
        if into.len() > self.bytes.len() / 4 {
            return None;
        }
        if self.bytes.len() - self.used < into.len() {
            draw(&mut self.bytes);
            self.used = 0;
        }
        let taken = self.bytes.get_mut(self.used..self.used + into.len())?;
        into.copy_from_slice(taken);
        taken.fill(0);
        self.used += into.len();
        Some(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge: randomness enters here"
)]
#[expect(
    clippy::expect_used,
    reason = "without random numbers there are no safe ids or secrets"
)]
fn draw(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system provides random numbers");
}

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        // A thread that is ending has no buffer.
        let taken = DRAWN.try_with(|drawn| drawn.borrow_mut().take(bytes));
        if taken.ok().flatten().is_none() {
            draw(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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

    #[test]
    fn numbers_drawn_ahead_are_used_once() {
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            let drawn: [u8; 10] = (&SystemEntropy as &dyn Entropy).bytes();
            assert!(seen.insert(drawn));
        }
        let long: [u8; 4096] = (&SystemEntropy as &dyn Entropy).bytes();
        assert!(long.chunks(16).all(|part| part != [0; 16]));
    }
}
