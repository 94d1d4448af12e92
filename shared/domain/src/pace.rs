//! The pace of one webhook: how many attempts a second it gets now, and when its next turn is free. Pure.
//!
//! A receiver that cannot keep up is slowed down by half, one that can is sped up by a quarter. Both happen at most once a
//! second, so that a hundred answers that come back together count as one. A quarter, because then no receiver is ever
//! asked for much more than it has just shown that it can take: from 1 a second to the usual 5 that is 8 seconds, to
//! 10,000 it is 42, and a single halving is made good in 4. A fixed share of the configured rate would be quicker for low
//! rates and a stampede for high ones.

use serde::{Deserialize, Serialize};

use crate::attempt::Verdict;
use crate::outcome::{Answer, FailureKind, Outcome};
use crate::time::{Millis, Timestamp};

/// The slowest rate, in thousandths of an attempt a second.
pub const FLOOR_MILLI: u32 = 1000;
/// How often the rate may be halved, and how long it stays as it is before it is raised.
const STEP_EVERY: Millis = Millis::from_seconds(1);
/// A step up is this part of the rate.
const RAISE_BY: u32 = 4;
const MILLI_US: i64 = 1_000;
/// Microseconds of a second, times the thousandths of a rate.
const SECOND_US_MILLI: u64 = 1_000_000_000;

/// The pace of one webhook. The configured rate is not part of it: it may change at any time, and is handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The next free turn, in microseconds since the epoch: at 10,000 a second turns are a tenth of a millisecond apart.
    pub free_at_us: i64,
    /// How much slower than configured it is; none at the full rate.
    pub slowed: Option<Slowed>,
}

/// A rate below the configured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slowed {
    /// Thousandths of an attempt a second.
    pub rate_milli: u32,
    /// When it was halved last.
    pub halved_at: Timestamp,
    /// When it was halved or raised last.
    pub changed_at: Timestamp,
}

/// What an answer says of the speed that its receiver can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// It cannot keep up: 429, 503, or no answer in time.
    TooFast,
    /// It took what it was sent.
    Fine,
}

impl Signal {
    /// What an attempt says; nothing when it failed for a reason that has nothing to do with speed.
    #[must_use]
    pub const fn of(outcome: &Outcome, verdict: Verdict) -> Option<Self> {
        match (&outcome.result, verdict) {
            (_, Verdict::Success) => Some(Self::Fine),
            (Answer::Response(response), Verdict::Failure) => match response.status {
                429 | 503 => Some(Self::TooFast),
                _ => None,
            },
            (Answer::Failed(failure), Verdict::Failure) => match failure.kind {
                FailureKind::Timeout => Some(Self::TooFast),
                FailureKind::Dns
                | FailureKind::Connect
                | FailureKind::Reset
                | FailureKind::Tls
                | FailureKind::Malformed
                | FailureKind::Blocked => None,
            },
        }
    }
}

/// A request for turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The maximum number of turns.
    pub count: usize,
    /// The configured rate.
    pub per_second: u32,
    /// No turn later than this: the rate may be another one by then.
    pub until: Timestamp,
}

/// Turns that were given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// When, the first one first; fewer than asked for when those would be too late.
    pub turns: Vec<Timestamp>,
    /// Whether the webhook is slower than configured.
    pub slowed: bool,
}

impl Pace {
    /// The rate now, in thousandths of an attempt a second, of a webhook configured to `per_second`.
    #[must_use]
    pub fn rate_milli(&self, per_second: u32) -> u32 {
        let configured = configured_milli(per_second);
        let slowed = self.slowed.map_or(configured, |slowed| slowed.rate_milli);
        slowed.clamp(FLOOR_MILLI, configured)
    }

    /// Whether it is slower than configured: then first attempts take turns, too.
    #[must_use]
    pub fn is_slowed(&self, per_second: u32) -> bool {
        self.rate_milli(per_second) < configured_milli(per_second)
    }

    /// The pace after a signal; none when that changes nothing.
    #[must_use]
    pub fn signalled(&self, signal: Signal, per_second: u32, now: Timestamp) -> Option<Self> {
        match signal {
            Signal::TooFast => self.halved(per_second, now),
            Signal::Fine => self.raised(per_second, now),
        }
    }

    /// The pace at which a resumed webhook begins: the slowest, until it has shown that it is well. Turns that were
    /// given stay given.
    #[must_use]
    pub const fn probing(&self, now: Timestamp) -> Self {
        Self {
            free_at_us: self.free_at_us,
            slowed: Some(Slowed {
                rate_milli: FLOOR_MILLI,
                halved_at: now,
                changed_at: now,
            }),
        }
    }

    /// Takes the next free turns and returns what is free after them. Unused turns do not accumulate.
    #[must_use]
    pub fn reserve(&self, asked: Asked, now: Timestamp) -> (Given, Self) {
        let step = self.step_us(asked.per_second);
        let mut next = self.free_at_us.max(micros(now));
        let mut turns = Vec::new();
        while turns.len() < asked.count && turn(next) <= asked.until {
            turns.push(turn(next));
            next = next.saturating_add(step);
        }
        let slowed = self.is_slowed(asked.per_second);
        let after = Self {
            free_at_us: next,
            slowed: self.slowed,
        };
        (Given { turns, slowed }, after)
    }

    /// How far turns are apart, in microseconds. Rounded up: no second has more turns than the rate.
    #[must_use]
    pub fn step_us(&self, per_second: u32) -> i64 {
        let step = SECOND_US_MILLI.div_ceil(u64::from(self.rate_milli(per_second)));
        i64::try_from(step).unwrap_or(i64::MAX)
    }

    fn halved(&self, per_second: u32, now: Timestamp) -> Option<Self> {
        if self
            .slowed
            .is_some_and(|slowed| !has_passed(slowed.halved_at, now))
        {
            return None;
        }
        let rate = self.rate_milli(per_second);
        let half = (rate / 2).max(FLOOR_MILLI);
        (half < rate).then_some(Self {
            free_at_us: self.free_at_us,
            slowed: Some(Slowed {
                rate_milli: half,
                halved_at: now,
                changed_at: now,
            }),
        })
    }

    fn raised(&self, per_second: u32, now: Timestamp) -> Option<Self> {
        let slowed = self.slowed?;
        if !has_passed(slowed.changed_at, now) {
            return None;
        }
        let rate = self.rate_milli(per_second);
        let more = rate.saturating_add((rate / RAISE_BY).max(1));
        let still = (more < configured_milli(per_second)).then_some(Slowed {
            rate_milli: more,
            changed_at: now,
            ..slowed
        });
        Some(Self {
            free_at_us: self.free_at_us,
            slowed: still,
        })
    }
}

/// An instant in microseconds.
#[must_use]
pub const fn micros(at: Timestamp) -> i64 {
    at.as_millis().saturating_mul(MILLI_US)
}

/// The turn at this many microseconds, rounded up: none is taken before it comes.
#[must_use]
pub const fn turn(at_us: i64) -> Timestamp {
    Timestamp::from_millis(at_us.saturating_add(MILLI_US - 1).div_euclid(MILLI_US))
}

fn configured_milli(per_second: u32) -> u32 {
    per_second.saturating_mul(1000).max(FLOOR_MILLI)
}

/// Whether a step is allowed again. Clocks of several processes differ a little; one that was far ahead counts for
/// nothing, or the rate would stand still until the others have caught up.
fn has_passed(since: Timestamp, now: Timestamp) -> bool {
    now.since(since) >= STEP_EVERY || since.since(now) > STEP_EVERY
}

#[cfg(test)]
mod tests;
