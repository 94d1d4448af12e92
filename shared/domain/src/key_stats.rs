//! ADR-0040's five key stats, computed from the counters of a period.

mod finished;

use crate::stats::LATENCY_BOUNDS_MS;

pub use finished::Finished;

/// One bucket per bound, and one beyond the last.
const BUCKETS: usize = LATENCY_BOUNDS_MS.len() + 1;

/// The counters of a period, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatTotals {
    pub delivered: u64,
    pub dead: u64,
    pub attempts: u64,
    /// Finished deliveries that needed more than one attempt.
    pub retried: u64,
    /// Attempts beyond the first, of finished deliveries.
    pub retries: u64,
    /// Deliveries per bucket of [`LATENCY_BOUNDS_MS`], and beyond the last bound.
    pub latency: [u64; BUCKETS],
}

impl StatTotals {
    pub fn add(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.dead += other.dead;
        self.attempts += other.attempts;
        self.retried += other.retried;
        self.retries += other.retries;
        for (sum, count) in self.latency.iter_mut().zip(other.latency) {
            *sum += count;
        }
    }

    /// Delivered or dead.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.delivered + self.dead
    }

    /// Interpolates linearly within a bucket, as Prometheus' `histogram_quantile` does; beyond the last bound the
    /// result is that bound. The alert's 10 s are a bound, so interpolation never decides whether the alert fires.
    fn p95_latency_seconds(&self) -> Option<f64> {
        let delivered: u64 = self.latency.iter().sum();
        let rank = as_f64(delivered * 19) / 20.0;
        let mut before = 0;
        let mut lower = 0;
        for (count, upper) in self.latency.into_iter().zip(LATENCY_BOUNDS_MS) {
            if count > 0 && as_f64(before + count) >= rank {
                let into_bucket = (rank - as_f64(before)) / as_f64(count);
                let ms = as_f64(lower) + as_f64(upper - lower) * into_bucket;
                return Some(ms / 1000.0);
            }
            before += count;
            lower = upper;
        }
        (delivered > 0).then(|| as_f64(lower) / 1000.0)
    }

    fn per_finished(&self, part: u64, scale: f64) -> Option<f64> {
        (self.finished() > 0).then(|| scale * as_f64(part) / as_f64(self.finished()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStat {
    /// Percentage of finished deliveries that were delivered, after retries or at once.
    SuccessRate,
    /// Seconds from event to delivery including retries, 95th percentile.
    P95Latency,
    /// Percentage of finished deliveries that needed more than one attempt.
    RetryRate,
    /// Webhooks whose status is `failed` now.
    FailedCount,
    /// Attempts beyond the first per finished delivery.
    AvgRetries,
}

/// On which side of the threshold a value is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Below,
    Above,
}

impl Comparison {
    pub const ALL: [Self; 2] = [Self::Below, Self::Above];

    /// The name used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::Above => "above",
        }
    }
}

impl KeyStat {
    pub const ALL: [Self; 5] = [
        Self::SuccessRate,
        Self::P95Latency,
        Self::RetryRate,
        Self::FailedCount,
        Self::AvgRetries,
    ];

    /// ADR-0040's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SuccessRate => "webhook_delivery_success_rate",
            Self::P95Latency => "webhook_delivery_p95_latency",
            Self::RetryRate => "webhook_retry_rate",
            Self::FailedCount => "webhook_failed_count",
            Self::AvgRetries => "webhook_avg_retries_per_delivery",
        }
    }

    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::SuccessRate => "Percentage of finished deliveries that were delivered",
            Self::P95Latency => "Seconds from event to delivery including retries, 95th percentile",
            Self::RetryRate => {
                "Percentage of finished deliveries that needed more than one attempt"
            }
            Self::FailedCount => "Webhooks whose status is failed now",
            Self::AvgRetries => "Attempts beyond the first per finished delivery",
        }
    }

    /// ADR-0040's alert threshold.
    #[must_use]
    pub const fn threshold(self) -> (Comparison, f64) {
        match self {
            Self::SuccessRate => (Comparison::Below, 95.0),
            Self::P95Latency => (Comparison::Above, 10.0),
            Self::RetryRate => (Comparison::Above, 20.0),
            Self::FailedCount => (Comparison::Above, 10.0),
            Self::AvgRetries => (Comparison::Above, 1.5),
        }
    }

    #[must_use]
    pub fn alerts_at(self, value: f64) -> bool {
        match self.threshold() {
            (Comparison::Below, threshold) => value < threshold,
            (Comparison::Above, threshold) => value > threshold,
        }
    }

    /// `None` if there is no data.
    #[must_use]
    pub fn value(self, totals: &StatTotals, failed_webhooks: u64) -> Option<f64> {
        match self {
            Self::SuccessRate => totals.per_finished(totals.delivered, 100.0),
            Self::P95Latency => totals.p95_latency_seconds(),
            Self::RetryRate => totals.per_finished(totals.retried, 100.0),
            Self::FailedCount => Some(as_f64(failed_webhooks)),
            Self::AvgRetries => totals.per_finished(totals.retries, 1.0),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts stay below 2^53, and the result is a ratio for display"
)]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
