//! One finished delivery as an observation, for whoever makes the figures of many.

use crate::delivery::{Delivery, Status};
use crate::figures::Figure;
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
    pub fn observed(self, figure: Figure) -> Option<f64> {
        let percent = |yes| Some(if yes { 100.0 } else { 0.0 });
        match figure {
            Figure::SuccessRate => percent(self.latency.is_some()),
            Figure::P95Latency => Some(std::time::Duration::from(self.latency?).as_secs_f64()),
            Figure::RetryRate => percent(self.retries > 0),
            Figure::AvgRetries => Some(f64::from(self.retries)),
            Figure::FailedCount => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::figures::Tally;
    use crate::stats::latency_bucket;

    fn average(all: &[Finished], figure: Figure) -> f64 {
        let observed: Vec<_> = all.iter().filter_map(|one| one.observed(figure)).collect();
        observed.iter().sum::<f64>() / f64::from(u32::try_from(observed.len()).unwrap())
    }

    fn tally(all: &[Finished]) -> Tally {
        let mut tally = Tally::default();
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
            for figure in [Figure::SuccessRate, Figure::RetryRate, Figure::AvgRetries] {
                let expected = figure.value(&tally, 0).unwrap();
                prop_assert!((average(&all, figure) - expected).abs() < 1e-9, "{figure:?}");
            }
            let latencies = all.iter().filter_map(|one| one.observed(Figure::P95Latency));
            prop_assert_eq!(latencies.count() as u64, tally.delivered);
        }
    }
}
