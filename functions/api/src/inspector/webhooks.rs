//! Webhooks: how each stands, and setting one going, pausing, testing, a new secret.

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::delivery::Status;
use postrider_domain::figures::Figure;
use postrider_domain::health::{WARNING_AT, WebhookStatus};
use postrider_domain::ids::WebhookId;
use postrider_domain::time::Millis;
use postrider_domain::webhook::Webhook;
use postrider_gateway::figures::{self, Counted, Window};
use postrider_ports::history::Filter;

use super::charts;
use super::fields::{Asked, Named};
use super::live::Place;
use super::page::{Frame, Section, Trouble, html};
use super::rows::{self, Row};
use super::schedule::Schedule;
use super::session::{Manager, Viewer};
use super::text::{self, Markup, Pill};
use crate::{Api, webhooks};

/// The figures shown beside a webhook are of the last day.
const DAY: Millis = Millis::from_seconds(86_400);
/// How many of its deliveries are listed.
const RECENT: usize = 10;

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    webhooks: Vec<WebhookLine>,
}

struct WebhookLine {
    id: String,
    name: String,
    url: String,
    event_types: String,
    state: Pill,
    note: Option<String>,
    success: Option<String>,
    success_is_bad: bool,
    delivered: String,
    dead: u64,
}

#[derive(Template)]
#[template(path = "webhook.html")]
struct WebhookPage {
    frame: Frame,
    id: String,
    name: String,
    url: String,
    event_types: Vec<String>,
    owner_email: Option<String>,
    headers: Vec<(String, String)>,
    timeout: u64,
    retry_rate: u32,
    auto_resume: bool,
    /// When it is tested next, while it is failed.
    next_test_at: Option<Markup>,
    state: Pill,
    banner: Option<Banner>,
    /// The last of its recent deliveries that failed, and with what.
    last_failure: Option<(String, String)>,
    is_active: bool,
    profile: &'static str,
    schedule: Schedule,
    figures: Vec<(&'static str, Option<String>, bool)>,
    recent: Vec<Row>,
    old_secrets: Vec<Markup>,
    created_at: Markup,
    updated_at: Markup,
    /// A secret that was just made, shown this once.
    secret: Option<String>,
}

/// What stands above a webhook that is in trouble.
struct Banner {
    class: &'static str,
    title: &'static str,
    detail: String,
    since: Option<Markup>,
}

fn banner(webhook: &Webhook) -> Option<Banner> {
    let health = &webhook.health;
    let reason = || health.reason.clone().unwrap_or_default();
    let (class, title, detail) = match health.status {
        WebhookStatus::Active if health.failure_count >= WARNING_AT => (
            "warn",
            "Recent delivery failures (retrying)",
            format!(
                "{} attempts in a row have failed. Deliveries go on being retried.",
                health.failure_count
            ),
        ),
        WebhookStatus::Active => return None,
        WebhookStatus::Failed => (
            "bad",
            "Webhook failed (requires manual intervention)",
            reason(),
        ),
        WebhookStatus::Disabled => ("bad", "Webhook disabled", reason()),
        WebhookStatus::Paused => ("calm", "Webhook paused", reason()),
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

/// What a line of the table says beside the state.
fn note(webhook: &Webhook) -> Option<String> {
    let health = &webhook.health;
    match health.status {
        WebhookStatus::Active if health.failure_count > 0 => {
            Some("Recent delivery failures (retrying)".to_owned())
        }
        WebhookStatus::Active => None,
        WebhookStatus::Failed | WebhookStatus::Paused | WebhookStatus::Disabled => health
            .reason
            .as_deref()
            .map(|reason| text::short(reason, 120)),
    }
}

fn line((webhook, counted): &(Webhook, Counted)) -> WebhookLine {
    let success = counted.value(Figure::SuccessRate);
    let types: Vec<_> = webhook
        .settings
        .event_types
        .iter()
        .map(ToString::to_string)
        .collect();
    WebhookLine {
        id: webhook.id.to_string(),
        name: webhook.settings.name.clone(),
        url: text::short(webhook.settings.target_url.as_str(), 80),
        event_types: text::short(&types.join(", "), 60),
        state: text::webhook_state(&webhook.health),
        note: note(webhook),
        success: success.map(|value| charts::value(Figure::SuccessRate, value)),
        success_is_bad: success.is_some_and(|value| Figure::SuccessRate.alerts_at(value)),
        delivered: text::count(counted.tally.delivered),
        dead: counted.tally.dead,
    }
}

/// All webhooks, those in trouble first.
pub(super) async fn list(
    State(api): State<Api>,
    viewer: Viewer,
    place: Place,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let ports = &api.gateway.ports;
    let window = Window::last(DAY, ports.clock.now());
    let mut report = figures::report(ports, viewer.tenant(), None, window).await?;
    report
        .webhooks
        .sort_by_key(|(webhook, _)| match webhook.health.status {
            WebhookStatus::Failed | WebhookStatus::Disabled => 0,
            WebhookStatus::Active if webhook.health.failure_count > 0 => 1,
            WebhookStatus::Paused => 2,
            WebhookStatus::Active => 3,
        });
    let page = WebhooksPage {
        frame: Frame::new("Webhooks", Section::Webhooks, &viewer)
            .after(&fields)
            .live(place),
        webhooks: report.webhooks.iter().map(line).collect(),
    };
    Ok(html(StatusCode::OK, &page))
}

async fn page(api: &Api, viewer: &Viewer, webhook: Webhook) -> Result<WebhookPage, Trouble> {
    let (ports, tenant) = (&api.gateway.ports, viewer.tenant());
    let window = Window::last(DAY, ports.clock.now());
    let report = figures::report(ports, tenant, Some(webhook.id), window).await?;
    let filter = Filter {
        webhook_id: Some(webhook.id),
        ..Filter::default()
    };
    let recent = ports.store.list(tenant, &filter, RECENT, None).await?.items;
    let failed = recent.iter().filter(|row| row.status != Status::Delivered);
    let last = failed
        .filter(|row| row.error_detail.is_some())
        .max_by_key(|row| row.last_attempted_at);
    let settings = &webhook.settings;
    let shown = |figure: Figure, name| {
        let value = report.total.value(figure);
        let is_bad = value.is_some_and(|value| figure.alerts_at(value));
        (
            name,
            value.map(|value| charts::value(figure, value)),
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
        owner_email: settings.owner_email.clone(),
        headers: webhooks::shown_headers(&settings.headers)
            .into_iter()
            .collect(),
        timeout: settings.timeout.get() / 1000,
        retry_rate: settings.retry_rate,
        auto_resume: settings.auto_resume,
        next_test_at: webhook
            .health
            .next_test_at
            .filter(|_| settings.auto_resume)
            .map(text::when),
        state: text::webhook_state(&webhook.health),
        banner: banner(&webhook),
        last_failure: last.map(|row| {
            let error = row.error_detail.as_deref().unwrap_or_default();
            (row.id.to_string(), text::short(error, 160))
        }),
        is_active: webhook.health.status == WebhookStatus::Active,
        profile: settings.retry.profile.as_str(),
        schedule: Schedule::of(&settings.retry, api.gateway.settings.retry),
        figures: vec![
            shown(Figure::SuccessRate, "Success rate"),
            shown(Figure::P95Latency, "Latency, p95"),
            shown(Figure::RetryRate, "Retry rate"),
            shown(Figure::AvgRetries, "Retries per delivery"),
        ],
        recent: rows::rows(&recent, std::slice::from_ref(&webhook)),
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

/// One webhook.
pub(super) async fn show(
    State(api): State<Api>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<WebhookId>,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let webhook = api.gateway.manage.get(viewer.tenant(), id).await?;
    let mut page = page(&api, &viewer, webhook).await?;
    page.frame = page.frame.after(&fields).live(place);
    Ok(html(StatusCode::OK, &page))
}

/// A page that shows a fresh secret, this once.
pub(super) async fn with_secret(
    api: &Api,
    viewer: &Viewer,
    id: WebhookId,
    secret: &str,
    status: StatusCode,
) -> Result<Response, Trouble> {
    let webhook = api.gateway.manage.get(viewer.tenant(), id).await?;
    let mut page = page(api, viewer, webhook).await?;
    page.secret = Some(secret.to_owned());
    Ok(html(status, &page))
}

fn back(id: WebhookId, done: &str) -> Redirect {
    Redirect::to(&format!("/inspector/webhooks/{id}?done={done}"))
}

/// Holds deliveries back.
pub(super) async fn pause(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, Trouble> {
    api.gateway.manage.pause(viewer.tenant(), id).await?;
    Ok(back(id, "paused"))
}

/// Sets it going again.
pub(super) async fn resume(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, Trouble> {
    api.gateway.manage.resume(viewer.tenant(), id).await?;
    Ok(back(id, "resumed"))
}

/// Draws a new secret and shows it.
pub(super) async fn rotate(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Response, Trouble> {
    let rotated = api
        .gateway
        .manage
        .rotate_secret(viewer.tenant(), id, None)
        .await?;
    with_secret(&api, &viewer, id, rotated.secret.expose(), StatusCode::OK).await
}

/// Removes it; what is still open of it dies.
pub(super) async fn delete(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, Trouble> {
    api.gateway.manage.delete(viewer.tenant(), id).await?;
    Ok(Redirect::to("/inspector/webhooks?done=webhook-deleted"))
}

/// Sends a test event, and shows what becomes of it.
pub(super) async fn test(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, Trouble> {
    let published = webhooks::send_test(&api, viewer.tenant(), id).await?;
    let delivery = published.deliveries.first();
    let delivery = delivery.ok_or_else(|| Trouble::not_found("delivery"))?;
    Ok(Redirect::to(&format!("/inspector/deliveries/{delivery}")))
}
