//! One finished delivery as an observation, for backends that aggregate key stats themselves.

use crate::delivery::{Delivery, Status};
use crate::key_stats::KeyStat;
use crate::stats::StatsDelta;
use crate::time::{Millis, Timestamp};

/// A delivery that is delivered or dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Attempts beyond the first.
    retries: u32,
    /// From event to delivery; `None` for a dead delivery.
    latency: Option<Millis>,
}

impl Finished {
    /// `Some` if the change from `before` to `after` finished the delivery.
    #[must_use]
    pub fn of_change(before: &Delivery, after: &Delivery, at: Timestamp) -> Option<Self> {
        let delta = StatsDelta::of_change(before, after, at)?;
        if delta.delivered + delta.dead == 0 {
            return None;
        }
        let is_delivered = after.status == Status::Delivered;
        Some(Self {
            retries: delta.retries,
            latency: is_delivered.then(|| at.since(after.created_at)),
        })
    }

    /// The observation for a key stat, in its unit: the key stat is the average of all observations, or their 95th
    /// percentile. `None` if this delivery does not affect the key stat.
    #[must_use]
    pub fn observed(self, key_stat: KeyStat) -> Option<f64> {
        let percent = |yes| Some(if yes { 100.0 } else { 0.0 });
        match key_stat {
            KeyStat::SuccessRate => percent(self.latency.is_some()),
            KeyStat::P95Latency => Some(std::time::Duration::from(self.latency?).as_secs_f64()),
            KeyStat::RetryRate => percent(self.retries > 0),
            KeyStat::AvgRetries => Some(f64::from(self.retries)),
            KeyStat::FailedCount => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delivery::tests::{NOW, row};
    use crate::key_stats::StatTotals;
    use crate::stats::latency_bucket;

    fn average(all: &[Finished], key_stat: KeyStat) -> f64 {
        let observed: Vec<_> = all
            .iter()
            .filter_map(|one| one.observed(key_stat))
            .collect();
        observed.iter().sum::<f64>() / f64::from(u32::try_from(observed.len()).unwrap())
    }

    fn totals(all: &[Finished]) -> StatTotals {
        let mut totals = StatTotals::default();
        for one in all {
            totals.retries += u64::from(one.retries);
            totals.retried += u64::from(one.retries > 0);
            match one.latency {
                Some(latency) => {
                    totals.delivered += 1;
                    totals.latency[usize::from(latency_bucket(latency))] += 1;
                }
                None => totals.dead += 1,
            }
        }
        totals
    }

    #[test]
    fn a_delivery_is_observed_when_it_is_delivered_or_dies() {
        let attempted = |status| Delivery {
            attempt_count: 3,
            attempts_total: 3,
            ..row(status)
        };
        let took = Millis::new(1_500);
        let of = |status, after| Finished::of_change(&row(status), &after, NOW.plus(took));
        let finished = |retries, latency| Some(Finished { retries, latency });
        for status in [Status::Pending, Status::Failed] {
            let delivered = of(status, attempted(Status::Delivered));
            assert_eq!(delivered, finished(2, Some(took)));
            assert_eq!(of(status, attempted(Status::Dead)), finished(2, None));
            assert_eq!(of(status, row(status).expired()), finished(0, None));
            assert_eq!(of(status, attempted(Status::Failed)), None);
        }
        assert_eq!(of(Status::Dead, row(Status::Dead).requeued(NOW)), None);
    }

    proptest! {
        #[test]
        fn averages_of_observations_equal_the_key_stats_of_the_counters(
            all in prop::collection::vec((0_u32..9, prop::option::of(0_u64..400_000)), 1..60)
        ) {
            let all: Vec<_> = all
                .into_iter()
                .map(|(retries, ms)| Finished { retries, latency: ms.map(Millis::new) })
                .collect();
            let totals = totals(&all);
            for key_stat in [KeyStat::SuccessRate, KeyStat::RetryRate, KeyStat::AvgRetries] {
                let expected = key_stat.value(&totals, 0).unwrap();
                prop_assert!((average(&all, key_stat) - expected).abs() < 1e-9, "{key_stat:?}");
            }
            let latencies = all.iter().filter_map(|one| one.observed(KeyStat::P95Latency));
            prop_assert_eq!(latencies.count() as u64, totals.delivered);
        }
    }
}
