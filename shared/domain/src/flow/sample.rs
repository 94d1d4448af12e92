//! The recent outcomes of one webhook in one process, and whether they call for a limit.

use std::collections::VecDeque;

use super::observed::Observed;
use crate::time::{Millis, Timestamp};

/// This many failures in a row, of whatever kind: refused connections and 500s are how most receivers are down.
pub const FAILURES_IN_A_ROW: usize = 10;
/// A fifth of this many answers are 429.
const TOO_MANY_OF: usize = 20;
const TOO_MANY_SHARE: usize = 5;
/// Half of this many are 429, 503 or timeouts. Half of 20 would limit a receiver that fails a quarter at any rate.
const OVERLOADED_OF: usize = 40;
const OVERLOADED_SHARE: usize = 2;
/// Older outcomes say nothing about now.
const KEPT: Millis = Millis::from_seconds(60);
const SLOT_MS: i64 = 100;
const SLOTS: usize = 10;
const SLOTS_IN_A_SECOND: i64 = 10;

/// The last 40 outcomes, and the counts of the last second for webhooks that have more than that in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Oldest first.
    last: VecDeque<(Timestamp, Observed)>,
    slots: [Slot; SLOTS],
}

/// The counts of a tenth of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    index: i64,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    all: usize,
    answered: usize,
    too_many: usize,
    overloaded: usize,
}

impl Sample {
    pub fn push(&mut self, observed: Observed, now: Timestamp) {
        self.forget_old(now);
        if self.last.len() >= OVERLOADED_OF {
            self.last.pop_front();
        }
        self.last.push_back((now, observed));
        if let Some(slot) = self.slot(now) {
            slot.add(observed);
        }
    }

    /// Counts an answer that is not evidence for or against a limit, but was given in the last second.
    pub fn count_answer(&mut self, observed: Observed, now: Timestamp) {
        if observed.is_failure() {
            return;
        }
        if let Some(slot) = self.slot(now) {
            slot.answered += 1;
        }
    }

    /// Forgets the outcomes that were seen under other circumstances. What was delivered in the last second stays known.
    pub fn clear(&mut self) {
        self.last.clear();
        for slot in &mut self.slots {
            slot.counts = Counts {
                answered: slot.counts.answered,
                ..Counts::default()
            };
        }
    }

    /// Whether the webhook must be limited.
    #[must_use]
    pub fn calls_for_limit(&self, now: Timestamp) -> bool {
        let second = self.last_second(now);
        self.failures_in_a_row(now) >= FAILURES_IN_A_ROW
            || self.too_many(second, now)
            || self.overloaded(second, now)
    }

    /// How many attempts were answered in the last second.
    #[must_use]
    pub fn answered_in_a_second(&self, now: Timestamp) -> usize {
        self.last_second(now).answered
    }

    fn failures_in_a_row(&self, now: Timestamp) -> usize {
        self.recent(now)
            .take_while(|observed| observed.is_failure())
            .count()
    }

    fn too_many(&self, second: Counts, now: Timestamp) -> bool {
        let counts = if second.all > TOO_MANY_OF {
            second
        } else {
            self.recent(now).take(TOO_MANY_OF).collect()
        };
        counts.too_many * TOO_MANY_SHARE >= counts.all.max(TOO_MANY_OF)
    }

    fn overloaded(&self, second: Counts, now: Timestamp) -> bool {
        let counts = if second.all > OVERLOADED_OF {
            second
        } else {
            self.recent(now).take(OVERLOADED_OF).collect()
        };
        counts.overloaded * OVERLOADED_SHARE >= counts.all.max(OVERLOADED_OF)
    }

    /// Newest first.
    fn recent(&self, now: Timestamp) -> impl Iterator<Item = Observed> {
        let outcomes = self.last.iter().rev();
        outcomes
            .take_while(move |(at, _)| now.since(*at) <= KEPT)
            .map(|(_, observed)| *observed)
    }

    fn last_second(&self, now: Timestamp) -> Counts {
        let newest = slot_index(now);
        let within = newest.saturating_sub(SLOTS_IN_A_SECOND - 1)..=newest;
        let mut sum = Counts::default();
        for slot in &self.slots {
            if within.contains(&slot.index) {
                sum.plus(slot.counts);
            }
        }
        sum
    }

    fn slot(&mut self, now: Timestamp) -> Option<&mut Counts> {
        let index = slot_index(now);
        let position = usize::try_from(index.rem_euclid(SLOTS_IN_A_SECOND)).ok()?;
        let slot = self.slots.get_mut(position)?;
        if slot.index != index {
            *slot = Slot {
                index,
                ..Slot::default()
            };
        }
        Some(&mut slot.counts)
    }

    fn forget_old(&mut self, now: Timestamp) {
        for (at, _) in &mut self.last {
            *at = at.not_after(now);
        }
        while let Some((at, _)) = self.last.front() {
            if now.since(*at) <= KEPT {
                break;
            }
            self.last.pop_front();
        }
    }
}

impl Counts {
    fn add(&mut self, observed: Observed) {
        self.all += 1;
        match observed {
            Observed::Delivered | Observed::Final => self.answered += 1,
            Observed::TooMany => {
                self.too_many += 1;
                self.overloaded += 1;
            }
            Observed::Overloaded => self.overloaded += 1,
            Observed::Failed => {}
        }
    }

    fn plus(&mut self, other: Self) {
        self.all += other.all;
        self.answered += other.answered;
        self.too_many += other.too_many;
        self.overloaded += other.overloaded;
    }
}

impl FromIterator<Observed> for Counts {
    fn from_iter<I: IntoIterator<Item = Observed>>(outcomes: I) -> Self {
        let mut counts = Self::default();
        for observed in outcomes {
            counts.add(observed);
        }
        counts
    }
}

const fn slot_index(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(SLOT_MS)
}

#[cfg(test)]
mod tests;
