//! The Inspector: the web UI, rendered on the server, with one style sheet and one script.

mod assets;
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
mod retries;
mod rows;
mod schedule;
mod search;
mod session;
mod source;
mod sources;
mod text;
mod webhook;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get, post};

pub use once::OneTimeLogin;

use postrider_domain::time::Timestamp;
use postrider_gateway::Gateway;
use postrider_gateway::shadow::Shadows;
use postrider_web::envelope;
use postrider_web::stream::Streams;

pub const HOME: &str = "/inspector";

/// What the pages work with.
pub struct Inspector {
    pub gateway: Arc<Gateway>,
    pub shadows: Arc<Shadows>,
    pub streams: Arc<Streams>,
    /// The one-time login of the operator who started the gateway.
    pub once: Option<OneTimeLogin>,
}

impl Inspector {
    fn now(&self) -> Timestamp {
        self.gateway.ports.clock.now()
    }
}

type App = Arc<Inspector>;

/// All pages and actions, under `/inspector`.
pub fn routes(inspector: Inspector) -> Router {
    let app = Arc::new(inspector);
    Router::new()
        .merge(entrance())
        .merge(delivery_pages())
        .merge(webhook_pages())
        .merge(source_pages())
        .route("/inspector/keys", get(keys::list).post(keys::create))
        .route("/inspector/keys/{id}/revoke", post(keys::revoke))
        .route("/inspector/{*rest}", any(error::unknown))
        .method_not_allowed_fallback(error::unknown)
        .layer(from_fn(guard::reject_cross_site))
        .layer(from_fn_with_state(Arc::clone(&app), error::show))
        .layer(from_fn(envelope::wrap))
        .layer(from_fn(guard::set_headers))
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

fn delivery_pages() -> Router<App> {
    Router::new()
        .route("/inspector/deliveries", get(deliveries::list))
        .route("/inspector/deliveries/{id}", get(delivery::show))
        .route("/inspector/deliveries/{id}/payload", get(payload::download))
        .route("/inspector/deliveries/{id}/retry", post(delivery::retry))
        .route(
            "/inspector/deliveries/{id}/shadow",
            get(delivery::shadow::ask).post(delivery::shadow::send),
        )
        .route("/inspector/events/{id}", get(event::show))
        .route("/inspector/dead", get(dead::list))
        .route(
            "/inspector/dead/retry",
            get(dead::ask).post(dead::retry_selected),
        )
        .route("/inspector/retries", post(retries::begin))
        .route("/inspector/retries/{id}", get(retries::show))
        .route("/inspector/retries/{id}/cancel", post(retries::cancel))
}

fn webhook_pages() -> Router<App> {
    use webhook::{actions, page};
    Router::new()
        .route("/inspector/webhooks", get(webhooks::list))
        .route(
            "/inspector/webhooks/new",
            get(webhook::blank).post(webhook::create),
        )
        .route("/inspector/webhooks/{id}", get(page::show))
        .route(
            "/inspector/webhooks/{id}/edit",
            get(webhook::form).post(webhook::save),
        )
        .route("/inspector/webhooks/{id}/pause", post(actions::pause))
        .route("/inspector/webhooks/{id}/resume", post(actions::resume))
        .route("/inspector/webhooks/{id}/rotate", post(actions::rotate))
        .route("/inspector/webhooks/{id}/test", post(actions::test))
        .route("/inspector/webhooks/{id}/delete", post(actions::delete))
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
