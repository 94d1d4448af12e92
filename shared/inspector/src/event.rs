//! One event and its deliveries.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::ids::EventId;

use super::fields::{Named, Query};
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::payload::Payload;
use super::rows::{self, Row};
use super::session::Viewer;
use super::text::{self, Markup};
use crate::App;

#[derive(Template)]
#[template(path = "event.html")]
struct EventPage {
    frame: Frame,
    id: String,
    event_type: String,
    session: Option<(String, String)>,
    origin: String,
    accepted_at: Markup,
    deliveries: Vec<Row>,
    payload: Payload,
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
    let event = event.ok_or_else(|| PageError::not_found("event"))?;
    let mut deliveries = store.rows_of(tenant, id).await?;
    deliveries.sort_by_key(|row| row.id);
    let webhooks = app.gateway.manage.list(tenant).await?;
    let page = EventPage {
        frame: Frame::new(event.event_type.as_str(), Section::Deliveries, &viewer).live(place),
        id: id.to_string(),
        event_type: event.event_type.as_str().to_owned(),
        session: event.session_id.as_ref().map(rows::session),
        origin: event.origin.to_string(),
        accepted_at: text::when(event.created_at),
        deliveries: rows::rows(&app, &deliveries, &webhooks).await?,
        payload: Payload::of(&event, fields.get("view") == Some("raw")),
    };
    Ok(html(StatusCode::OK, &page))
}
