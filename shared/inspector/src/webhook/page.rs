//! One webhook: its state, stats, settings, retry schedule and recent deliveries.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::delivery::Status;
use postrider_domain::flow::FlowStatus;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::key_stats::KeyStat;
use postrider_domain::webhook::Webhook;
use postrider_gateway::stats::{self, Window};
use postrider_gateway::webhooks::WebhookBacklog;
use postrider_ports::drains::BacklogSize;
use postrider_ports::history::Filter;

use super::form::written;
use crate::App;
use crate::charts;
use crate::fields::{Named, Query};
use crate::live::Place;
use crate::page::{Frame, PageError, Section, html};
use crate::rows::{self, Row};
use crate::schedule::Schedule;
use crate::session::Viewer;
use crate::text::{self, Markup, Pill};
use crate::webhooks::DAY;
use postrider_api_types::webhook::shown_headers;

/// Deliveries listed.
const RECENT: usize = 10;

#[derive(Template)]
#[template(path = "webhook.html")]
struct WebhookPage {
    frame: Frame,
    id: String,
    name: String,
    url: String,
    event_types: Vec<String>,
    filter: Option<String>,
    template: Option<String>,
    owner_email: Option<String>,
    headers: Vec<(String, String)>,
    timeout: u64,
    retry_rate: u32,
    max_rate: Option<u32>,
    max_in_flight: Option<u32>,
    /// The current rate while it is limited.
    limited_to: Option<f64>,
    /// What is due and may not go yet; empty if nothing is.
    backlog: Option<Markup>,
    auto_resume: bool,
    /// When the next probe of a failed webhook is sent.
    next_probe_at: Option<Markup>,
    state: Pill,
    banner: Option<Banner>,
    /// The most recently failed delivery, with its error.
    last_failure: Option<(String, String)>,
    is_active: bool,
    profile: &'static str,
    schedule: Schedule,
    key_stats: Vec<(&'static str, Option<String>, bool)>,
    recent: Vec<Row>,
    old_secrets: Vec<Markup>,
    created_at: Markup,
    updated_at: Markup,
    /// A new secret; shown only once.
    secret: Option<String>,
}

/// Shown above a webhook that has failures or is stopped.
struct Banner {
    class: &'static str,
    title: &'static str,
    detail: String,
    since: Option<Markup>,
}

/// `outlook` follows the failures of an active webhook.
fn banner(webhook: &Webhook, outlook: &str) -> Option<Banner> {
    let health = &webhook.health;
    let (class, title, detail) = match health.status {
        WebhookStatus::Active if health.is_degraded() => {
            let failures = in_a_row(health.failure_count);
            ("warn", text::RETRYING, format!("{failures}{outlook}"))
        }
        WebhookStatus::Active => return None,
        WebhookStatus::Failed => (
            "bad",
            "Webhook failed (requires manual intervention)",
            text::reason(health),
        ),
        WebhookStatus::Disabled => ("bad", "Webhook disabled", text::reason(health)),
        WebhookStatus::Paused => ("calm", "Webhook paused", text::reason(health)),
    };
    Some(Banner {
        class,
        title,
        detail,
        since: health
            .changed_at
            .filter(|_| class != "warn")
            .map(text::when),
    })
}

fn in_a_row(failures: u32) -> String {
    match failures {
        1 => "The last attempt failed.".to_owned(),
        n => format!("The last {n} attempts failed."),
    }
}

fn waiting(backlog: &WebhookBacklog, status: WebhookStatus) -> Option<Markup> {
    let (count, at_least) = match backlog.size {
        BacklogSize::Exactly(0) => return None,
        BacklogSize::Exactly(1) => ("1 delivery".to_owned(), ""),
        BacklogSize::Exactly(rows) => (format!("{} deliveries", text::count(rows)), ""),
        BacklogSize::MoreThan(rows) => (
            format!("more than {} deliveries", text::count(rows)),
            " at the earliest",
        ),
    };
    let empty = match backlog.empty_at {
        Some(at) => format!(", empty {}{at_least}", text::when(at).0),
        None if status.is_stopped() => ", until the webhook is resumed".to_owned(),
        None => String::new(),
    };
    Some(Markup(format!("{count}{empty}")))
}

async fn page(app: &App, viewer: &Viewer, webhook: Webhook) -> Result<WebhookPage, PageError> {
    let (ports, tenant) = (&app.gateway.ports, viewer.tenant());
    let window = Window::last(DAY, ports.clock.now());
    let report = stats::report(ports, tenant, Some(webhook.id), window).await?;
    let filter = Filter {
        webhook_id: Some(webhook.id),
        ..Filter::default()
    };
    let recent = ports.store.list(tenant, &filter, RECENT, None).await?.items;
    let retrying = Filter {
        status: Some(Status::Failed),
        ..filter
    };
    let retrying = ports.store.list(tenant, &retrying, 1, None).await?.items;
    let outlook = if retrying.is_empty() {
        ""
    } else {
        " Deliveries are being retried."
    };
    let flow = app.gateway.manage.flow(&webhook).await?;
    let backlog = app.gateway.manage.backlog(&webhook, flow).await;
    let rows = rows::rows(app, viewer, &recent, std::slice::from_ref(&webhook)).await?;
    let failed = recent.iter().filter(|row| row.status != Status::Delivered);
    let last = failed
        .filter(|row| row.error_detail.is_some())
        .max_by_key(|row| row.last_attempted_at);
    let settings = &webhook.settings;
    let shown = |key_stat: KeyStat, name| {
        let value = report.total.value(key_stat);
        let is_bad = value.is_some_and(|value| key_stat.alerts_at(value));
        (
            name,
            value.map(|value| charts::value(key_stat, value)),
            is_bad,
        )
    };
    Ok(WebhookPage {
        frame: Frame::new(settings.name.clone(), Section::Webhooks, viewer),
        id: webhook.id.to_string(),
        name: settings.name.clone(),
        url: settings.target_url.to_string(),
        event_types: settings
            .event_types
            .iter()
            .map(ToString::to_string)
            .collect(),
        filter: settings.filter.as_ref().map(written),
        template: settings.template.as_ref().map(|it| it.body().to_owned()),
        owner_email: settings.owner_email.clone(),
        headers: shown_headers(&settings.headers).into_iter().collect(),
        timeout: settings.timeout.get() / 1000,
        retry_rate: settings.retry_rate,
        max_rate: settings.max_rate,
        max_in_flight: settings.max_in_flight,
        limited_to: flow.limited.then(|| FlowStatus::per_second(&flow)),
        backlog: backlog.and_then(|backlog| waiting(&backlog, webhook.health.status)),
        auto_resume: settings.auto_resume,
        next_probe_at: webhook
            .health
            .next_probe_at
            .filter(|_| settings.auto_resume)
            .map(text::when),
        state: text::webhook_state(&webhook.health),
        banner: banner(&webhook, outlook).map(|banner| Banner {
            detail: viewer.shown(banner.detail),
            ..banner
        }),
        last_failure: last.map(|row| {
            let error = viewer.shown(row.error_detail.clone().unwrap_or_default());
            (row.id.to_string(), text::short(&error, 160))
        }),
        is_active: webhook.health.status == WebhookStatus::Active,
        profile: settings.retry.profile.as_str(),
        schedule: Schedule::of(&settings.retry, app.gateway.settings.retry),
        key_stats: vec![
            shown(KeyStat::SuccessRate, "Success rate"),
            shown(KeyStat::P95Latency, "p95 latency"),
            shown(KeyStat::RetryRate, "Retry rate"),
            shown(KeyStat::AvgRetries, "Retries per delivery"),
        ],
        recent: rows,
        old_secrets: webhook
            .secrets
            .retiring
            .iter()
            .map(|old| text::when(old.expires_at))
            .collect(),
        created_at: text::when(webhook.created_at),
        updated_at: text::when(webhook.updated_at),
        secret: None,
    })
}

pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<WebhookId>,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let webhook = app.gateway.manage.get(viewer.tenant(), id).await?;
    let mut page = page(&app, &viewer, webhook).await?;
    page.frame = page.frame.after(&fields).live(place);
    Ok(html(StatusCode::OK, &page))
}

/// The page with a new secret.
pub(super) async fn with_secret(
    app: &App,
    viewer: &Viewer,
    id: WebhookId,
    secret: &str,
    status: StatusCode,
) -> Result<Response, PageError> {
    let webhook = app.gateway.manage.get(viewer.tenant(), id).await?;
    let mut page = page(app, viewer, webhook).await?;
    page.secret = Some(secret.to_owned());
    Ok(html(status, &page))
}
