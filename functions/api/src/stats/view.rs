//! Figures as they are shown.

use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::key_stats::{Comparison, KeyStat, StatTotals};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_gateway::stats::{CountedStats, Report};
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::words;
use crate::views::Time;

/// How the webhooks did over whole hours.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stats)]
pub(crate) struct StatsView {
    /// The start of the first hour.
    from: Time,
    /// The end of the last hour.
    to: Time,
    /// In all, webhooks that are deleted by now included.
    total: KeyStatsView,
    /// For each webhook there is, the oldest first.
    webhooks: Vec<WebhookStatsView>,
    /// In all, for each hour, the first one first.
    hours: Vec<HourView>,
}

/// The five figures, and the counters that they come from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyStats)]
pub(crate) struct KeyStatsView {
    /// Percentage of finished deliveries that arrived.
    webhook_delivery_success_rate: KeyStatView,
    /// Seconds from event to delivered, retries included, 95th percentile: interpolated within a bucket of a histogram.
    webhook_delivery_p95_latency: KeyStatView,
    /// Percentage of finished deliveries that needed more than one attempt.
    webhook_retry_rate: KeyStatView,
    /// Webhooks in state failed now.
    webhook_failed_count: KeyStatView,
    /// Attempts beyond the first for each finished delivery.
    webhook_avg_retries_per_delivery: KeyStatView,
    #[serde(flatten)]
    counters: CountersView,
}

/// A figure, and whether it is one to alert on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyStat)]
pub(crate) struct KeyStatView {
    /// `null` when nothing happened that it could tell of.
    #[schema(required)]
    value: Option<f64>,
    threshold: f64,
    /// On which side of the threshold it is bad.
    #[schema(schema_with = comparisons)]
    comparison: &'static str,
    /// Whether it is bad.
    alerting: bool,
}

fn comparisons() -> utoipa::openapi::Object {
    words(Comparison::ALL.map(Comparison::as_str))
}

/// What was counted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Counters)]
pub(crate) struct CountersView {
    /// Deliveries that arrived.
    delivered: u64,
    /// Deliveries given up.
    dead: u64,
    /// Attempts made.
    attempts: u64,
    /// Finished deliveries that needed more than one attempt.
    retried: u64,
    /// Attempts beyond the first, over finished deliveries.
    retries: u64,
}

/// The figures of one webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookFigures)]
pub(crate) struct WebhookStatsView {
    #[schema(value_type = String)]
    id: WebhookId,
    name: String,
    #[schema(schema_with = statuses)]
    status: WebhookStatus,
    #[serde(flatten)]
    key_stats: KeyStatsView,
}

fn statuses() -> utoipa::openapi::Object {
    words(WebhookStatus::ALL.map(WebhookStatus::as_str))
}

/// One hour: the values alone, `null` when nothing happened.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HourFigures)]
pub(crate) struct HourView {
    /// Its start.
    hour: Time,
    #[schema(required)]
    webhook_delivery_success_rate: Option<f64>,
    #[schema(required)]
    webhook_delivery_p95_latency: Option<f64>,
    #[schema(required)]
    webhook_retry_rate: Option<f64>,
    #[schema(required)]
    webhook_avg_retries_per_delivery: Option<f64>,
    #[serde(flatten)]
    counters: CountersView,
}

impl StatsView {
    pub(super) fn of(report: &Report) -> Self {
        let webhooks = report.webhooks.iter();
        let hours = report.hours.iter();
        Self {
            from: Time(report.window.from),
            to: Time(report.window.to),
            total: KeyStatsView::of(&report.total),
            webhooks: webhooks
                .map(|(webhook, counted)| WebhookStatsView::of(webhook, counted))
                .collect(),
            hours: hours
                .map(|(hour, tally)| HourView::of(*hour, tally))
                .collect(),
        }
    }
}

impl KeyStatsView {
    fn of(counted: &CountedStats) -> Self {
        let view = |key_stat: KeyStat| KeyStatView::of(key_stat, counted);
        Self {
            webhook_delivery_success_rate: view(KeyStat::SuccessRate),
            webhook_delivery_p95_latency: view(KeyStat::P95Latency),
            webhook_retry_rate: view(KeyStat::RetryRate),
            webhook_failed_count: view(KeyStat::FailedCount),
            webhook_avg_retries_per_delivery: view(KeyStat::AvgRetries),
            counters: CountersView::of(&counted.tally),
        }
    }
}

impl KeyStatView {
    fn of(key_stat: KeyStat, counted: &CountedStats) -> Self {
        let value = counted.value(key_stat);
        let (comparison, threshold) = key_stat.threshold();
        Self {
            value,
            threshold,
            comparison: comparison.as_str(),
            alerting: value.is_some_and(|value| key_stat.alerts_at(value)),
        }
    }
}

impl CountersView {
    const fn of(tally: &StatTotals) -> Self {
        Self {
            delivered: tally.delivered,
            dead: tally.dead,
            attempts: tally.attempts,
            retried: tally.retried,
            retries: tally.retries,
        }
    }
}

impl WebhookStatsView {
    fn of(webhook: &Webhook, counted: &CountedStats) -> Self {
        Self {
            id: webhook.id,
            name: webhook.settings.name.clone(),
            status: webhook.health.status,
            key_stats: KeyStatsView::of(counted),
        }
    }
}

impl HourView {
    fn of(hour: Timestamp, tally: &StatTotals) -> Self {
        let value = |key_stat: KeyStat| key_stat.value(tally, 0);
        Self {
            hour: Time(hour),
            webhook_delivery_success_rate: value(KeyStat::SuccessRate),
            webhook_delivery_p95_latency: value(KeyStat::P95Latency),
            webhook_retry_rate: value(KeyStat::RetryRate),
            webhook_avg_retries_per_delivery: value(KeyStat::AvgRetries),
            counters: CountersView::of(tally),
        }
    }
}
