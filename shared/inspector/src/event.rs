//! One event and its deliveries, delivering it to another webhook, and erasing it.

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::delivery::Delivery;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{EventId, WebhookId};
use postrider_domain::json_schema::PayloadFault;
use postrider_domain::webhook::Webhook;

use super::catalogue;
use super::fields::{Fields, Form, Named, Query};
use super::filter::MAX_CHOICES;
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::payload::Payload;
use super::rows::{self, Row};
use super::session::{Manager, Viewer};
use super::site::Site;
use super::text::{self, Markup};
use crate::App;

#[derive(Template)]
#[template(path = "event.html")]
struct EventPage {
    frame: Frame,
    id: String,
    event_type: String,
    session: Option<(String, String)>,
    /// Where it came from; customers do not see it.
    origin: Option<String>,
    accepted_at: Markup,
    /// Whether this site can erase it.
    can_be_erased: bool,
    deliveries: Vec<Row>,
    /// Webhooks that did not get it, by id and name.
    others: Vec<(String, String)>,
    payload: Payload,
    /// The page of its type, if the catalogue has it.
    type_path: Option<String>,
    /// What does not match the schema of its type as it is now; only operators can do something about it.
    faults: Vec<PayloadFault>,
}

impl EventPage {
    fn is_inbound(&self) -> bool {
        let origin = self.origin.as_deref();
        origin.is_some_and(|origin| origin.starts_with("src_"))
    }
}

pub(super) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<EventId>,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let (store, tenant) = (&app.gateway.ports.store, viewer.tenant());
    let event = store.event(tenant, id).await?;
    let Some(event) = event else {
        return erased(&app, &viewer, id, &fields).await;
    };
    let mut deliveries = store.rows_of(tenant, id).await?;
    deliveries.sort_by_key(|row| row.id);
    let webhooks = app.gateway.manage.list(tenant).await?;
    let listed = app.gateway.catalogue.find(tenant, &event.event_type);
    let listed = listed.await?;
    let schema = listed.as_ref().and_then(|listed| listed.entry.compiled());
    let schema = schema.filter(|_| viewer.site() == Site::Inspector);
    let body = postrider_domain::payload_filter::Payload::new(event.body.clone());
    let faults = match schema {
        Some(Ok(schema)) => schema.faults(&body),
        Some(Err(_)) | None => Vec::new(),
    };
    let page = EventPage {
        type_path: listed
            .is_some()
            .then(|| viewer.site().path(&catalogue::path(&event.event_type))),
        faults,
        frame: Frame::new(event.event_type.as_str(), Section::Deliveries, &viewer)
            .after(&fields)
            .live(place),
        id: id.to_string(),
        event_type: event.event_type.as_str().to_owned(),
        session: event
            .session_id
            .as_ref()
            .map(|label| rows::session(viewer.site(), label)),
        origin: (viewer.site() == Site::Inspector).then(|| event.origin.to_string()),
        accepted_at: text::when(event.created_at),
        can_be_erased: viewer.site() == Site::Inspector,
        others: others(&deliveries, &webhooks),
        deliveries: rows::rows(&app, &viewer, &deliveries, &webhooks).await?,
        payload: Payload::of(&event, fields.get("view") == Some("raw")),
    };
    Ok(html(StatusCode::OK, &page))
}

#[derive(Template)]
#[template(path = "event_erased.html")]
struct ErasedPage {
    frame: Frame,
    id: String,
    erased_at: Markup,
    deliveries: Vec<Row>,
}

/// The page of an event whose content was erased.
async fn erased(
    app: &App,
    viewer: &Viewer,
    id: EventId,
    fields: &Fields,
) -> Result<Response, PageError> {
    let (store, tenant) = (&app.gateway.ports.store, viewer.tenant());
    let erased_at = store.erased_at(tenant, id).await?;
    let erased_at = erased_at.ok_or_else(|| PageError::not_found("event"))?;
    let mut deliveries = store.rows_of(tenant, id).await?;
    deliveries.sort_by_key(|row| row.id);
    let webhooks = app.gateway.manage.list(tenant).await?;
    let page = ErasedPage {
        frame: Frame::new("Erased event", Section::Deliveries, viewer).after(fields),
        id: id.to_string(),
        erased_at: text::when(erased_at),
        deliveries: rows::rows(app, viewer, &deliveries, &webhooks).await?,
    };
    Ok(html(StatusCode::OK, &page))
}

pub(super) async fn erase(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<EventId>,
) -> Result<Redirect, PageError> {
    let erasing = &app.gateway.erasing;
    let erasure = erasing
        .erase_event(viewer.tenant(), id, viewer.key().id)
        .await?;
    let done = if erasure.has_ended() {
        "erased"
    } else {
        "erasing"
    };
    Ok(viewer.redirect(&format!("/events/{id}?done={done}")))
}

fn others(deliveries: &[Delivery], webhooks: &[Webhook]) -> Vec<(String, String)> {
    let has_it = |webhook: &Webhook| deliveries.iter().any(|row| row.id.webhook == webhook.id);
    let takes_it =
        |webhook: &&Webhook| webhook.health.status != WebhookStatus::Disabled && !has_it(webhook);
    let choice = |webhook: &Webhook| (webhook.id.to_string(), webhook.settings.name.clone());
    webhooks.iter().filter(takes_it).map(choice).collect()
}

pub(super) async fn deliver(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<EventId>,
    Form(fields): Form,
) -> Result<Redirect, PageError> {
    let webhook = fields.text("webhook_id").parse::<WebhookId>();
    let webhook = webhook.map_err(|_| PageError::not_found("webhook"))?;
    let row = app.gateway.deliver_to(viewer.tenant(), id, webhook).await?;
    Ok(viewer.redirect(&format!("/deliveries/{}?done=delivering", row.id)))
}
