//! One delivery: its state, why it failed, its attempts, its request and responses.

pub(super) mod shadow;
mod timeline;

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::delivery::{Delivery, Force, Status};
use postrider_domain::flow::WaitingFor;
use postrider_domain::ids::DeliveryId;

use super::fields::{Form, Named, Query};
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::payload::Payload;
use super::rows;
use super::session::{Manager, Viewer};
use super::site::Site;
use super::text::{self, Markup, Pill};
use crate::App;
use postrider_api_types::why::WhyView;
use postrider_presentation::redact::seen_with;
use postrider_presentation::request::Sent;
use postrider_presentation::why;
use shadow::ShadowForm;
use timeline::Step;

#[derive(Template)]
#[template(path = "delivery.html")]
struct DeliveryPage {
    frame: Frame,
    id: String,
    event_id: String,
    event_type: String,
    state: Pill,
    webhook_id: String,
    webhook: Option<String>,
    session: Option<(String, String)>,
    origin: Option<String>,
    attempts: String,
    created_at: Markup,
    last_at: Markup,
    next_at: Markup,
    why: Option<WhyView>,
    steps: Vec<Step>,
    earlier_steps: usize,
    sent: Sent,
    payload: Option<Payload>,
    retry: Retry,
    /// Whether its webhook has to be resumed before it can arrive.
    needs_resume: bool,
    shadow: ShadowForm,
}

#[derive(PartialEq, Eq)]
enum Retry {
    Plain,
    /// It was delivered: a repeat has to be confirmed.
    Again,
    No,
}

const fn retry_of(row: &Delivery) -> Retry {
    match row.status {
        Status::Dead | Status::Failed => Retry::Plain,
        Status::Delivered => Retry::Again,
        Status::Pending => Retry::No,
    }
}

pub(super) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<DeliveryId>,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let (store, tenant) = (&app.gateway.ports.store, viewer.tenant());
    let row = store.delivery(tenant, id).await?;
    let row = row.ok_or_else(|| PageError::not_found("delivery"))?;
    let row = seen_with(viewer.key(), row);
    let event = store.event(tenant, id.event).await?;
    let attempts = store.attempts(tenant, id).await?;
    let webhook = store.webhook(tenant, id.webhook).await?;
    let flow = match &webhook {
        Some(webhook) => Some((webhook, app.gateway.manage.flow(webhook).await?)),
        None => None,
    };
    let now = app.gateway.ports.clock.now();
    let state = flow.map(|(webhook, flow)| (webhook.health.status, flow));
    let waiting_for = WaitingFor::of(&row, state, now);
    let is_stopped = state.is_some_and(|(status, _)| status.is_stopped());
    let (steps, earlier_steps) = timeline::steps(viewer.site(), &attempts);
    let frame = Frame::new(row.event_type.as_str(), Section::Deliveries, &viewer);
    let page = DeliveryPage {
        frame: frame.after(&fields).live(place),
        id: id.to_string(),
        event_id: id.event.to_string(),
        event_type: row.event_type.as_str().to_owned(),
        state: text::delivery_state(&row, waiting_for),
        webhook_id: id.webhook.to_string(),
        webhook: webhook
            .as_ref()
            .map(|webhook| webhook.settings.name.clone()),
        session: row
            .session_id
            .as_ref()
            .map(|label| rows::session(viewer.site(), label)),
        origin: event
            .as_ref()
            .filter(|_| viewer.site() == Site::Inspector)
            .map(|event| event.origin.to_string()),
        attempts: format!("{} of {}", row.attempt_count, row.max_attempts),
        created_at: text::when(row.created_at),
        last_at: text::when_or_never(row.last_attempted_at),
        next_at: text::next_attempt(&row, waiting_for),
        why: why::explain(&row, attempts.last(), flow, now).map(|why| match viewer.site() {
            Site::Inspector => why,
            Site::Portal => why::for_customers(why),
        }),
        steps,
        earlier_steps,
        sent: Sent::of(&row, event.as_deref(), webhook.as_ref()),
        payload: event
            .as_deref()
            .map(|event| Payload::of(event, fields.get("view") == Some("raw"))),
        retry: retry_of(&row),
        needs_resume: is_stopped && row.status != Status::Delivered,
        shadow: ShadowForm::default(),
    };
    Ok(html(StatusCode::OK, &page))
}

pub(super) async fn retry(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<DeliveryId>,
    Form(fields): Form,
) -> Result<Redirect, PageError> {
    let force = match fields.get("force") {
        Some("delivered") => Force::Delivered,
        _ => Force::No,
    };
    let retries = &app.gateway.retries;
    retries.retry_now(viewer.tenant(), id, force).await?;
    let webhook = app.gateway.manage.get(viewer.tenant(), id.webhook).await?;
    let done = if webhook.health.status.is_stopped() {
        "held"
    } else {
        "retried"
    };
    Ok(viewer.redirect(&format!("/deliveries/{id}?done={done}")))
}
