//! The five figures by which ADR-0040 watches webhooks, from the counters of a stretch of time.

mod finished;

use crate::stats::LATENCY_BOUNDS_MS;

pub use finished::Finished;

/// Buckets of the latency histogram: one for each bound, and one beyond the last.
const BUCKETS: usize = LATENCY_BOUNDS_MS.len() + 1;

/// What was counted in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatTotals {
    /// Deliveries that arrived.
    pub delivered: u64,
    /// Deliveries given up.
    pub dead: u64,
    /// Attempts made.
    pub attempts: u64,
    /// Finished deliveries that needed more than one attempt.
    pub retried: u64,
    /// Attempts beyond the first, over finished deliveries.
    pub retries: u64,
    /// How many arrived within each of [`LATENCY_BOUNDS_MS`], and beyond the last.
    pub latency: [u64; BUCKETS],
}

impl StatTotals {
    /// Adds what was counted elsewhere.
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

    /// Deliveries that arrived or were given up.
    #[must_use]
    pub const fn finished(&self) -> u64 {
        self.delivered + self.dead
    }

    /// The time within which 95 % of what arrived did so, in seconds. Within a bucket times are taken to be spread
    /// evenly, as Prometheus' `histogram_quantile` does; beyond the last bound there is only that bound to tell. The
    /// 10 s of the alert are a bound, so whether it is exceeded does not depend on that.
    fn p95_latency_seconds(&self) -> Option<f64> {
        let arrived: u64 = self.latency.iter().sum();
        let rank = as_f64(arrived * 19) / 20.0;
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
        (arrived > 0).then(|| as_f64(lower) / 1000.0)
    }

    /// A part of the finished deliveries, times `scale`.
    fn per_finished(&self, part: u64, scale: f64) -> Option<f64> {
        (self.finished() > 0).then(|| scale * as_f64(part) / as_f64(self.finished()))
    }
}

/// One of the five, under ADR-0040's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStat {
    /// Percentage of finished deliveries that arrived, after retries or at once.
    SuccessRate,
    /// Seconds from event to delivered, retries included, for all but the slowest 5 %.
    P95Latency,
    /// Percentage of finished deliveries that needed more than one attempt.
    RetryRate,
    /// Webhooks that are failed now.
    FailedCount,
    /// Attempts beyond the first for each finished delivery.
    AvgRetries,
}

/// On which side of its threshold a figure is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Below it.
    Below,
    /// Above it.
    Above,
}

impl Comparison {
    /// Both.
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
    /// All five.
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

    /// What it says, in a line.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::SuccessRate => "Percentage of finished deliveries that arrived",
            Self::P95Latency => {
                "Seconds from event to delivered, retries included, 95th percentile"
            }
            Self::RetryRate => {
                "Percentage of finished deliveries that needed more than one attempt"
            }
            Self::FailedCount => "Webhooks in state failed now",
            Self::AvgRetries => "Attempts beyond the first for each finished delivery",
        }
    }

    /// Where ADR-0040 alerts.
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

    /// Whether this value is one to alert on.
    #[must_use]
    pub fn alerts_at(self, value: f64) -> bool {
        match self.threshold() {
            (Comparison::Below, threshold) => value < threshold,
            (Comparison::Above, threshold) => value > threshold,
        }
    }

    /// Its value; none when nothing happened that it could tell of.
    #[must_use]
    pub fn value(self, tally: &StatTotals, failed_webhooks: u64) -> Option<f64> {
        match self {
            Self::SuccessRate => tally.per_finished(tally.delivered, 100.0),
            Self::P95Latency => tally.p95_latency_seconds(),
            Self::RetryRate => tally.per_finished(tally.retried, 100.0),
            Self::FailedCount => Some(as_f64(failed_webhooks)),
            Self::AvgRetries => tally.per_finished(tally.retries, 1.0),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 do not happen, and these are ratios for people"
)]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
