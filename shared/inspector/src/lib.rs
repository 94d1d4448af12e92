//! The Inspector, the web UI for operators, and the portal, the web UI for customers: the same pages, rendered on the
//! server, with one style sheet and one script.

mod assets;
mod catalogue;
mod charts;
mod dead;
mod deliveries;
mod delivery;
mod error;
mod event;
mod fields;
mod filter;
mod guard;
mod keys;
mod live;
mod login;
mod once;
mod overview;
mod page;
mod payload;
mod portal;
mod retries;
mod rows;
mod schedule;
mod search;
mod section;
mod session;
mod site;
mod source;
mod sources;
mod text;
mod usage;
mod webhook;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get, post};

pub use once::OneTimeLogin;
pub use portal::{Portal, portal_login_path};

use postrider_domain::time::Timestamp;
use postrider_gateway::Gateway;
use postrider_gateway::shadow::Shadows;
use postrider_web::envelope;
use postrider_web::stream::Streams;

use site::Site;

pub const HOME: &str = "/inspector";

/// What the pages work with.
pub struct Inspector {
    pub gateway: Arc<Gateway>,
    pub shadows: Arc<Shadows>,
    pub streams: Arc<Streams>,
    /// The one-time login of the operator who started the gateway.
    pub once: Option<OneTimeLogin>,
    pub portal: Arc<Portal>,
}

impl Inspector {
    fn now(&self) -> Timestamp {
        self.gateway.ports.clock.now()
    }
}

type App = Arc<Inspector>;

/// All pages and actions, under `/inspector` and `/portal`.
pub fn routes(inspector: Inspector) -> Router {
    let app = Arc::new(inspector);
    let public = if app.portal.public_catalogue {
        catalogue::public::routes()
    } else {
        Router::new()
    };
    Router::new()
        .merge(public)
        .merge(catalogue_forms())
        .merge(entrance())
        .merge(page_routes(Site::Inspector))
        .merge(source_pages())
        .merge(erasing())
        .merge(portal::routes())
        .route(
            "/inspector/deliveries/{id}/shadow",
            get(delivery::shadow::ask).post(delivery::shadow::send),
        )
        .route("/inspector/keys", get(keys::list).post(keys::create))
        .route("/inspector/keys/{id}/revoke", post(keys::revoke))
        .route("/inspector/{*rest}", any(error::unknown))
        .route("/portal/{*rest}", any(error::unknown))
        .method_not_allowed_fallback(error::unknown)
        .layer(from_fn(guard::reject_cross_site))
        .layer(from_fn_with_state(Arc::clone(&app), error::show))
        .layer(from_fn(envelope::wrap))
        .layer(from_fn_with_state(Arc::clone(&app), guard::set_headers))
        .with_state(app)
}

fn entrance() -> Router<App> {
    Router::new()
        .route(HOME, get(overview::show))
        .route("/inspector/", get(|| async { Redirect::to(HOME) }))
        .route("/inspector/login", get(login::show).post(login::enter))
        .route("/inspector/logout", post(login::leave))
        .route("/inspector/session", get(login::check))
        .route("/inspector/search", get(search::find))
        .route("/inspector/stream", get(live::listen))
        .route("/inspector/assets/{name}", get(assets::get))
}

/// The pages that both sites have.
fn page_routes(site: Site) -> Router<App> {
    delivery_pages(site)
        .merge(webhook_pages(site))
        .merge(catalogue::pages(site))
}

fn delivery_pages(site: Site) -> Router<App> {
    let at = |rest| site.path(rest);
    Router::new()
        .route(&at("/deliveries"), get(deliveries::list))
        .route(&at("/deliveries/{id}"), get(delivery::show))
        .route(&at("/deliveries/{id}/payload"), get(payload::download))
        .route(&at("/deliveries/{id}/retry"), post(delivery::retry))
        .route(&at("/events/{id}"), get(event::show))
        .route(&at("/events/{id}/deliver"), post(event::deliver))
        .route(&at("/dead"), get(dead::list))
        .route(
            &at("/dead/retry"),
            get(dead::ask).post(dead::retry_selected),
        )
        .route(&at("/usage"), get(usage::show))
        .route(&at("/retries"), post(retries::begin))
        .route(&at("/retries/{id}"), get(retries::show))
        .route(&at("/retries/{id}/cancel"), post(retries::cancel))
}

/// Only operators erase and delete.
fn erasing() -> Router<App> {
    Router::new()
        .route("/inspector/events/{id}/erase", post(event::erase))
        .route("/inspector/tenants/{id}/delete", post(usage::delete))
}

fn webhook_pages(site: Site) -> Router<App> {
    use webhook::{actions, page};
    let at = |rest| site.path(rest);
    Router::new()
        .route(&at("/webhooks"), get(webhooks::list))
        .route(
            &at("/webhooks/new"),
            get(webhook::blank).post(webhook::create),
        )
        .route(&at("/webhooks/{id}"), get(page::show))
        .route(
            &at("/webhooks/{id}/edit"),
            get(webhook::form).post(webhook::save),
        )
        .route(&at("/webhooks/{id}/pause"), post(actions::pause))
        .route(&at("/webhooks/{id}/resume"), post(actions::resume))
        .route(&at("/webhooks/{id}/rotate"), post(actions::rotate))
        .route(&at("/webhooks/{id}/test"), post(actions::test))
        .route(&at("/webhooks/{id}/delete"), post(actions::delete))
}

fn catalogue_forms() -> Router<App> {
    use catalogue::edit;
    Router::new()
        // Not below `event-types`, where any name may be an event type.
        .route(
            "/inspector/new-event-type",
            get(edit::blank).post(edit::create),
        )
        .route(
            "/inspector/event-types/{name}/edit",
            get(edit::form).post(edit::save),
        )
        .route("/inspector/event-types/{name}/delete", post(edit::delete))
}

fn source_pages() -> Router<App> {
    use source::{edit, rejected};
    Router::new()
        .route("/inspector/sources", get(sources::list))
        .route(
            "/inspector/sources/new",
            get(edit::blank).post(edit::create),
        )
        .route("/inspector/sources/{id}", get(source::show))
        .route(
            "/inspector/sources/{id}/edit",
            get(edit::form).post(edit::save),
        )
        .route("/inspector/sources/{id}/rotate", post(source::rotate))
        .route("/inspector/sources/{id}/delete", post(source::delete))
        .route(
            "/inspector/sources/{id}/refused/{refused_id}",
            get(rejected::show),
        )
}
