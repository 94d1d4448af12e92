//! The outcomes that the next step is made of.

use super::observed::Observed;
use super::{MILLI, PerMille};
use crate::time::{Millis, Timestamp};

/// So many outcomes make a step.
const ENOUGH: u32 = 10;
/// So many failures without a single answer make one, too: a receiver that is down is not asked ten times.
const ALL_FAILED: u32 = 3;
const KEPT: Millis = Millis::from_seconds(60);

/// Outcomes since the last step, of attempts that began after the last change of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    answered: u32,
    too_many: u32,
    failed: u32,
    since: Option<Timestamp>,
}

/// Whether the rate kept anything waiting since the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Met,
    LackedCredit,
}

impl Tally {
    pub(super) fn add(&mut self, observed: Observed, now: Timestamp) {
        let since = self.since.unwrap_or(now).not_after(now);
        if now.since(since) > KEPT {
            *self = Self::default();
        }
        self.since = Some(self.since.map_or(now, |_| since));
        let count = match observed {
            Observed::Delivered | Observed::Final => &mut self.answered,
            Observed::TooMany => &mut self.too_many,
            Observed::Overloaded | Observed::Failed => &mut self.failed,
        };
        *count = count.saturating_add(1);
    }

    pub(super) const fn counted(&self) -> u32 {
        self.answered
            .saturating_add(self.too_many)
            .saturating_add(self.failed)
    }

    pub(super) const fn is_ten(&self) -> bool {
        self.counted() >= ENOUGH
    }

    pub(super) const fn all_failed(&self) -> bool {
        self.answered == 0 && self.counted() >= ALL_FAILED
    }

    /// Whether there is enough to judge the rate by: ten outcomes; fewer if none failed and they are a second's worth, or
    /// all that there was to attempt.
    pub(super) const fn is_enough(&self, rate_milli: u32, demand: Demand) -> bool {
        let counted = self.counted();
        let none_failed = counted > 0 && counted == self.answered;
        let all_of_it = match demand {
            Demand::Met => true,
            Demand::LackedCredit => counted.saturating_mul(MILLI) >= rate_milli,
        };
        self.is_ten() || self.all_failed() || (none_failed && all_of_it)
    }

    pub(super) fn share(&self) -> PerMille {
        per_mille(self.answered, self.counted())
    }

    /// The share that would have been answered at a rate that the receiver can take. A 429 depends on the rate by
    /// definition.
    pub(super) fn share_without_429(&self) -> PerMille {
        per_mille(self.answered.saturating_add(self.too_many), self.counted())
    }
}

fn per_mille(part: u32, of: u32) -> PerMille {
    let share = u64::from(part) * 1000 / u64::from(of.max(1));
    PerMille::try_from(share).unwrap_or(PerMille::MAX)
}
