//! What the simulations of both workers share: SQLite, a stepped clock, a receiver.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::delivery::Status;
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::event::Origin;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::retry::{RetrySettings, RuntimeRetry};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::clock::Clock;
use postrider_testkit::clock::{CountedEntropy, SteppedClock};

use super::START;
use super::receiver::Receiver;

/// How many events are published at once, to share a commit.
const TOGETHER: usize = 100;

/// The ports of a gateway.
pub(super) struct Stage {
    _directory: tempfile::TempDir,
    pub(super) clock: Arc<SteppedClock>,
    pub(super) receiver: Arc<Receiver>,
    pub(super) store: Arc<SqliteStore>,
    pub(super) ports: Ports,
    pub(super) webhook_cache: Arc<WebhookCache>,
}

impl Stage {
    pub(super) fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let clock = Arc::new(SteppedClock::at(START));
        let ports = Ports {
            store: Arc::clone(&store) as _,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            entropy: Arc::new(CountedEntropy::seeded(1)),
        };
        Self {
            webhook_cache: Arc::new(WebhookCache::new(Arc::clone(&store) as _)),
            receiver: Arc::new(Receiver::new(Arc::clone(&clock))),
            _directory: directory,
            clock,
            store,
            ports,
        }
    }

    pub(super) fn dispatcher(&self) -> Attempts {
        Attempts::new(
            self.ports.clone(),
            Arc::clone(&self.receiver) as _,
            Arc::clone(&self.webhook_cache),
            RuntimeRetry::default(),
        )
    }

    pub(super) fn limits() -> GatewaySettings {
        let allow = vec!["127.0.0.1/32".parse().unwrap()];
        let egress = EgressSettings {
            allow,
            ..EgressSettings::default()
        };
        GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress: Rules::new(egress).unwrap(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        }
    }

    /// How many of these rows have this status.
    pub(super) async fn count(&self, ids: &[DeliveryId], status: Status) -> usize {
        let mut count = 0;
        for id in ids {
            let row = self.ports.store.delivery(&TenantId::default(), *id).await;
            count += usize::from(row.unwrap().unwrap().status == status);
        }
        count
    }
}

pub(super) async fn webhook(gateway: &Gateway, retry_rate: u32, retry: RetrySettings) -> WebhookId {
    let draft = WebhookDraft {
        name: "simulated".into(),
        target_url: "http://127.0.0.1:9000/".into(),
        event_types: vec!["*".into()],
        retry_rate: Some(retry_rate),
        retry: Some(retry),
        ..WebhookDraft::default()
    };
    let made = gateway
        .manage
        .create(&TenantId::default(), draft, None)
        .await;
    made.unwrap().id
}

/// Publishes this many events for a webhook.
pub(super) async fn publish(
    gateway: &Gateway,
    webhook: WebhookId,
    count: usize,
) -> Vec<DeliveryId> {
    let tenant = TenantId::default();
    let mut ids = Vec::with_capacity(count);
    while ids.len() < count {
        let together = TOGETHER.min(count - ids.len());
        let published = (0..together).map(|_| {
            let draft = EventDraft {
                event_type: "task.completed".into(),
                body: Bytes::from_static(b"{}"),
                content_type: "application/json".into(),
                session_id: None,
                webhook_id: Some(webhook.to_string()),
                origin: Origin::Api,
            };
            gateway.ingest.publish(&tenant, draft, None)
        });
        let published = join_all(published).await;
        ids.extend(published.into_iter().map(|one| one.unwrap().deliveries[0]));
    }
    ids
}
