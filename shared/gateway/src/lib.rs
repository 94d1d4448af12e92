//! The use-cases of the gateway, each one straight line over the ports.

pub mod attempt;
pub mod chores;
pub mod deadline;
pub mod error;
pub mod ingest;
pub mod keyring;
pub mod mail;
pub mod metrics;
mod pacing;
pub mod poll;
pub mod receive;
pub mod rejected;
pub mod retries;
pub mod settings;
pub mod shadow;
pub mod sources;
pub mod stats;
pub mod sweep;
mod telemetry;
pub mod traces;
pub mod webhook_cache;
pub mod webhooks;
pub mod worker;

use std::sync::Arc;

use postrider_ports::Store;
use postrider_ports::clock::{Clock, Entropy};
use postrider_ports::queue::Queue;
use postrider_ports::start_now::AcceptClaimed;

use crate::ingest::{FastPath, Handoff, Ingest};
use crate::keyring::Keyring;
use crate::receive::Receive;
use crate::rejected::Rejections;
use crate::retries::Retries;
use crate::settings::GatewaySettings;
use crate::sources::ManageSources;
use crate::webhook_cache::WebhookCache;
use crate::webhooks::ManageWebhooks;
use crate::worker::embedded::InProcessQueue;

pub use error::GatewayError;

/// What every use-case reaches the world by.
#[derive(Clone)]
pub struct Ports {
    /// Everything that is stored.
    pub store: Arc<dyn Store>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
}

/// What the API offers, put together once.
pub struct Gateway {
    /// The ports, for plain look-ups.
    pub ports: Ports,
    /// Accepts events.
    pub ingest: Ingest,
    /// Accepts what sources send.
    pub receive: Receive,
    /// Keeps webhooks.
    pub manage: ManageWebhooks,
    /// Keeps sources.
    pub sources: ManageSources,
    /// Shows refused requests.
    pub refusals: Rejections,
    /// Puts deliveries back.
    pub retries: Retries,
    /// Knows who may do what.
    pub keyring: Keyring,
    /// The limits in force.
    pub settings: GatewaySettings,
}

impl Gateway {
    /// A gateway whose workers take messages from `queue`. `webhook_cache` is shared with a worker in the same process.
    #[must_use]
    pub fn new(
        ports: Ports,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        settings: GatewaySettings,
    ) -> Self {
        let handoff = Handoff::new(Arc::clone(&ports.store), Arc::clone(&queue), None);
        Self::over(ports, webhook_cache, queue, handoff, settings)
    }

    /// A gateway whose worker runs in the same process, and starts first attempts at once while it has free slots.
    #[must_use]
    pub fn embedded(
        ports: Ports,
        webhook_cache: Arc<WebhookCache>,
        worker: Arc<InProcessQueue>,
        store: Arc<dyn AcceptClaimed>,
        settings: GatewaySettings,
    ) -> Self {
        let queue: Arc<dyn Queue> = Arc::clone(&worker) as _;
        let fast_path = FastPath { worker, store };
        let store = Arc::clone(&ports.store);
        let handoff = Handoff::new(store, Arc::clone(&queue), Some(fast_path));
        Self::over(ports, webhook_cache, queue, handoff, settings)
    }

    fn over(
        ports: Ports,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        handoff: Handoff,
        settings: GatewaySettings,
    ) -> Self {
        Self {
            ingest: Ingest::new(
                ports.clone(),
                Arc::clone(&webhook_cache),
                handoff.clone(),
                settings.max_body_bytes,
            ),
            receive: Receive::new(
                ports.clone(),
                Arc::clone(&webhook_cache),
                handoff,
                settings.max_body_bytes,
            ),
            sources: ManageSources::new(ports.clone(), Arc::clone(&webhook_cache)),
            manage: ManageWebhooks::new(
                ports.clone(),
                webhook_cache,
                Arc::clone(&queue),
                settings.egress.clone(),
            ),
            refusals: Rejections::new(ports.clone()),
            retries: Retries::new(ports.clone(), queue),
            keyring: Keyring::new(ports.clone()),
            ports,
            settings,
        }
    }
}
