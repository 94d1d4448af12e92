//! The HTTP API as an axum router.

mod auth;
mod deliveries;
mod envelope;
mod events;
mod extract;
mod filter;
mod health;
mod inspector;
mod json;
mod keys;
mod metrics;
mod openapi;
mod retries;
mod sources;
mod stats;
mod stream;
mod views;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use bytes::Bytes;
use postrider_gateway::Gateway;
use postrider_ports::notices::Listening;
use tokio::sync::{Semaphore, watch};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use inspector::OneTimeLogin;
pub use metrics::Counters;
use postrider_web::{body, problem};
pub use problem::{Code, Problem};

/// What every handler works with.
struct Shared {
    gateway: Arc<Gateway>,
    streaming: Streaming,
    streams: Arc<Semaphore>,
    openapi: Bytes,
    /// A login for whoever started the gateway.
    once: Option<OneTimeLogin>,
}

type Api = Arc<Shared>;

/// How `/v1/stream` answers.
#[derive(Clone)]
pub enum Streaming {
    /// It stays open until `shutdown` turns true or its sender is gone; every other request is short and is left to
    /// end by itself.
    Open {
        /// Tells when there is something new.
        listening: Arc<dyn Listening>,
        /// Tells when to end.
        shutdown: watch::Receiver<bool>,
    },
    /// It says what is new and ends; the client comes back. For functions, which pay for every second.
    Polled,
}

/// The whole API over this gateway, and the Inspector.
pub fn router(gateway: Arc<Gateway>, streaming: Streaming) -> Router {
    routes_over(gateway, streaming, None)
}

/// The same, with a login for whoever started the gateway.
pub fn router_with_login(
    gateway: Arc<Gateway>,
    streaming: Streaming,
    once: OneTimeLogin,
) -> Router {
    routes_over(gateway, streaming, Some(once))
}

fn routes_over(gateway: Arc<Gateway>, streaming: Streaming, once: Option<OneTimeLogin>) -> Router {
    let (routes, document) = documented_routes().split_for_parts();
    let shared = Shared {
        gateway,
        streaming,
        streams: Arc::new(Semaphore::new(stream::MAX_STREAMS)),
        openapi: openapi::to_bytes(&document),
        once,
    };
    routes
        .fallback(envelope::unknown_route)
        .method_not_allowed_fallback(envelope::method_not_allowed)
        .layer(from_fn(envelope::wrap))
        .merge(inspector::routes())
        .with_state(Arc::new(shared))
}

/// Route and documentation come from the same line, so that neither can be without the other.
fn documented_routes() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(health::index))
        .routes(routes!(health::healthz))
        .routes(routes!(openapi::openapi_json))
        .routes(routes!(metrics::get))
        .routes(routes!(stats::get))
        .routes(routes!(events::publish))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::get, webhooks::patch, webhooks::delete))
        .routes(routes!(webhooks::rotate_secret))
        .routes(routes!(webhooks::pause))
        .routes(routes!(webhooks::resume))
        .routes(routes!(webhooks::test))
        .routes(routes!(sources::create, sources::list))
        .routes(routes!(sources::get, sources::patch, sources::delete))
        .routes(routes!(sources::rotate_secret))
        .routes(routes!(sources::get_routes, sources::put_routes))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::get))
        .routes(routes!(deliveries::retry))
        .routes(routes!(retries::begin))
        .routes(routes!(retries::get, retries::cancel))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(stream::listen))
}
