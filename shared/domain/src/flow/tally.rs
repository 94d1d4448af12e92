//! The outcomes that a step is made of.

use super::observed::Observed;
use super::{MILLI, PerMille};
use crate::time::{Millis, Timestamp};

/// So many outcomes make a step.
const ENOUGH: u32 = 10;
/// Over about this time: ten answers of the first instant say more about a receiver's burst than about its capacity.
const LONG_ENOUGH: Millis = Millis::new(900);
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

/// Whether the rate held anything up since the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Met,
    LackedCredit,
}

impl Tally {
    pub(super) fn add(&mut self, observed: Observed, at: Timestamp) {
        if self.since.is_some_and(|since| at.since(since) > KEPT) {
            *self = Self::default();
        }
        self.since = Some(self.since.map_or(at, |since| since.not_after(at)));
        let count = match observed {
            Observed::Delivered | Observed::Final => &mut self.answered,
            Observed::TooMany => &mut self.too_many,
            Observed::Overloaded | Observed::Failed => &mut self.failed,
        };
        *count = count.saturating_add(1);
    }

    pub(super) const fn is_ten(&self) -> bool {
        self.counted() >= ENOUGH
    }

    pub(super) const fn all_failed(&self) -> bool {
        self.answered == 0 && self.counted() >= ALL_FAILED
    }

    /// Whether there is enough to judge the rate by: ten outcomes of about a second; fewer if none failed and they are a
    /// second's worth, or all that there was to attempt.
    pub(super) fn is_enough(&self, rate_milli: u32, demand: Demand, now: Timestamp) -> bool {
        let counted = self.counted();
        let none_failed = counted > 0 && counted == self.answered;
        let is_all = match demand {
            Demand::Met => true,
            Demand::LackedCredit => counted.saturating_mul(MILLI) >= rate_milli,
        };
        (self.is_ten() && self.has_lasted(LONG_ENOUGH, now))
            || self.all_failed()
            || (none_failed && is_all)
    }

    pub(super) fn has_lasted(&self, span: Millis, now: Timestamp) -> bool {
        self.since.is_some_and(|since| now.since(since) >= span)
    }

    pub(super) fn share(&self) -> PerMille {
        per_mille(self.answered, self.counted())
    }

    /// The share that would have been answered at a rate that the receiver can take. A 429 depends on the rate by
    /// definition.
    pub(super) fn share_without_429(&self) -> PerMille {
        per_mille(self.answered.saturating_add(self.too_many), self.counted())
    }

    /// Whether at least this share was answered. Failures that may be chance are forgiven up to one standard deviation: of
    /// ten attempts at a receiver that fails a quarter at any rate, four fail every fifth time. A 429 is not chance.
    pub(super) fn reaches(&self, part: PerMille) -> bool {
        let (counted, part) = (u64::from(self.counted()), u64::from(part.min(1000)));
        let deviation = (counted * part * (1000 - part)).isqrt();
        let forgiven = deviation.min(u64::from(self.failed) * 1000);
        u64::from(self.answered) * 1000 + forgiven >= counted * part
    }

    /// How many ended per second, in thousandths. Answers of an instant are not a rate: they count as those of
    /// [`LONG_ENOUGH`].
    pub(super) fn ended_milli(&self, now: Timestamp) -> u32 {
        let elapsed = self.since.map_or(Millis::ZERO, |since| now.since(since));
        let ended = u64::from(self.counted()) * 1_000_000 / elapsed.max(LONG_ENOUGH).get();
        u32::try_from(ended).unwrap_or(u32::MAX)
    }

    const fn counted(&self) -> u32 {
        self.answered
            .saturating_add(self.too_many)
            .saturating_add(self.failed)
    }
}

fn per_mille(part: u32, of: u32) -> PerMille {
    let share = u64::from(part) * 1000 / u64::from(of.max(1));
    PerMille::try_from(share).unwrap_or(PerMille::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// So many answers, evenly within this time.
    fn answered(count: u32, within_ms: i64) -> Tally {
        let mut tally = Tally::default();
        for n in 0..i64::from(count) {
            tally.add(Observed::Delivered, at(n * within_ms / i64::from(count)));
        }
        tally
    }

    #[test]
    fn one_answer_of_just_now_is_about_one_per_second() {
        for ms in [0, 1, 5, 500, 900] {
            assert_eq!(answered(1, 1).ended_milli(at(ms)), 1_111, "{ms} ms later");
        }
    }

    #[test]
    fn a_burst_is_not_a_rate() {
        assert_eq!(answered(10, 20).ended_milli(at(20)), 11_111);
    }

    #[test]
    fn ten_per_second_are_ten_per_second_however_long_they_are_counted() {
        for seconds in 1..=5 {
            let tally = answered(10 * seconds, 1_000 * i64::from(seconds));
            let ended = tally.ended_milli(at(1_000 * i64::from(seconds)));
            assert_eq!(ended, 10_000, "{seconds} s");
        }
    }

    #[test]
    fn outcomes_of_more_than_a_minute_ago_are_forgotten() {
        let is_ten_after = |ms| {
            let mut tally = answered(9, 1);
            tally.add(Observed::Delivered, at(ms));
            tally.is_ten()
        };
        assert!(is_ten_after(60_000) && !is_ten_after(60_001));
    }

    #[test]
    fn a_failure_may_be_chance_and_a_429_is_not() {
        let reaches = |count: u32, bad| {
            let mut tally = answered(10 - count, 1);
            for _ in 0..count {
                tally.add(bad, at(1));
            }
            tally.reaches(750)
        };
        assert!(reaches(3, Observed::Failed) && !reaches(4, Observed::Failed));
        assert!(reaches(2, Observed::TooMany) && !reaches(3, Observed::TooMany));
    }
}
