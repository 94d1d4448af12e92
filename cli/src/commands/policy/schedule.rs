//! When each attempt of a schedule happens, and which of them succeeds after an outage.

use postrider_domain::retry::{Jitter, Policy, RetryBudget, RetrySettings, RuntimeRetry};
use postrider_domain::time::Millis;
use serde::Serialize;

const EARLIEST: Jitter = Jitter(0);
const LATEST: Jitter = Jitter(u32::MAX);

/// A scheduled delay, and how far jitter may move it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Window {
    pub(super) earliest_ms: Millis,
    pub(super) planned_ms: Millis,
    pub(super) latest_ms: Millis,
}

impl Window {
    fn plus(self, other: Self) -> Self {
        Self {
            earliest_ms: self.earliest_ms.plus(other.earliest_ms),
            planned_ms: self.planned_ms.plus(other.planned_ms),
            latest_ms: self.latest_ms.plus(other.latest_ms),
        }
    }
}

/// One attempt: the delay since the previous one, and since the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Slot {
    pub(super) attempt: u32,
    pub(super) wait: Window,
    pub(super) elapsed: Window,
}

/// Every attempt of a delivery that keeps failing.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) slots: Vec<Slot>,
}

/// The outcome of a delivery that was accepted just as its receiver went down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// This attempt delivers it, whatever the jitter.
    Delivered(Slot),
    /// One of these delivers it, depending on jitter.
    Between(Slot, Slot),
    /// Delivered only if jitter makes the last attempt late enough.
    Lucky(Slot),
    /// No attempt is late enough.
    Dead,
}

impl Schedule {
    /// The attempts for these settings, which must be valid.
    pub(super) fn new(settings: &RetrySettings, budget: RetryBudget) -> Self {
        let policy = settings.policy(RuntimeRetry {
            jitter_bps: None,
            budget,
        });
        let unjittered = Policy {
            jitter_bps: 0,
            ..policy.clone()
        };
        let mut elapsed = Window::default();
        let mut slots = vec![Slot {
            attempt: 1,
            wait: elapsed,
            elapsed,
        }];
        for failures in 1..budget.effective_max(settings.max_attempts()) {
            let wait = Window {
                earliest_ms: policy.backoff(failures, EARLIEST),
                planned_ms: unjittered.backoff(failures, Jitter::NONE),
                latest_ms: policy.backoff(failures, LATEST),
            };
            elapsed = elapsed.plus(wait);
            slots.push(Slot {
                attempt: failures + 1,
                wait,
                elapsed,
            });
        }
        Self { slots }
    }

    /// The time from the first attempt to the last, as scheduled.
    pub(super) fn length(&self) -> Millis {
        self.slots
            .last()
            .map_or(Millis::ZERO, |slot| slot.elapsed.planned_ms)
    }

    /// The outcome of an outage of this length that starts with the first attempt.
    pub(super) fn fate(&self, outage: Millis) -> Fate {
        let possible = self
            .slots
            .iter()
            .find(|slot| slot.elapsed.latest_ms >= outage);
        let certain = self
            .slots
            .iter()
            .find(|slot| slot.elapsed.earliest_ms >= outage);
        match (possible, certain) {
            (Some(first), Some(last)) if first.attempt == last.attempt => Fate::Delivered(*first),
            (Some(first), Some(last)) => Fate::Between(*first, *last),
            (Some(only), None) => Fate::Lucky(*only),
            (None, _) => Fate::Dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::retry::Profile;

    fn schedule(profile: Profile, budget: u32) -> Schedule {
        Schedule::new(
            &RetrySettings {
                profile,
                ..RetrySettings::default()
            },
            RetryBudget(budget),
        )
    }

    fn attempt(fate: Fate) -> (u32, u32) {
        match fate {
            Fate::Delivered(slot) => (slot.attempt, slot.attempt),
            Fate::Between(first, last) => (first.attempt, last.attempt),
            Fate::Lucky(slot) => (slot.attempt, 0),
            Fate::Dead => (0, 0),
        }
    }

    #[test]
    fn the_default_gives_up_after_an_hour_twelve() {
        let schedule = schedule(Profile::Gateway, 0);
        let elapsed: Vec<_> = schedule
            .slots
            .iter()
            .map(|slot| slot.elapsed.planned_ms.get() / 1000)
            .collect();
        assert_eq!(elapsed, [0, 30, 150, 750, 4350]);
        assert_eq!(attempt(schedule.fate(Millis::ZERO)), (1, 1));
        assert_eq!(attempt(schedule.fate(Millis::from_seconds(600))), (4, 4));
        assert_eq!(attempt(schedule.fate(Millis::from_seconds(4350))), (5, 5));
        assert_eq!(schedule.fate(Millis::from_seconds(4351)), Fate::Dead);
    }

    #[test]
    fn a_budget_shortens_the_schedule() {
        assert_eq!(schedule(Profile::Gateway, 2).slots.len(), 3);
        assert_eq!(schedule(Profile::Gateway, 99).slots.len(), 5);
    }

    #[test]
    fn jitter_can_make_the_outcome_uncertain() {
        let schedule = schedule(Profile::PublicApi, 0);
        assert_eq!(schedule.slots[1].wait.earliest_ms.get(), 4500);
        assert_eq!(schedule.slots[1].wait.latest_ms.get(), 5500);
        assert_eq!(attempt(schedule.fate(Millis::from_seconds(5))), (2, 3));
        assert_eq!(attempt(schedule.fate(Millis::from_seconds(20))), (3, 3));
        assert_eq!(attempt(schedule.fate(Millis::from_seconds(4000))), (6, 0));
    }
}
