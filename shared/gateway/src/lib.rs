//! The use cases of the gateway: publish, receive, attempt, retry, manage.
//!
//! Each use case is plain code over the ports (traits of `postrider-ports`: store, clock, queue, sender) and the pure
//! rules of `postrider-domain`. It knows nothing about SQLite, DynamoDB, SQS or the HTTP API: the adapters implement
//! the ports, and `cli` and `functions/*` put the two together.
//!
//! Rules:
//! - An event is accepted only when it is stored together with its deliveries.
//! - One claim results in at most one POST. A worker claims a delivery before it sends; an attempt that has lost its
//!   claim does not count.
//! - An attempt is written before it is counted: its log line, its metrics and its trace follow the write.
//! - A queue message only names a delivery; the stored row decides. A lost or repeated message is harmless.
//! - Time, randomness and settings are handed in, so tests control them.
//!
//! Where to start reading: [`ingest`] turns an event into stored deliveries ([`receive`] does so for inbound requests),
//! [`worker`] finds and claims those that are due, and [`attempt`] signs, posts, decides and writes the result.

pub mod attempt;
pub mod catalogue;
pub mod chores;
mod drains;
pub mod erasing;
pub mod error;
mod event_validation;
pub mod filter_preview;
pub mod ingest;
pub mod keyring;
pub mod mail;
pub mod metrics;
pub mod poll;
pub mod portal_links;
mod publish_rate;
pub mod receive;
pub mod rejected;
pub mod retries;
pub mod settings;
pub mod shadow;
pub mod sources;
pub mod stats;
pub mod sweep;
mod telemetry;
pub mod template_preview;
pub mod tenants;
mod test_event;
pub mod traces;
pub mod transfer;
pub mod usage;
pub mod waiting;
pub mod watch;
pub mod webhook_cache;
pub mod webhooks;
pub mod worker;

use std::sync::Arc;

use postrider_domain::ids::{KeyId, TenantId};
use postrider_ports::catalogue::Catalogue;
use postrider_ports::clock::{Clock, Entropy};
use postrider_ports::configs::ApiKeys;
use postrider_ports::erasures::Erasure;
use postrider_ports::flow::FlowStates;
use postrider_ports::history::History;
use postrider_ports::queue::Queue;
use postrider_ports::rejected::BatchedRejections;
use postrider_ports::sources::Sources;
use postrider_ports::start_now::AcceptClaimed;
use postrider_ports::tenants::Tenants;
use postrider_ports::{
    AttemptStore, ChoreStore, ErasureStore, InboundStore, RetryStore, ShadowStore, Store,
    TransferStore, WebhookStore, WorkerStore,
};

use crate::catalogue::ManageCatalogue;
use crate::drains::SharedFlows;
use crate::erasing::Erasing;
use crate::event_validation::Validation;
use crate::ingest::{FastPath, Handoff, Ingest};
use crate::keyring::Keyring;
use crate::receive::{Receive, RejectionLog};
use crate::rejected::Rejections;
use crate::retries::Retries;
use crate::settings::GatewaySettings;
use crate::sources::ManageSources;
use crate::tenants::ManageTenants;
use crate::transfer::Transfer;
use crate::webhook_cache::WebhookCache;
use crate::webhooks::ManageWebhooks;
use crate::worker::embedded::InProcessQueue;

pub use error::GatewayError;

/// The ports of a use case. `S` is what it needs from the store; every use case is created from the ports of the whole
/// store.
pub struct Ports<S: ?Sized = dyn Store> {
    pub store: Arc<S>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl<S: ?Sized> Clone for Ports<S> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
        }
    }
}

/// Lets a use case take the ports of the whole store and hold only what it needs.
macro_rules! narrowed {
    ($($whole:ty => $role:ty),+ $(,)?) => {$(
        impl From<Ports<$whole>> for Ports<$role> {
            fn from(ports: Ports<$whole>) -> Self {
                Self { store: ports.store, clock: ports.clock, entropy: ports.entropy }
            }
        }
    )+};
}

narrowed!(
    dyn Store => dyn AttemptStore,
    dyn Store => dyn WorkerStore,
    dyn Store => dyn WebhookStore,
    dyn Store => dyn InboundStore,
    dyn Store => dyn ShadowStore,
    dyn Store => dyn RetryStore,
    dyn Store => dyn ChoreStore,
    dyn Store => dyn ApiKeys,
    dyn Store => dyn Catalogue,
    dyn Store => dyn History,
    dyn Store => dyn Sources,
    dyn Store => dyn Tenants,
    dyn Store => dyn TransferStore,
    dyn Store => dyn ErasureStore,
    dyn ChoreStore => dyn RetryStore,
    dyn ChoreStore => dyn ErasureStore,
);

