//! The HTTP API and the Inspector as an axum router.

mod auth;
mod deliveries;
mod endpoints;
mod envelope;
mod events;
mod extract;
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
mod webhooks;
mod why;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use postrider_domain::time::Timestamp;
use postrider_gateway::Gateway;
use postrider_gateway::shadow::Shadows;
use postrider_ports::notifications::NotificationListener;
use tokio::sync::{Semaphore, watch};

pub use inspector::OneTimeLogin;
pub use metrics::Counters;
use postrider_web::{body, problem};
pub use problem::{Code, Problem};

struct Shared {
    gateway: Arc<Gateway>,
    shadows: Shadows,
    streaming: Streaming,
    streams: Arc<Semaphore>,
    /// The one-time login of the operator who started the gateway.
    once: Option<OneTimeLogin>,
}

type Api = Arc<Shared>;

impl Shared {
    fn now(&self) -> Timestamp {
        self.gateway.ports.clock.now()
    }
}

/// How `/v1/stream` answers.
#[derive(Clone)]
pub enum Streaming {
    /// The stream stays open until `shutdown` becomes true or its sender is dropped.
    Open {
        /// Signals new notifications.
        listening: Arc<dyn NotificationListener>,
        /// Signals the end.
        shutdown: watch::Receiver<bool>,
    },
    /// The stream sends new notifications and ends; the client reconnects. For Lambda functions, which are billed per
    /// second.
    Polled,
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
    let shared = Shared {
        gateway,
        shadows,
        streaming,
        streams: Arc::new(Semaphore::new(stream::MAX_STREAMS)),
        once,
    };
    let shared = Arc::new(shared);
    endpoints::router()
        .fallback(envelope::unknown_route)
        .method_not_allowed_fallback(envelope::method_not_allowed)
        .layer(from_fn(envelope::wrap))
        .merge(inspector::routes(&shared))
        .with_state(shared)
}
