//! The use cases of the functions over real tables: publish, attempt, poll.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use bytes::Bytes;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::event::Origin;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::ingest::{EventDraft, PublishRequest};
use postrider_gateway::poll::{Poll, Ticked};
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::queue::{Handled, QueueWorker};
use postrider_gateway::{Gateway, Ports};
use postrider_ports::clock::Clock;
use postrider_ports::configs::Created;
use postrider_ports::queue::QueueMessage;
use postrider_ports::{Result, Store};
use postrider_testkit::builders::{self, NOW};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::receiver::Receiver;
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_testkit::store_suite::{Handle, Scene, WaitingRows};

use crate::support::{Dynamo, Meter, fixture};

const MINUTE: Millis = Millis::from_seconds(60);
const GRACE: Millis = Millis::from_seconds(180);

/// An API function, a dispatcher and a poller, which share the tables, a queue and a clock.
pub(crate) struct Stage {
    pub(crate) tables: Dynamo,
    pub(crate) scene: Scene,
    pub(crate) meter: Meter,
    pub(crate) clock: Arc<SteppedClock>,
    pub(crate) queue: Arc<RecordingQueue>,
    pub(crate) receiver: Receiver,
    pub(crate) gateway: Gateway,
    ports: Ports,
    worker: QueueWorker,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let tables = fixture().await;
        let meter = Meter::default();
        let config = tables.config().interceptor(meter.clone());
        let clock = Arc::new(SteppedClock::at(NOW));
        let ports: Ports = Ports {
            store: tables.store_with(Client::from_conf(config.build())) as Arc<dyn Store>,
            clock: Arc::clone(&clock) as _,
            entropy: Arc::new(CountedEntropy::seeded(1)),
        };
        let queue = Arc::new(RecordingQueue::default());
        let rules = Rules::new(EgressSettings {
            allow: vec!["127.0.0.1/32".parse().unwrap()],
            ..EgressSettings::default()
        });
        let rules = rules.unwrap();
        let settings = GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress: rules.clone(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        };
        let sender = HttpSender::new(SenderSettings {
            rules,
            ..SenderSettings::default()
        });
        let cache = || Arc::new(WebhookCache::new(Arc::clone(&ports.store) as _));
        let (api_cache, worker_cache) = (cache(), cache());
        let (sender, retry) = (Arc::new(sender.unwrap()), RuntimeRetry::default());
        let attempts = Attempts::new(ports.clone(), sender, Arc::clone(&worker_cache), retry);
        let process = "i-0123456789abcdef0:4f1c2a9e".to_owned();
        Self {
            scene: Scene::of(Handle {
                store: Arc::clone(&ports.store),
                process: process.clone(),
                embedded: None,
                waiting_rows: WaitingRows::InBacklog,
            }),
            gateway: Gateway::new(ports.clone(), api_cache, Arc::clone(&queue) as _, settings),
            worker: QueueWorker::new(
                ports.clone(),
                attempts,
                worker_cache,
                Arc::clone(&queue) as _,
                process,
            ),
            receiver: Receiver::start().await,
            tables,
            meter,
            clock,
            queue,
            ports,
        }
    }

    /// A new webhook for the receiver.
    pub(crate) async fn webhook(&self) -> WebhookId {
        let mut webhook: Webhook = builders::webhook(&self.scene.tenant, self.scene.draw());
        webhook.settings.target_url = self.receiver.url().parse().unwrap();
        let id = webhook.id;
        let created = self.scene.create_webhook(webhook).await;
        assert_eq!(created, Ok(Created::Done));
        id
    }

    pub(crate) fn request(webhook: WebhookId) -> PublishRequest {
        let draft = EventDraft {
            event_type: "task.completed".into(),
            body: Bytes::from_static(b"{}"),
            content_type: "application/json".into(),
            session_id: None,
            webhook_id: Some(webhook.to_string()),
            origin: Origin::Api,
        };
        PublishRequest { draft, key: None }
    }

    /// Publishes an event for a webhook; its message is in the queue.
    pub(crate) async fn publish(&self, webhook: WebhookId) -> DeliveryId {
        let draft = Self::request(webhook).draft;
        let tenant = &self.scene.tenant;
        let published = self.gateway.ingest.publish(tenant, draft, None).await;
        published.unwrap().deliveries.remove(0)
    }

    /// Hands the messages in the queue to a dispatcher that has a minute.
    pub(crate) async fn work(&self) -> Vec<Result<Handled>> {
        self.handle(self.queue.take()).await
    }

    pub(crate) async fn handle(&self, messages: Vec<QueueMessage>) -> Vec<Result<Handled>> {
        self.worker.handle(messages, self.in_a_minute()).await
    }

    /// The same, for messages whose handling takes time by the clock.
    pub(crate) async fn handle_while_time_passes(
        &self,
        messages: Vec<QueueMessage>,
    ) -> Vec<Result<Handled>> {
        let mut handling = std::pin::pin!(self.handle(messages));
        loop {
            tokio::select! {
                handled = &mut handling => return handled,
                () = real_time_passes() => self.clock.advance(Millis::new(50)),
            }
        }
    }

    /// A tick of the poller.
    pub(crate) async fn tick(&self) -> Ticked {
        let store = Arc::clone(&self.ports.store);
        let (queue, clock) = (Arc::clone(&self.queue), Arc::clone(&self.clock));
        let poll = Poll::new(store, queue, clock, GRACE);
        poll.tick(Some(self.clock.now()), self.in_a_minute()).await
    }

    pub(crate) async fn row(&self, id: DeliveryId) -> Delivery {
        self.scene.stored(id).await
    }

    pub(crate) async fn is_delivered(&self, id: DeliveryId) -> bool {
        self.row(id).await.status == Status::Delivered
    }

    fn in_a_minute(&self) -> Timestamp {
        self.clock.now().plus(MINUTE)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the receiver and the tables take real time, while the clock of the test stands still"
)]
async fn real_time_passes() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}
