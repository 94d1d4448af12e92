//! Measured times, in microseconds.

use std::time::{Duration, Instant};

/// Times, from which quantiles are computed.
#[derive(Default)]
pub(crate) struct Samples(Vec<u32>);

impl Samples {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0
            .push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    /// Adds the time since `from`.
    pub(crate) fn since(&mut self, from: Instant) {
        self.add(from.elapsed());
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The median, in milliseconds.
    pub(crate) fn p50_ms(&self) -> f64 {
        self.quantile_ms(0.50)
    }

    /// The 99th percentile, in milliseconds.
    pub(crate) fn p99_ms(&self) -> f64 {
        self.quantile_ms(0.99)
    }

    pub(crate) fn max(&self) -> Duration {
        let micros = self.0.iter().copied().max();
        Duration::from_micros(u64::from(micros.expect("something was measured")))
    }

    /// The share that is longer than this.
    pub(crate) fn share_over(&self, limit: Duration) -> f64 {
        let over = |micros: &&u32| u128::from(**micros) > limit.as_micros();
        self.0.iter().filter(over).count() as f64 / self.0.len().max(1) as f64
    }

    fn quantile_ms(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        let at = rank.clamp(1, sorted.len().max(1)) - 1;
        f64::from(*sorted.get(at).expect("something was measured")) / 1000.0
    }
}

impl FromIterator<u32> for Samples {
    fn from_iter<I: IntoIterator<Item = u32>>(micros: I) -> Self {
        Self(micros.into_iter().collect())
    }
}
