//! The use-cases of the gateway, each one straight line over the ports.

pub mod catalogue;
pub mod chores;
pub mod courier;
pub mod deadline;
pub mod dispatch;
pub mod figures;
pub mod hints;
pub mod ingest;
pub mod keyring;
pub mod mail;
pub mod manage;
pub mod meters;
mod pacing;
pub mod poll;
pub mod receive;
pub mod refusal;
pub mod refusals;
pub mod retries;
pub mod settings;
pub mod shadow;
pub mod sources;
pub mod sweep;
mod telemetry;
pub mod traces;

use std::sync::Arc;

use postrider_ports::Store;
use postrider_ports::clock::{Clock, Entropy};
use postrider_ports::queue::Queue;

use crate::catalogue::Catalogue;
use crate::ingest::Ingest;
use crate::keyring::Keyring;
use crate::manage::Manage;
use crate::receive::Receive;
use crate::refusals::Refusals;
use crate::retries::Retries;
use crate::settings::GatewaySettings;
use crate::sources::Sources;

pub use refusal::Refusal;

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
    pub manage: Manage,
    /// Keeps sources.
    pub sources: Sources,
    /// Shows refused requests.
    pub refusals: Refusals,
    /// Puts deliveries back.
    pub retries: Retries,
    /// Knows who may do what.
    pub keyring: Keyring,
    /// The limits in force.
    pub settings: GatewaySettings,
}

impl Gateway {
    /// A gateway over these ports. `catalogue` is shared with whoever dispatches in the same process.
    #[must_use]
    pub fn new(
        ports: Ports,
        catalogue: Arc<Catalogue>,
        queue: Arc<dyn Queue>,
        settings: GatewaySettings,
    ) -> Self {
        Self {
            ingest: Ingest::new(
                ports.clone(),
                Arc::clone(&catalogue),
                Arc::clone(&queue),
                settings.max_body_bytes,
            ),
            receive: Receive::new(
                ports.clone(),
                Arc::clone(&catalogue),
                Arc::clone(&queue),
                settings.max_body_bytes,
            ),
            sources: Sources::new(ports.clone(), Arc::clone(&catalogue)),
            manage: Manage::new(
                ports.clone(),
                catalogue,
                Arc::clone(&queue),
                settings.egress.clone(),
            ),
            refusals: Refusals::new(ports.clone()),
            retries: Retries::new(ports.clone(), queue),
            keyring: Keyring::new(ports.clone()),
            ports,
            settings,
        }
    }
}
