//! The HTTP API, the Inspector and the portal as an axum router.

mod auth;
mod created;
mod deliveries;
mod endpoints;
mod erasures;
mod event_types;
mod events;
mod extract;
mod filters;
mod health;
mod json;
mod keys;
mod metrics;
mod openapi;
mod portal_links;
mod retries;
mod sources;
mod stats;
mod stream;
mod templates;
mod tenants;
mod transfer;
mod usage;
mod webhooks;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::middleware::from_fn;
use bytes::Bytes;
use postrider_domain::time::Timestamp;
use postrider_gateway::Gateway;
use postrider_gateway::settings::portal::PortalSettings;
use postrider_gateway::shadow::Shadows;
use postrider_inspector::{Inspector, Portal};

pub use metrics::Counters;
pub use postrider_inspector::OneTimeLogin;
use postrider_web::recognised::Recognised;
pub use postrider_web::stream::Streaming;
use postrider_web::stream::Streams;
use postrider_web::{body, envelope, problem};
pub use problem::{Code, Problem};
use tokio::sync::Mutex;

struct Shared {
    gateway: Arc<Gateway>,
    shadows: Arc<Shadows>,
    streams: Arc<Streams>,
    portal: Arc<PortalSettings>,
    last_check: Mutex<Option<health::LastCheck>>,
    /// The OpenAPI document, once it was asked for.
    document: OnceLock<Bytes>,
}

type Api = Arc<Shared>;

impl Shared {
    fn now(&self) -> Timestamp {
        self.gateway.ports.clock.now()
    }
}

/// What only the pages need.
#[derive(Default)]
pub struct PageSettings {
    /// The one-time login of the operator who started the gateway.
    pub once: Option<OneTimeLogin>,
    pub portal: PortalSettings,
}

/// The API, the Inspector and the portal, with the default settings of pages.
pub fn router(gateway: Arc<Gateway>, shadows: Shadows, streaming: Streaming) -> Router {
    router_with(gateway, shadows, streaming, PageSettings::default())
}

/// The API, the Inspector and the portal.
pub fn router_with(
    gateway: Arc<Gateway>,
    shadows: Shadows,
    streaming: Streaming,
    pages: PageSettings,
) -> Router {
    let portal = Arc::new(pages.portal);
    let shadows = Arc::new(shadows);
    let streams = Arc::new(Streams::new(Arc::clone(&gateway), streaming));
    let inspector = Inspector {
        gateway: Arc::clone(&gateway),
        shadows: Arc::clone(&shadows),
        streams: Arc::clone(&streams),
        once: pages.once,
        portal: Arc::new(Portal::of(&portal)),
    };
    let shared = Shared {
        gateway,
        shadows,
        streams,
        portal,
        last_check: Mutex::default(),
        document: OnceLock::new(),
    };
    endpoints::router()
        .fallback(envelope::unknown_route)
        .method_not_allowed_fallback(envelope::method_not_allowed)
        .layer(from_fn(envelope::wrap))
        .with_state(Arc::new(shared))
        .merge(postrider_inspector::routes(inspector))
}
