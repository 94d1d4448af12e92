//! The overview: key stats over time, recent failures, and webhooks needing attention.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::health::{WARNING_AT, WebhookStatus};
use postrider_domain::key_stats::{Comparison, KeyStat};
use postrider_domain::time::Millis;
use postrider_domain::webhook::Webhook;
use postrider_gateway::GatewayError;
use postrider_gateway::stats::{self, CountedStats, Report, Window};
use postrider_ports::history::Filter;

use super::charts::{self, Bar};
use super::fields::Query;
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::rows::{self, Row};
use super::session::Viewer;
use super::text::{self, Markup, Pill};
use crate::App;

/// Recent failures shown.
const FAILURES: usize = 8;
/// Webhooks needing attention shown.
const MAX_ATTENTION: usize = 20;
/// The default time range.
const DAY: (&str, &str, u64) = ("24h", "24 hours", 86_400);
/// The time ranges to choose from: query parameter, name, seconds.
const WINDOWS: [(&str, &str, u64); 3] = [
    DAY,
    ("7d", "7 days", 604_800),
    ("31d", "31 days", 2_678_400),
];

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    windows: Vec<WindowLink>,
    key_stats: Vec<KeyStatView>,
    delivered: String,
    dead: String,
    failures: Vec<Row>,
    attention: Vec<Attention>,
    more_attention: usize,
    has_webhooks: bool,
}

struct WindowLink {
    word: &'static str,
    name: &'static str,
    is_here: bool,
}

struct KeyStatView {
    name: &'static str,
    meaning: &'static str,
    value: Option<String>,
    threshold: String,
    is_bad: bool,
    chart: Option<Markup>,
}

/// A webhook needing attention.
struct Attention {
    id: String,
    name: String,
    state: Pill,
    reason: String,
    can_resume: bool,
}

pub(super) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let word = fields.get("window").unwrap_or(DAY.0);
    let known = WINDOWS.into_iter().find(|(known, ..)| *known == word);
    let (mut here, _, mut seconds) = known.unwrap_or(DAY);
    let mut report = read(&app, &viewer, seconds).await;
    let mut frame = Frame::new("Overview", Section::Overview, &viewer).live(place);
    if let Err(GatewayError::Invalid(_)) = report {
        // With this many webhooks, a longer range is more than one report may read.
        (here, _, seconds) = DAY;
        frame.status_message =
            Some("Too many webhooks for this time range. Showing the last 24 hours.".to_owned());
        report = read(&app, &viewer, seconds).await;
    }
    let report = report?;
    let webhooks: Vec<_> = report
        .webhooks
        .iter()
        .map(|(webhook, _)| webhook.clone())
        .collect();
    let failures = failures(&app, &viewer).await?;
    let mut attention: Vec<_> = webhooks.iter().filter_map(attention).collect();
    // Stopped webhooks before degraded ones.
    attention.sort_by_key(|one| !one.can_resume);
    let page = OverviewPage {
        frame,
        windows: WINDOWS
            .map(|(word, name, _)| WindowLink {
                word,
                name,
                is_here: word == here,
            })
            .into(),
        key_stats: views(&report),
        delivered: text::count(report.total.tally.delivered),
        dead: text::count(report.total.tally.dead),
        failures: rows::rows(&app, &viewer, &failures, &webhooks).await?,
        more_attention: attention.len().saturating_sub(MAX_ATTENTION),
        attention: attention.into_iter().take(MAX_ATTENTION).collect(),
        has_webhooks: !webhooks.is_empty(),
    };
    Ok(html(StatusCode::OK, &page))
}

async fn read(app: &App, viewer: &Viewer, seconds: u64) -> Result<Report, GatewayError> {
    let ports = &app.gateway.ports;
    let window = Window::last(Millis::from_seconds(seconds), ports.clock.now());
    stats::report(ports, viewer.tenant(), None, window).await
}

fn views(report: &Report) -> Vec<KeyStatView> {
    let bars = charts::bars(&report.hours);
    KeyStat::ALL
        .map(|key_stat| view(key_stat, &report.total, &bars))
        .into()
}

fn view(key_stat: KeyStat, total: &CountedStats, bars: &[Bar]) -> KeyStatView {
    let value = total.value(key_stat);
    let (comparison, threshold) = key_stat.threshold();
    let side = match comparison {
        Comparison::Below => "below",
        Comparison::Above => "above",
    };
    let (name, meaning) = match key_stat {
        KeyStat::SuccessRate => ("Success rate", "of finished deliveries were delivered"),
        KeyStat::P95Latency => ("p95 latency", "from event to delivery, including retries"),
        KeyStat::RetryRate => ("Retry rate", "of finished deliveries needed a retry"),
        KeyStat::FailedCount => ("Failed webhooks", "waiting to be resumed"),
        KeyStat::AvgRetries => (
            "Retries per delivery",
            "attempts beyond the first, on average",
        ),
    };
    KeyStatView {
        name,
        meaning,
        value: value.map(|value| charts::value(key_stat, value)),
        threshold: format!("Alert {side} {}", charts::value(key_stat, threshold)),
        is_bad: value.is_some_and(|value| key_stat.alerts_at(value)),
        chart: (key_stat != KeyStat::FailedCount).then(|| charts::chart(key_stat, bars)),
    }
}

/// The most recent failures, retrying or dead.
async fn failures(app: &App, viewer: &Viewer) -> Result<Vec<Delivery>, PageError> {
    let mut found = Vec::new();
    for status in [Status::Failed, Status::Dead] {
        let filter = Filter {
            status: Some(status),
            ..Filter::default()
        };
        let store = &app.gateway.ports.store;
        found.extend(
            store
                .list(viewer.tenant(), &filter, FAILURES, None)
                .await?
                .items,
        );
    }
    found.sort_by_key(|row| std::cmp::Reverse(row.last_attempted_at.unwrap_or(row.created_at)));
    found.truncate(FAILURES);
    Ok(found)
}

fn attention(webhook: &Webhook) -> Option<Attention> {
    let health = &webhook.health;
    let reason = match health.status {
        WebhookStatus::Failed | WebhookStatus::Disabled => text::reason(health),
        WebhookStatus::Active if health.failure_count >= WARNING_AT => {
            format!("{} failures in a row", health.failure_count)
        }
        WebhookStatus::Active | WebhookStatus::Paused => return None,
    };
    Some(Attention {
        id: webhook.id.to_string(),
        name: webhook.settings.name.clone(),
        state: text::webhook_state(health),
        reason: text::short(&reason, 160),
        can_resume: health.status != WebhookStatus::Active,
    })
}
