//! Which rows get a queue message in a tick. Pure.

use postrider_domain::time::{Millis, Timestamp};

/// How far ahead the messages of waiting rows are sent. A tick may be late or slow by this much before a row is late.
/// Together with the length of the window it stays far enough below
/// [`MESSAGE_REACH`](postrider_domain::delivery::MESSAGE_REACH) that even a lagging index shows a row in time that started
/// to wait just beyond that reach.
pub(super) const LOOK_AHEAD: Millis = Millis::from_seconds(600);
/// A row is poked by every tick until it is this late, then hourly.
const POKED_EACH_TICK: Millis = Millis::from_seconds(900);
/// While the queue is deep, only rows later than this are poked: the messages of the others are in it.
const LATE_WHEN_DEEP: Millis = Millis::from_seconds(1800);
/// How far a schedule may stray from its second. A tick this close to the end of a minute covers both minutes.
const STRAY_MS: i64 = 2000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

/// `to` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// When a tick was scheduled. A time that is unknown, in the future or too long ago to be useful is replaced by now.
pub(super) fn scheduled(at: Option<Timestamp>, now: Timestamp) -> Timestamp {
    at.filter(|at| *at <= now && now.since(*at) <= LOOK_AHEAD)
        .unwrap_or(now)
}

/// The due times that a tick covers. Ticks of successive minutes leave no gap, and overlap only if they stray.
pub(super) fn window(scheduled_at: Timestamp) -> Span {
    let at = scheduled_at.as_millis();
    let shifted = |at: i64| Timestamp::from_millis(nearest_minute(at)).plus(LOOK_AHEAD);
    Span {
        from: shifted(at.saturating_sub(STRAY_MS)),
        to: shifted(at.saturating_add(STRAY_MS).saturating_add(MINUTE_MS)),
    }
}

const fn nearest_minute(ms: i64) -> i64 {
    ms.saturating_add(MINUTE_MS / 2)
        .div_euclid(MINUTE_MS)
        .saturating_mul(MINUTE_MS)
}

/// How much waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Usual,
    Deep,
}

/// Which overdue rows a tick pokes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overdue {
    now: Timestamp,
    grace: Millis,
    depth: Depth,
    minute_ms: i64,
}

impl Overdue {
    pub(super) const fn new(
        scheduled_at: Timestamp,
        now: Timestamp,
        grace: Millis,
        depth: Depth,
    ) -> Self {
        Self {
            now,
            grace,
            depth,
            minute_ms: nearest_minute(scheduled_at.as_millis()),
        }
    }

    /// All due times that are overdue by more than the grace.
    pub(super) const fn span(&self) -> Span {
        Span {
            from: Timestamp::ZERO,
            to: self.now.minus(self.grace),
        }
    }

    /// Whether a row of that span with this due time is poked.
    pub(super) fn wants(&self, due_at: Timestamp) -> bool {
        let late = self.now.since(due_at);
        match self.depth {
            Depth::Usual => late <= POKED_EACH_TICK || self.has_slot(due_at),
            Depth::Deep => late > LATE_WHEN_DEEP && self.has_slot(due_at),
        }
    }

    /// The first due time from `due_at` on whose row may be poked. The many rows that may lie between two hourly slots
    /// need not be read.
    pub(super) fn next_wanted(&self, due_at: Timestamp) -> Option<Timestamp> {
        if self.wants(due_at) {
            return Some(due_at);
        }
        let slot =
            Timestamp::from_millis(due_at.as_millis().saturating_add(self.until_slot(due_at)));
        let (next, end) = match self.depth {
            Depth::Usual => (slot.min(self.now.minus(POKED_EACH_TICK)), self.span().to),
            Depth::Deep => (slot, self.now.minus(LATE_WHEN_DEEP)),
        };
        (next < end).then_some(next)
    }

    /// Each tick has one minute of the hour, so that a long overdue row is poked by one tick per hour.
    fn has_slot(&self, due_at: Timestamp) -> bool {
        let before = self.minute_ms.saturating_sub(1);
        before
            .saturating_sub(due_at.as_millis())
            .rem_euclid(HOUR_MS)
            < MINUTE_MS
    }

