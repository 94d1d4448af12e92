//! Hourly counters per webhook, from which stats are computed.

use serde::{Deserialize, Serialize};

use crate::delivery::{Delivery, Status};
use crate::time::{Millis, Timestamp};

/// Long enough to compare a year with the previous one.
pub const KEPT_FOR: Millis = Millis::from_seconds(800 * 86_400);

/// Upper bounds of the latency histogram; the last bucket has none. Finer around the 10 s at which ADR-0040 alerts.
pub const LATENCY_BOUNDS_MS: [u64; 23] = [
    10,
    25,
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    7_500,
    10_000,
    15_000,
    30_000,
    60_000,
    150_000,
    300_000,
    900_000,
    3_600_000,
    7_200_000,
    21_600_000,
    43_200_000,
    86_400_000,
    259_200_000,
];

/// What one change adds to the counters of its webhook and hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsDelta {
    pub delivered: u32,
    pub dead: u32,
    pub attempts: u32,
    /// Finished deliveries that needed more than one attempt.
    pub retried: u32,
    /// Attempts beyond the first, of finished deliveries.
    pub retries: u32,
    /// Only for a successful delivery.
    pub latency_bucket: Option<u8>,
}

impl StatsDelta {
    /// What the change from `before` to `after` adds, if anything. The latency ends at the change, not at the start of
    /// the attempt, so that it includes the receiver's response time.
    #[must_use]
    pub fn of_change(before: &Delivery, after: &Delivery, at: Timestamp) -> Option<Self> {
        let attempts = after.attempts_total.saturating_sub(before.attempts_total);
        let finished = before.status.is_open() && !after.status.is_open();
        if attempts == 0 && !finished {
            return None;
        }
        let mut delta = Self {
            attempts,
            ..Self::default()
        };
        if finished {
            delta.retries = after.attempt_count.saturating_sub(1);
            delta.retried = u32::from(delta.retries > 0);
        }
        if finished && after.status == Status::Delivered {
            delta.delivered = 1;
            delta.latency_bucket = Some(latency_bucket(at.since(after.created_at)));
        } else if finished {
            delta.dead = 1;
        }
        Some(delta)
    }
}

#[must_use]
pub fn latency_bucket(elapsed: Millis) -> u8 {
    let below = LATENCY_BOUNDS_MS.partition_point(|bound| *bound < elapsed.get());
    u8::try_from(below).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::tests::{NOW, row};

    #[test]
    fn an_attempt_counts_at_once_and_the_rest_when_the_delivery_finishes() {
        use Status::{Dead, Delivered, Failed, Pending};
        // Columns: status and attempts before, status and attempts after; delivered, dead, attempts, retried, retries.
        for (before, tried_before, after, tried_after, counts) in [
            (Pending, 0, Pending, 0, None),
            (Failed, 1, Failed, 1, None),
            (Dead, 1, Pending, 1, None),
            (Delivered, 1, Delivered, 1, None),
            (Pending, 0, Failed, 1, Some((0, 0, 1, 0, 0))),
            (Failed, 2, Failed, 3, Some((0, 0, 1, 0, 0))),
            (Failed, 2, Failed, 5, Some((0, 0, 3, 0, 0))),
            (Pending, 0, Delivered, 1, Some((1, 0, 1, 0, 0))),
            (Failed, 1, Delivered, 2, Some((1, 0, 1, 1, 1))),
            (Failed, 3, Delivered, 4, Some((1, 0, 1, 1, 3))),
            (Pending, 0, Dead, 1, Some((0, 1, 1, 0, 0))),
            (Failed, 3, Dead, 4, Some((0, 1, 1, 1, 3))),
            (Pending, 0, Dead, 0, Some((0, 1, 0, 0, 0))),
            (Failed, 3, Dead, 3, Some((0, 1, 0, 1, 2))),
        ] {
            let of = |status, attempts| Delivery {
                attempt_count: attempts,
                attempts_total: attempts,
                ..row(status)
            };
            let (from, to) = (of(before, tried_before), of(after, tried_after));
            let found = StatsDelta::of_change(&from, &to, NOW.plus(Millis::new(11)));
            let expected = counts.map(|(delivered, dead, attempts, retried, retries)| StatsDelta {
                delivered,
                dead,
                attempts,
                retried,
                retries,
                latency_bucket: (delivered == 1).then_some(1),
            });
            assert_eq!(
                found, expected,
                "{before} {tried_before} to {after} {tried_after}"
            );
        }
    }

    #[test]
    fn only_the_attempts_since_a_requeue_are_retries() {
        let requeued = Delivery {
            attempts_total: 7,
            ..row(Status::Dead).requeued(NOW)
        };
        let delivered = Delivery {
            attempt_count: 1,
            attempts_total: 8,
            ..row(Status::Delivered)
        };
        let found = StatsDelta::of_change(&requeued, &delivered, NOW).unwrap();
        assert_eq!((found.attempts, found.retried, found.retries), (1, 0, 0));
    }

    #[test]
    fn counters_are_stored_for_800_days() {
        let just_before = Timestamp::ZERO.plus(KEPT_FOR).minus(Millis::new(1));
        assert_eq!(just_before.day(), Timestamp::from_millis(799 * 86_400_000));
    }

    #[test]
    fn a_latency_falls_into_the_bucket_whose_bound_it_does_not_exceed() {
        assert_eq!(latency_bucket(Millis::ZERO), 0);
        assert_eq!(latency_bucket(Millis::new(10)), 0);
        assert_eq!(latency_bucket(Millis::new(11)), 1);
        assert_eq!(latency_bucket(Millis::new(10_000)), 10);
        assert_eq!(latency_bucket(Millis::new(u64::MAX)), 23);
    }
}
