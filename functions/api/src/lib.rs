//! The HTTP API and the Inspector as an axum router.

mod auth;
mod created;
mod deliveries;
mod endpoints;
mod events;
mod extract;
mod filters;
mod health;
mod json;
mod keys;
mod metrics;
mod openapi;
mod retries;
mod sources;
mod stats;
mod stream;
mod transfer;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use postrider_domain::time::Timestamp;
use postrider_gateway::Gateway;
use postrider_gateway::shadow::Shadows;
use postrider_inspector::Inspector;

pub use metrics::Counters;
pub use postrider_inspector::OneTimeLogin;
pub use postrider_web::recognised::Recognised;
pub use postrider_web::stream::Streaming;
use postrider_web::stream::Streams;
use postrider_web::{body, envelope, problem};
pub use problem::{Code, Problem};
use tokio::sync::Mutex;

struct Shared {
    gateway: Arc<Gateway>,
    shadows: Arc<Shadows>,
    streams: Arc<Streams>,
    last_check: Mutex<Option<health::LastCheck>>,
}

type Api = Arc<Shared>;

impl Shared {
    fn now(&self) -> Timestamp {
        self.gateway.ports.clock.now()
    }
}

/// The API and the Inspector.
pub fn router(gateway: Arc<Gateway>, shadows: Shadows, streaming: Streaming) -> Router {
    routes_over(gateway, shadows, streaming, None)
}

/// The API and the Inspector, with a one-time login.
pub fn router_with_login(
    gateway: Arc<Gateway>,
    shadows: Shadows,
    streaming: Streaming,
    once: OneTimeLogin,
) -> Router {
    routes_over(gateway, shadows, streaming, Some(once))
}

fn routes_over(
    gateway: Arc<Gateway>,
    shadows: Shadows,
    streaming: Streaming,
    once: Option<OneTimeLogin>,
) -> Router {
    let shadows = Arc::new(shadows);
    let streams = Arc::new(Streams::new(Arc::clone(&gateway), streaming));
    let inspector = Inspector {
        gateway: Arc::clone(&gateway),
        shadows: Arc::clone(&shadows),
        streams: Arc::clone(&streams),
        once,
    };
    let shared = Shared {
        gateway,
        shadows,
        streams,
        last_check: Mutex::default(),
    };
    endpoints::router()
        .fallback(envelope::unknown_route)
        .method_not_allowed_fallback(envelope::method_not_allowed)
        .layer(from_fn(envelope::wrap))
        .with_state(Arc::new(shared))
        .merge(postrider_inspector::routes(inspector))
}