    /// Milliseconds from `due_at` to the start of the next slot.
    fn until_slot(self, due_at: Timestamp) -> i64 {
        let begin = self.minute_ms.saturating_sub(MINUTE_MS);
        begin.saturating_sub(due_at.as_millis()).rem_euclid(HOUR_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On the minute.
    const NOON: Timestamp = Timestamp::from_millis(1_771_675_200_000);
    const GRACE: Millis = Millis::from_seconds(180);

    fn late(seconds: u64) -> Timestamp {
        NOON.minus(Millis::from_seconds(seconds))
    }

    fn stray(ms: i64) -> Timestamp {
        Timestamp::from_millis(NOON.as_millis() + ms)
    }

    #[test]
    fn windows_of_successive_minutes_meet() {
        let next = NOON.plus(Millis::from_seconds(60));
        assert_eq!(window(NOON).to, window(next).from);
        assert_eq!(window(NOON), window(stray(27_000)));
        assert_eq!(window(NOON), window(stray(-27_000)));
    }

    #[test]
    fn a_schedule_that_strays_over_the_half_minute_skips_no_row() {
        for (first, second) in [(29_000, 91_000), (30_500, 89_500), (29_999, 90_001)] {
            let (first, second) = (window(stray(first)), window(stray(second)));
            assert!(second.from <= first.to, "{first:?} {second:?}");
        }
    }

    #[test]
    fn no_message_is_sent_further_ahead_than_it_reaches() {
        for ms in 0..60_000 {
            let at = stray(ms);
            assert!(window(at).to.since(at) <= postrider_domain::delivery::MESSAGE_REACH);
        }
    }

    #[test]
    fn a_retried_tick_has_the_window_of_the_failed_one() {
        let later = NOON.plus(Millis::from_seconds(185));
        assert_eq!(window(scheduled(Some(NOON), later)), window(NOON));
        assert_eq!(scheduled(None, later), later);
        assert_eq!(scheduled(Some(later), NOON), NOON, "from the future");
        assert_eq!(scheduled(Some(Timestamp::ZERO), NOON), NOON, "a sample");
    }

    #[test]
    fn recently_overdue_rows_are_poked_by_every_tick() {
        let rule = Overdue::new(NOON, NOON, GRACE, Depth::Usual);
        assert_eq!(rule.span().to, late(180));
        assert!(rule.wants(late(181)) && rule.wants(late(900)));
        assert!(!rule.wants(late(901)));
    }

    #[test]
    fn long_overdue_rows_are_poked_by_one_tick_per_hour() {
        for due_at in [late(901), late(3600), late(3601), late(5_432_101)] {
            let pokes = (0..60).filter(|minute| {
                let tick = NOON.plus(Millis::from_seconds(3600 + minute * 60));
                Overdue::new(tick, tick, GRACE, Depth::Usual).wants(due_at)
            });
            assert_eq!(pokes.count(), 1, "{due_at}");
        }
    }

    #[test]
    fn into_a_deep_queue_only_rows_more_than_half_an_hour_late_are_poked() {
        let rule = Overdue::new(NOON, NOON, GRACE, Depth::Deep);
        assert!((181..=1800).all(|seconds| !rule.wants(late(seconds))));
        assert!(rule.wants(late(3630)) && !rule.wants(late(3700)));
        assert_eq!(rule.next_wanted(late(1700)), None);
    }

    #[test]
    fn skipping_ahead_skips_no_wanted_row() {
        for depth in [Depth::Usual, Depth::Deep] {
            let rule = Overdue::new(NOON, NOON, GRACE, depth);
            for from in (181..20_000).step_by(37) {
                let next = rule.next_wanted(late(from));
                let first = (181..=from).rev().map(late).find(|at| rule.wants(*at));
                match (next, first) {
                    (Some(next), Some(first)) => assert!(next <= first, "{depth:?} {from}"),
                    (None, Some(_)) => panic!("{depth:?} {from}"),
                    (_, None) => {}
                }
            }
        }
    }
}
