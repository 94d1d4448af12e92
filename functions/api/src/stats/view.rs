//! Figures as they are shown.

use postrider_domain::figures::{Comparison, Figure, Tally};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_gateway::figures::{Counted, Report};
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
    total: FiguresView,
    /// For each webhook there is, the oldest first.
    webhooks: Vec<WebhookFiguresView>,
    /// In all, for each hour, the first one first.
    hours: Vec<HourView>,
}

/// The five figures, and the counters that they come from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Figures)]
pub(crate) struct FiguresView {
    /// Percentage of finished deliveries that arrived.
    webhook_delivery_success_rate: FigureView,
    /// Seconds from event to delivered, retries included, 95th percentile: interpolated within a bucket of a histogram.
    webhook_delivery_p95_latency: FigureView,
    /// Percentage of finished deliveries that needed more than one attempt.
    webhook_retry_rate: FigureView,
    /// Webhooks in state failed now.
    webhook_failed_count: FigureView,
    /// Attempts beyond the first for each finished delivery.
    webhook_avg_retries_per_delivery: FigureView,
    #[serde(flatten)]
    counters: CountersView,
}

/// A figure, and whether it is one to alert on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Figure)]
pub(crate) struct FigureView {
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
pub(crate) struct WebhookFiguresView {
    #[schema(value_type = String)]
    id: WebhookId,
    name: String,
    #[schema(schema_with = statuses)]
    status: WebhookStatus,
    #[serde(flatten)]
    figures: FiguresView,
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
            total: FiguresView::of(&report.total),
            webhooks: webhooks
                .map(|(webhook, counted)| WebhookFiguresView::of(webhook, counted))
                .collect(),
            hours: hours
                .map(|(hour, tally)| HourView::of(*hour, tally))
                .collect(),
        }
    }
}

impl FiguresView {
    fn of(counted: &Counted) -> Self {
        let view = |figure: Figure| FigureView::of(figure, counted);
        Self {
            webhook_delivery_success_rate: view(Figure::SuccessRate),
            webhook_delivery_p95_latency: view(Figure::P95Latency),
            webhook_retry_rate: view(Figure::RetryRate),
            webhook_failed_count: view(Figure::FailedCount),
            webhook_avg_retries_per_delivery: view(Figure::AvgRetries),
            counters: CountersView::of(&counted.tally),
        }
    }
}

impl FigureView {
    fn of(figure: Figure, counted: &Counted) -> Self {
        let value = counted.value(figure);
        let (comparison, threshold) = figure.threshold();
        Self {
            value,
            threshold,
            comparison: comparison.as_str(),
            alerting: value.is_some_and(|value| figure.alerts_at(value)),
        }
    }
}

impl CountersView {
    const fn of(tally: &Tally) -> Self {
        Self {
            delivered: tally.delivered,
            dead: tally.dead,
            attempts: tally.attempts,
            retried: tally.retried,
            retries: tally.retries,
        }
    }
}

impl WebhookFiguresView {
    fn of(webhook: &Webhook, counted: &Counted) -> Self {
        Self {
            id: webhook.id,
            name: webhook.settings.name.clone(),
            status: webhook.health.status,
            figures: FiguresView::of(counted),
        }
    }
}

impl HourView {
    fn of(hour: Timestamp, tally: &Tally) -> Self {
        let value = |figure: Figure| figure.value(tally, 0);
        Self {
            hour: Time(hour),
            webhook_delivery_success_rate: value(Figure::SuccessRate),
            webhook_delivery_p95_latency: value(Figure::P95Latency),
            webhook_retry_rate: value(Figure::RetryRate),
            webhook_avg_retries_per_delivery: value(Figure::AvgRetries),
            counters: CountersView::of(tally),
        }
    }
}
