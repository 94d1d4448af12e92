//! A token bucket in integers.

use serde::{Deserialize, Serialize};

use crate::time::{Millis, Timestamp};

/// One attempt, in the unit of a bucket's level. A rate in thousandths per second adds exactly as many of these per
/// millisecond, so nothing is ever rounded.
const ATTEMPT: u64 = 1_000_000;
/// A bucket holds at most this many milliseconds' worth. A full second's worth would allow twice the rate in one second.
const HELD_MS: u64 = 100;
/// How far the clocks of processes that share a bucket may differ.
const CLOCK_SKEW: Millis = Millis::from_seconds(5);

/// How many attempts may begin now. A bucket holds a tenth of a second's worth, but at least one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credit {
    level_micro: u64,
    at: Timestamp,
}

impl Credit {
    #[must_use]
    pub const fn full(now: Timestamp) -> Self {
        Self {
            level_micro: u64::MAX,
            at: now,
        }
    }

    #[must_use]
    pub const fn empty(now: Timestamp) -> Self {
        Self {
            level_micro: 0,
            at: now,
        }
    }

    /// This credit, or full credit if a clock that ran ahead has written it: until that time has come, none would be added.
    #[must_use]
    pub fn healed(self, now: Timestamp) -> Self {
        if self.at > now.plus(CLOCK_SKEW) {
            Self::full(now)
        } else {
            self
        }
    }

    /// Takes credit for up to `want` attempts and returns for how many.
    pub fn take(&mut self, rate_milli: u32, want: usize, now: Timestamp) -> usize {
        let granted = self.available(rate_milli, now).min(want);
        let level = self.level(rate_milli, now);
        let spent = u64::try_from(granted)
            .unwrap_or(u64::MAX)
            .saturating_mul(ATTEMPT);
        *self = Self {
            level_micro: level.saturating_sub(spent),
            at: now,
        };
        granted
    }

    /// Returns credit of attempts that did not begin. A bucket never holds more than it can.
    pub fn give_back(&mut self, count: usize) {
        let returned = u64::try_from(count)
            .unwrap_or(u64::MAX)
            .saturating_mul(ATTEMPT);
        self.level_micro = self.level_micro.saturating_add(returned);
    }

    /// For how many attempts there is credit.
    #[must_use]
    pub fn available(&self, rate_milli: u32, now: Timestamp) -> usize {
        usize::try_from(self.level(rate_milli, now) / ATTEMPT).unwrap_or(usize::MAX)
    }

    /// When there is credit for one attempt; `now` if there is some already.
    #[must_use]
    pub fn ready_at(&self, rate_milli: u32, now: Timestamp) -> Timestamp {
        let lacking = ATTEMPT.saturating_sub(self.level(rate_milli, now));
        now.plus(Millis::new(lacking.div_ceil(u64::from(rate_milli.max(1)))))
    }

    fn level(&self, rate_milli: u32, now: Timestamp) -> u64 {
        let rate = u64::from(rate_milli);
        let elapsed = now.since(self.at.not_after(now)).get();
        let capacity = rate.saturating_mul(HELD_MS).max(ATTEMPT);
        self.level_micro
            .saturating_add(rate.saturating_mul(elapsed))
            .min(capacity)
    }
}

#[cfg(test)]
mod tests;
