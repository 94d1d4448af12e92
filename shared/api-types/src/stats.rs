//! Key stats over whole hours.

use postrider_domain::health::WebhookStatus;
use postrider_domain::key_stats::{Comparison, KeyStat, StatTotals};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters;
use crate::schema;
use crate::time::ApiTime;
use crate::word::Word;

parameters! {
    /// Which webhooks and hours to report.
    pub struct StatsParameters as "StatsParameters" {
        /// Start at this RFC 3339 time.
        from: ApiTime,
        /// End before this RFC 3339 time; now by default.
        to: ApiTime,
        /// How far back from `to`, such as `24h` or `7d`: 1 hour to 31 days, 24 hours by default. Not with `from`.
        window: schema::Window,
        /// Only this webhook.
        webhook_id: schema::WebhookId,
    }
}

/// Key stats over whole hours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Stats)]
pub struct StatsView {
    /// The start of the first hour.
    pub from: ApiTime,
    /// The end of the last hour.
    pub to: ApiTime,
    /// The total, including webhooks that have been deleted.
    pub total: KeyStatsView,
    /// Per webhook, oldest first.
    pub webhooks: Vec<WebhookStatsView>,
    /// The total per hour, oldest first.
    #[serde(default)]
    #[schema(required)]
    pub hours: Vec<HourStatsView>,
}

/// The five key stats, and the counters behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = KeyStats)]
pub struct KeyStatsView {
    /// The percentage of finished deliveries that arrived.
    pub webhook_delivery_success_rate: KeyStatView,
    /// Seconds from event to delivered, retries included, 95th percentile: interpolated within a histogram bucket.
    pub webhook_delivery_p95_latency: KeyStatView,
    /// The percentage of finished deliveries that needed more than one attempt.
    pub webhook_retry_rate: KeyStatView,
    /// Webhooks that are currently in status failed.
    pub webhook_failed_count: KeyStatView,
    /// Attempts beyond the first per finished delivery.
    pub webhook_avg_retries_per_delivery: KeyStatView,
    #[serde(flatten)]
    pub counters: CountersView,
}

impl KeyStatsView {
    /// The key stats of these counters; `failed_webhooks` is how many of the webhooks are failed now.
    #[must_use]
    pub fn of(totals: &StatTotals, failed_webhooks: u64) -> Self {
        let view = |key_stat: KeyStat| KeyStatView::of(key_stat, totals, failed_webhooks);
        Self {
            webhook_delivery_success_rate: view(KeyStat::SuccessRate),
            webhook_delivery_p95_latency: view(KeyStat::P95Latency),
            webhook_retry_rate: view(KeyStat::RetryRate),
            webhook_failed_count: view(KeyStat::FailedCount),
            webhook_avg_retries_per_delivery: view(KeyStat::AvgRetries),
            counters: totals.into(),
        }
    }
}

/// A key stat, and whether it needs attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = KeyStat)]
pub struct KeyStatView {
    /// `null` if there is nothing to compute it from.
    #[schema(required)]
    pub value: Option<f64>,
    pub threshold: f64,
    /// On which side of the threshold it is bad.
    #[schema(value_type = schema::Comparison)]
    pub comparison: Word<Comparison>,
    /// Whether it is beyond the threshold.
    pub alerting: bool,
}

impl KeyStatView {
    fn of(key_stat: KeyStat, totals: &StatTotals, failed_webhooks: u64) -> Self {
        let value = key_stat.value(totals, failed_webhooks);
        let (comparison, threshold) = key_stat.threshold();
        Self {
            value,
            threshold,
            comparison: comparison.into(),
            alerting: value.is_some_and(|value| key_stat.alerts_at(value)),
        }
    }
}

/// The counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Counters)]
pub struct CountersView {
    /// Deliveries that arrived.
    pub delivered: u64,
    /// Deliveries that became dead.
    pub dead: u64,
    /// Attempts.
    pub attempts: u64,
    /// Finished deliveries that needed more than one attempt.
    #[serde(default)]
    #[schema(required)]
    pub retried: u64,
    /// Attempts beyond the first, over finished deliveries.
    #[serde(default)]
    #[schema(required)]
    pub retries: u64,
}

impl From<&StatTotals> for CountersView {
    fn from(totals: &StatTotals) -> Self {
        Self {
            delivered: totals.delivered,
            dead: totals.dead,
            attempts: totals.attempts,
            retried: totals.retried,
            retries: totals.retries,
        }
    }
}

/// The key stats of one webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = WebhookStats)]
pub struct WebhookStatsView {
    #[schema(value_type = schema::WebhookId)]
    pub id: String,
    pub name: String,
    #[schema(value_type = schema::WebhookStatus)]
    pub status: Word<WebhookStatus>,
    #[serde(flatten)]
    pub key_stats: KeyStatsView,
}

/// One hour: only the values, `null` if there is nothing to compute them from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = HourStats)]
pub struct HourStatsView {
    /// The start of the hour.
    pub hour: ApiTime,
    #[schema(required)]
    pub webhook_delivery_success_rate: Option<f64>,
    #[schema(required)]
    pub webhook_delivery_p95_latency: Option<f64>,
    #[schema(required)]
    pub webhook_retry_rate: Option<f64>,
    #[schema(required)]
    pub webhook_avg_retries_per_delivery: Option<f64>,
    #[serde(flatten)]
    pub counters: CountersView,
}

impl HourStatsView {
    #[must_use]
    pub fn of(hour: Timestamp, totals: &StatTotals) -> Self {
        let value = |key_stat: KeyStat| key_stat.value(totals, 0);
        Self {
            hour: ApiTime(hour),
            webhook_delivery_success_rate: value(KeyStat::SuccessRate),
            webhook_delivery_p95_latency: value(KeyStat::P95Latency),
            webhook_retry_rate: value(KeyStat::RetryRate),
            webhook_avg_retries_per_delivery: value(KeyStat::AvgRetries),
            counters: totals.into(),
        }
    }
}