/// The use cases behind the API, built once per process.
pub struct Gateway {
    /// For plain look-ups that need no use case.
    pub ports: Ports,
    pub ingest: Ingest,
    /// Accepts inbound requests.
    pub receive: Receive,
    pub manage: ManageWebhooks,
    pub sources: ManageSources,
    pub rejected: Rejections,
    rejections: Arc<RejectionLog>,
    pub retries: Retries,
    pub keyring: Keyring,
    pub catalogue: ManageCatalogue,
    pub tenants: ManageTenants,
    /// Erases events and deletes tenants.
    pub erasing: Erasing,
    /// Exports and imports.
    pub transfer: Transfer,
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
        let handoff = Handoff::new(Arc::clone(&ports.store) as _, Arc::clone(&queue), None);
        let flows = Arc::new(SharedFlows(Arc::clone(&ports.store) as _));
        Self::over(ports, webhook_cache, queue, flows, handoff, settings)
    }

    /// A gateway whose worker runs in the same process, and starts first attempts immediately while it has free slots.
    #[must_use]
    pub fn embedded(
        ports: Ports,
        webhook_cache: Arc<WebhookCache>,
        worker: Arc<InProcessQueue>,
        store: Arc<dyn AcceptClaimed>,
        settings: GatewaySettings,
    ) -> Self {
        let queue: Arc<dyn Queue> = Arc::clone(&worker) as _;
        let flows: Arc<dyn FlowStates> = Arc::clone(&worker) as _;
        let fast_path = FastPath { worker, store };
        let store = Arc::clone(&ports.store);
        let handoff = Handoff::new(store as _, Arc::clone(&queue), Some(fast_path));
        Self::over(ports, webhook_cache, queue, flows, handoff, settings)
    }

    /// Collects rejected requests in memory and stores them together, once a second, while [`RejectionLog::run`] runs.
    #[must_use]
    pub fn batch_rejections(&self, store: Arc<dyn BatchedRejections>) -> Arc<RejectionLog> {
        self.rejections.batch(store);
        Arc::clone(&self.rejections)
    }

    /// Deletes a tenant; see [`Erasing::delete_tenant`]. Its keys stop working in this process at once, and in others within 5
    /// seconds.
    pub async fn delete_tenant(
        &self,
        owner: &TenantId,
        tenant: &TenantId,
        by: KeyId,
    ) -> Result<Erasure, GatewayError> {
        let deletion = self.erasing.delete_tenant(owner, tenant, by).await;
        self.keyring.forget();
        deletion
    }

    fn over(
        ports: Ports,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        flows: Arc<dyn FlowStates>,
        handoff: Handoff,
        settings: GatewaySettings,
    ) -> Self {
        let rejections = Arc::new(RejectionLog::new(ports.clone()));
        let transfer = Transfer::new(
            ports.clone(),
            Arc::clone(&webhook_cache),
            Arc::clone(&queue),
            flows.fastest_max_rate(),
            &settings,
        );
        let validation = Arc::new(Validation::new(
            settings.event_validation,
            Arc::clone(&ports.store) as _,
            Arc::clone(&webhook_cache),
        ));
        Self {
            catalogue: ManageCatalogue::new(ports.clone(), Arc::clone(&webhook_cache)),
            ingest: Ingest::new(
                ports.clone(),
                Arc::clone(&webhook_cache),
                handoff.clone(),
                Arc::clone(&validation),
                settings.max_body_bytes,
            ),
            receive: Receive::new(
                ports.clone(),
                Arc::clone(&webhook_cache),
                handoff,
                Arc::clone(&rejections),
                validation,
                settings.max_body_bytes,
            ),
            erasing: Erasing::new(ports.clone()),
            tenants: ManageTenants::new(ports.clone(), Arc::clone(&webhook_cache)),
            sources: ManageSources::new(ports.clone(), Arc::clone(&webhook_cache)),
            manage: ManageWebhooks::new(
                ports.clone(),
                webhook_cache,
                Arc::clone(&queue),
                flows,
                settings.egress.clone(),
            ),
            rejected: Rejections::new(ports.clone(), Arc::clone(&rejections)),
            rejections,
            retries: Retries::new(ports.clone(), queue),
            transfer,
            keyring: Keyring::new(ports.clone()),
            ports,
            settings,
        }
    }
}
