//! One finished delivery as an observation, for whoever makes the figures of many.

use crate::delivery::{Delivery, Status};
use crate::key_stats::KeyStat;
use crate::stats::StatsDelta;
use crate::time::{Millis, Timestamp};

/// A delivery that arrived or was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Attempts beyond the first.
    retries: u32,
    /// From event to delivered; none when it was given up.
    latency: Option<Millis>,
}

impl Finished {
    /// What the change from `before` to `after` at that instant finished, if anything.
    #[must_use]
    pub fn of_change(before: &Delivery, after: &Delivery, at: Timestamp) -> Option<Self> {
        let counted = StatsDelta::of_change(before, after, at)?;
        if counted.delivered + counted.dead == 0 {
            return None;
        }
        let has_arrived = after.status == Status::Delivered;
        Some(Self {
            retries: counted.retries,
            latency: has_arrived.then(|| at.since(after.created_at)),
        })
    }

    /// What it adds to a figure, in the figure's unit: the figure is the average of all that was added, and their 95th
    /// percentile where it is one. None for a figure that it says nothing of.
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
    use crate::key_stats::StatTotals;
    use crate::stats::latency_bucket;

    fn average(all: &[Finished], key_stat: KeyStat) -> f64 {
        let observed: Vec<_> = all
            .iter()
            .filter_map(|one| one.observed(key_stat))
            .collect();
        observed.iter().sum::<f64>() / f64::from(u32::try_from(observed.len()).unwrap())
    }

    fn tally(all: &[Finished]) -> StatTotals {
        let mut tally = StatTotals::default();
        for one in all {
            tally.retries += u64::from(one.retries);
            tally.retried += u64::from(one.retries > 0);
            match one.latency {
                Some(latency) => {
                    tally.delivered += 1;
                    tally.latency[usize::from(latency_bucket(latency))] += 1;
                }
                None => tally.dead += 1,
            }
        }
        tally
    }

    proptest! {
        #[test]
        fn averages_of_observations_are_the_figures_of_the_counters(
            all in prop::collection::vec((0_u32..9, prop::option::of(0_u64..400_000)), 1..60)
        ) {
            let all: Vec<_> = all
                .into_iter()
                .map(|(retries, ms)| Finished { retries, latency: ms.map(Millis::new) })
                .collect();
            let tally = tally(&all);
            for key_stat in [KeyStat::SuccessRate, KeyStat::RetryRate, KeyStat::AvgRetries] {
                let expected = key_stat.value(&tally, 0).unwrap();
                prop_assert!((average(&all, key_stat) - expected).abs() < 1e-9, "{key_stat:?}");
            }
            let latencies = all.iter().filter_map(|one| one.observed(KeyStat::P95Latency));
            prop_assert_eq!(latencies.count() as u64, tally.delivered);
        }
    }
}
