//! The recent outcomes of one webhook in one process, and whether they call for a limit.

use std::collections::VecDeque;

use super::observed::Observed;
use crate::time::{Millis, Timestamp};

/// So many failures in a row, of whatever kind, mean that the receiver is down: refused connections and 500s are how most
/// receivers are.
pub const FAILURES_IN_A_ROW: usize = 10;
/// One more for so many failures among the outcomes before them.
const FAILED_BEFORE_PER_FAILURE: usize = 2;
/// For at least this long: a receiver with a quota rejects hundreds in a row within an instant and answers the next ones.
const DOWN_FOR: Millis = Millis::new(250);
/// A fifth of the last 20 are 429.
const TOO_MANY_OF: usize = 20;
const TOO_MANY_PART: usize = 5;
/// Half of the last 60 are 429, 503 or timeouts, and one standard deviation more. Half of 40, or of 60 without it, limits a
/// receiver that fails a quarter at any rate every now and then, if 50 processes each look at their part.
const OVERLOADED_OF: usize = 60;
const OVERLOADED_PART: usize = 2;
/// Three quarters of the last 24 are enough: of 50 events per second each of 50 processes sees a single one, and takes a
/// minute to see 60.
const MOSTLY_OF: usize = 24;
const MOSTLY_FAILED: usize = 18;
/// Older outcomes say nothing about now.
const KEPT: Millis = Millis::from_seconds(60);
/// Both shares are those of the last ten seconds, if there were more outcomes.
const SLOTS: usize = 20;
const ALL_SLOTS: i64 = 20;
const SLOT_MS: i64 = 500;
const SECOND_SLOTS: i64 = 2;
/// Two seconds.
const JUST_NOW_SLOTS: i64 = 4;

/// Why a webhook must be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// The receiver answers nothing.
    Down,
    /// It answers, but is called too often.
    Overloaded,
}

/// The last 60 outcomes, none older than a minute, and the counts of the last ten seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Oldest first.
    last: VecDeque<(Timestamp, Observed)>,
    /// When the first of the latest failures in a row ended.
    failing_since: Option<Timestamp>,
    slots: [Slot; SLOTS],
}

/// The counts of half a second.
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
    /// Adds the outcome of an attempt that ended at `at`.
    pub fn push(&mut self, observed: Observed, at: Timestamp, now: Timestamp) {
        self.forget_old(now);
        if self.last.len() >= OVERLOADED_OF {
            self.last.pop_front();
        }
        self.last.push_back((at, observed));
        self.failing_since = observed
            .is_failure()
            .then(|| self.failing_since.unwrap_or(at));
        if let Some(counts) = self.counts_of(at, now) {
            counts.add(observed);
        }
    }

    /// Counts an answer that says nothing for or against a limit.
    pub fn count(&mut self, observed: Observed, at: Timestamp, now: Timestamp) {
        if observed.is_failure() {
            return;
        }
        if let Some(counts) = self.counts_of(at, now) {
            counts.answered += 1;
        }
    }

    /// Forgets what was seen under other circumstances. How much was answered stays known.
    pub fn clear(&mut self) {
        self.last.clear();
        self.failing_since = None;
        for slot in &mut self.slots {
            slot.counts = Counts {
                answered: slot.counts.answered,
                ..Counts::default()
            };
        }
    }

    #[must_use]
    pub fn symptom(&self, now: Timestamp) -> Option<Symptom> {
        let failing_since = self.failing_since?;
        if self.is_down(failing_since, now) {
            Some(Symptom::Down)
        } else if self.has_too_many(now) || self.is_overloaded(now) {
            Some(Symptom::Overloaded)
        } else {
            None
        }
    }

    /// Answers per second in the last second or a little more, in thousandths.
    #[must_use]
    pub fn answered_milli(&self, now: Timestamp) -> u32 {
        let into_slot = now.as_millis().rem_euclid(SLOT_MS).unsigned_abs();
        let covered_ms = SLOT_MS.saturating_mul(SECOND_SLOTS).unsigned_abs() + into_slot;
        let answered = self.within(SECOND_SLOTS + 1, now).answered;
        let answered = u64::try_from(answered).unwrap_or(u64::MAX);
        u32::try_from(answered.saturating_mul(1_000_000) / covered_ms).unwrap_or(u32::MAX)
    }

    /// A receiver that has failed some before must fail more in a row: one that fails a quarter at any rate fails ten of 500
    /// per second every few minutes.
    fn is_down(&self, failing_since: Timestamp, now: Timestamp) -> bool {
        let in_a_row = self
            .recent(now)
            .take_while(|observed| observed.is_failure())
            .count();
        let before = self.recent(now).skip(in_a_row);
        let failed_before = before.filter(|observed| observed.is_failure()).count();
        in_a_row >= FAILURES_IN_A_ROW + failed_before / FAILED_BEFORE_PER_FAILURE
            && now.since(failing_since) >= DOWN_FOR
    }

    fn has_too_many(&self, now: Timestamp) -> bool {
        let counts = self.latest(TOO_MANY_OF, now);
        counts.too_many * TOO_MANY_PART >= counts.all.max(TOO_MANY_OF)
    }

    fn is_overloaded(&self, now: Timestamp) -> bool {
        let counts = self.latest(OVERLOADED_OF, now);
        let all = counts.all.max(OVERLOADED_OF);
        counts.overloaded * OVERLOADED_PART >= all + all.isqrt() || self.is_mostly_overloaded(now)
    }

    /// Whether the receiver answered an attempt of this process just now.
    #[must_use]
    pub fn has_answer(&self, now: Timestamp) -> bool {
        self.within(JUST_NOW_SLOTS, now).answered > 0
    }

    fn is_mostly_overloaded(&self, now: Timestamp) -> bool {
        let counts = self.latest(MOSTLY_OF, now);
        counts.overloaded * MOSTLY_OF >= counts.all.max(MOSTLY_OF) * MOSTLY_FAILED
    }

    /// So many outcomes, or those of the last ten seconds if they are more.
    fn latest(&self, count: usize, now: Timestamp) -> Counts {
        let counts = self.within(ALL_SLOTS, now);
        if counts.all > count {
            counts
        } else {
            self.recent(now).take(count).collect()
        }
    }

    /// Newest first.
    fn recent(&self, now: Timestamp) -> impl Iterator<Item = Observed> {
        let outcomes = self.last.iter().rev();
        outcomes
            .take_while(move |(at, _)| now.since(*at) <= KEPT)
            .map(|(_, observed)| *observed)
    }

    fn within(&self, slots: i64, now: Timestamp) -> Counts {
        let newest = slot_index(now);
        let within = newest.saturating_sub(slots - 1)..=newest;
        let mut sum = Counts::default();
        for slot in &self.slots {
            if within.contains(&slot.index) {
                sum.plus(slot.counts);
            }
        }
        sum
    }

    /// The counts to which an outcome belongs; none if they are no longer kept.
    fn counts_of(&mut self, at: Timestamp, now: Timestamp) -> Option<&mut Counts> {
        let index = slot_index(at);
        let position = usize::try_from(index.rem_euclid(ALL_SLOTS)).ok()?;
        let slot = self.slots.get_mut(position)?;
        if slot.index < index || slot.index > slot_index(now) {
            *slot = Slot {
                index,
                ..Slot::default()
            };
        }
        (slot.index == index).then_some(&mut slot.counts)
    }

    fn forget_old(&mut self, now: Timestamp) {
        self.failing_since = self.failing_since.map(|at| at.not_after(now));
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
