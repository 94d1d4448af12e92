//! The catalogue of event types, in the Inspector and in the portal.

pub(super) mod edit;
mod entry;
mod form;
mod list;
pub(super) mod public;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use http::StatusCode;
use postrider_domain::event_catalogue::{EntryOwner, Lifecycle};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::pattern::EventType;
use postrider_domain::webhook::Webhook;
use postrider_gateway::settings::validation::EventValidation;

use super::fields::{Form, Named, Query};
use super::filter::MAX_CHOICES;
use super::page::{Frame, PageError, Section, html};
use super::session::{Manager, Viewer};
use super::site::Site;
use crate::App;
use entry::EntryView;
use list::{Group, grouped};

#[derive(Template)]
#[template(path = "event_types.html")]
struct ListPage {
    frame: Frame,
    groups: Vec<Group>,
    /// Whether payloads are checked; only operators see it.
    validation: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "event_type.html")]
struct EntryPage {
    frame: Frame,
    entry: EntryView,
    /// Webhooks that an example can be sent to, by id and name.
    webhooks: Vec<(String, String)>,
    may_edit: bool,
    may_delete: bool,
}

/// The path of an entry below the site's home.
pub(super) fn path(name: &EventType) -> String {
    let name: String = url::form_urlencoded::byte_serialize(name.as_str().as_bytes()).collect();
    format!("/event-types/{name}")
}

/// The pages that both sites have.
pub(super) fn pages(site: Site) -> Router<App> {
    let at = |rest| site.path(rest);
    Router::new()
        .route(&at("/event-types"), get(list))
        .route(&at("/event-types/{name}"), get(show))
        .route(&at("/event-types/{name}/send"), post(send))
}

async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let mut listed = app.gateway.catalogue.list(viewer.tenant()).await?;
    if viewer.site() == Site::Portal {
        listed.retain(|one| one.entry.lifecycle != Lifecycle::Archived);
    }
    let frame = Frame::new("Event types", Section::EventTypes, &viewer).after(&fields);
    let validation = match app.gateway.settings.event_validation {
        EventValidation::Off => {
            "Payloads are not checked against these schemas (POSTRIDER_EVENT_VALIDATION=off)."
        }
        EventValidation::Warn => {
            "An event whose payload does not match its schema is accepted, logged and counted."
        }
        EventValidation::Reject => {
            "A published event whose payload does not match its schema is rejected."
        }
    };
    let page = ListPage {
        groups: grouped(frame.home(), &listed),
        validation: (viewer.site() == Site::Inspector).then_some(validation),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Named(name): Named<EventType>,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let listed = app.gateway.catalogue.get(viewer.tenant(), &name).await?;
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let frame = Frame::new(name.as_str(), Section::EventTypes, &viewer).after(&fields);
    let may_edit = frame.may_change() && viewer.site() == Site::Inspector;
    let page = EntryPage {
        webhooks: if frame.may_change() {
            receivers(&webhooks)
        } else {
            Vec::new()
        },
        may_delete: may_edit && listed.owner == EntryOwner::Tenant,
        may_edit,
        entry: EntryView::of(frame.home(), listed),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

fn receivers(webhooks: &[Webhook]) -> Vec<(String, String)> {
    let takes_it = |webhook: &&Webhook| webhook.health.status != WebhookStatus::Disabled;
    let choice = |webhook: &Webhook| (webhook.id.to_string(), webhook.settings.name.clone());
    webhooks.iter().filter(takes_it).map(choice).collect()
}

/// Sends an example to a webhook, as a test, and opens the delivery.
async fn send(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(name): Named<EventType>,
    Form(fields): Form,
) -> Result<Redirect, PageError> {
    let webhook = fields.text("webhook_id").parse::<WebhookId>();
    let webhook = webhook.map_err(|_| PageError::not_found("webhook"))?;
    let example = fields.text("example").parse().unwrap_or(usize::MAX);
    let sent = app
        .gateway
        .send_example(viewer.tenant(), webhook, &name, example)
        .await?;
    // A test goes to its webhook whatever the filter says.
    let delivery = sent.deliveries.first();
    let delivery = delivery.ok_or_else(|| PageError::not_found("delivery"))?;
    Ok(viewer.redirect(&format!("/deliveries/{delivery}")))
}
