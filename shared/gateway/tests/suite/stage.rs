//! A store, a receiver, a queue and the functions' use cases over them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::delivery::{Delivery, Lease, LeaseOwner};
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::event::Origin;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::chores::Chores;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::poll::{Poll, Ticked};
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES, WorkerSettings};
use postrider_gateway::shadow::Shadows;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_gateway::worker::queue::{Handled, QueueWorker};
use postrider_gateway::{Gateway, Ports};
use postrider_ports::clock::Clock;
use postrider_ports::deliveries::{Claim, Seen, Wanted};
use postrider_ports::limiters::WebhookFlow;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::schedule::Schedule;
use postrider_ports::sender::Sender;
use postrider_ports::{AttemptStore, Result, Store, WorkerStore};
use postrider_testkit::builders::NOW;
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::receiver::Receiver;
use postrider_testkit::recording_queue::RecordingQueue;
use tokio::task::JoinSet;

/// The time that a function has.
pub(crate) const MINUTE: Millis = Millis::from_seconds(60);
const GRACE: Millis = Millis::from_seconds(180);

pub(crate) struct Stage {
    _directory: tempfile::TempDir,
    pub(crate) clock: Arc<SteppedClock>,
    pub(crate) receiver: Receiver,
    pub(crate) line: Arc<RecordingQueue>,
    pub(crate) gateway: Gateway,
    store: Arc<SqliteStore>,
    pub(crate) ports: Ports,
    pub(crate) egress: Rules,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let clock = Arc::new(SteppedClock::at(NOW));
        let ports = Ports {
            store: Arc::clone(&store) as Arc<dyn Store>,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            entropy: Arc::new(CountedEntropy::seeded(1)),
        };
        let allow = vec!["127.0.0.1/32".parse().unwrap()];
        let egress = Rules::new(EgressSettings {
            allow,
            ..EgressSettings::default()
        })
        .unwrap();
        let line = Arc::new(RecordingQueue::default());
        let limits = GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress: egress.clone(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        };
        let webhook_cache = Arc::new(WebhookCache::new(ports.store.clone()));
        let queue = Arc::clone(&line) as Arc<dyn Queue>;
        Self {
            gateway: Gateway::new(ports.clone(), webhook_cache, queue, limits),
            _directory: directory,
            clock,
            receiver: Receiver::start().await,
            line,
            store,
            ports,
            egress,
        }
    }

    pub(crate) fn sender(&self) -> Arc<dyn Sender> {
        let sender = SenderSettings {
            rules: self.egress.clone(),
            ..SenderSettings::default()
        };
        Arc::new(HttpSender::new(sender).unwrap())
    }

    /// With a webhook cache of its own.
    fn attempts(&self, sender: Arc<dyn Sender>, webhook_cache: &Arc<WebhookCache>) -> Attempts {
        let retry = RuntimeRetry::default();
        Attempts::new(self.ports.clone(), sender, Arc::clone(webhook_cache), retry)
    }

    /// A dispatcher function that shares only the store and the queue with the others.
    pub(crate) fn dispatcher(&self) -> QueueWorker {
        self.dispatcher_with(self.sender())
    }

    pub(crate) fn dispatcher_with(&self, sender: Arc<dyn Sender>) -> QueueWorker {
        let webhook_cache = Arc::new(WebhookCache::new(self.ports.store.clone()));
        let attempts = self.attempts(sender, &webhook_cache);
        // The store treats the leases of processes that it does not know as expired.
        let process = self.store.process().to_owned();
        let queue = Arc::clone(&self.line) as Arc<dyn Queue>;
        QueueWorker::new(self.ports.clone(), attempts, webhook_cache, queue, process)
    }

    pub(crate) fn embedded_worker(&self) -> Arc<EmbeddedWorker> {
        self.embedded_worker_with(self.sender())
    }

    pub(crate) fn embedded_worker_with(&self, sender: Arc<dyn Sender>) -> Arc<EmbeddedWorker> {
        let webhook_cache = Arc::new(WebhookCache::new(self.ports.store.clone()));
        EmbeddedWorker::new(
            self.ports.clone(),
            Arc::clone(&self.store) as _,
            self.attempts(sender, &webhook_cache),
            webhook_cache,
            self.store.process().to_owned(),
            &WorkerSettings::default(),
        )
    }

    /// An embedded worker whose attempts know no time: they renew no lease.
    pub(crate) fn embedded_worker_of(
        &self,
        schedule: Arc<dyn Schedule>,
        settings: &WorkerSettings,
    ) -> Arc<EmbeddedWorker> {
        self.timeless(self.ports.store.clone(), schedule, settings)
    }

    /// The same, with another store for its attempts.
    pub(crate) fn embedded_worker_writing_to(
        &self,
        store: Arc<dyn AttemptStore>,
        settings: &WorkerSettings,
    ) -> Arc<EmbeddedWorker> {
        self.timeless(store, self.schedule(), settings)
    }

    /// The same, with another store for all that it reads and claims.
    pub(crate) fn embedded_worker_claiming_from(
        &self,
        store: Arc<dyn WorkerStore>,
        settings: &WorkerSettings,
    ) -> Arc<EmbeddedWorker> {
        let webhook_cache = Arc::new(WebhookCache::new(self.ports.store.clone()));
        let ports = Ports {
            store,
            clock: Arc::clone(&self.ports.clock),
            entropy: Arc::clone(&self.ports.entropy),
        };
        EmbeddedWorker::new(
            ports,
            self.schedule(),
            self.attempts(self.sender(), &webhook_cache),
            webhook_cache,
            self.store.process().to_owned(),
            settings,
        )
    }

    fn timeless(
        &self,
        store: Arc<dyn AttemptStore>,
        schedule: Arc<dyn Schedule>,
        settings: &WorkerSettings,
    ) -> Arc<EmbeddedWorker> {
        let webhook_cache = Arc::new(WebhookCache::new(self.ports.store.clone()));
        let ports = Ports {
            store,
            clock: Arc::new(SteppedClock::at(NOW)) as Arc<dyn Clock>,
            entropy: Arc::clone(&self.ports.entropy),
        };
        let (retry, cache) = (RuntimeRetry::default(), Arc::clone(&webhook_cache));
        let attempts = Attempts::new(ports, self.sender(), cache, retry);
        let process = self.store.process().to_owned();
        EmbeddedWorker::new(
            self.ports.clone(),
            schedule,
            attempts,
            webhook_cache,
            process,
            settings,
        )
    }

    /// From here on the gateway and an embedded worker are one process: new deliveries begin at once.
    pub(crate) fn embed(
        &mut self,
        sender: Arc<dyn Sender>,
        settings: &WorkerSettings,
    ) -> Arc<EmbeddedWorker> {
        let webhook_cache = Arc::new(WebhookCache::new(self.ports.store.clone()));
        let worker = EmbeddedWorker::new(
            self.ports.clone(),
            self.schedule(),
            self.attempts(sender, &webhook_cache),
            Arc::clone(&webhook_cache),
            self.store.process().to_owned(),
            settings,
        );
        self.gateway = Gateway::embedded(
            self.ports.clone(),
            webhook_cache,
            Arc::new(InProcessQueue(Arc::clone(&worker))),
            Arc::clone(&self.store) as _,
            self.gateway.settings.clone(),
        );
        worker
    }

    pub(crate) fn schedule(&self) -> Arc<dyn Schedule> {
        Arc::clone(&self.store) as _
    }

    /// Shadow requests to URLs that `rules` allow, with a sender that obeys `senders`.
    pub(crate) fn shadows(&self, rules: Rules, senders: Rules) -> Shadows {
        let settings = SenderSettings {
            rules: senders,
            ..SenderSettings::default()
        };
        let sender = Arc::new(HttpSender::new(settings).unwrap());
        Shadows::new(self.ports.clone(), sender, rules)
    }

    /// Hands queue messages to a dispatcher that has a minute.
    pub(crate) async fn handle(
        &self,
        messages: Vec<impl Into<QueueMessage>>,
    ) -> Vec<Result<Handled>> {
        let messages = messages.into_iter().map(Into::into).collect();
        self.dispatcher().handle(messages, self.in_a_minute()).await
    }

    /// Hands over the messages of a row, each at its time, until the row is closed.
    pub(crate) async fn handle_until_closed(&self, id: DeliveryId) {
        while self.row(id).await.status.is_open() {
            let messages = self.line.take();
            assert_eq!(messages.len(), 1, "{messages:?}");
            self.clock.set(messages[0].not_before().unwrap());
            self.handle(messages).await;
        }
    }

    pub(crate) fn in_a_minute(&self) -> Timestamp {
        self.clock.now().plus(MINUTE)
    }

    pub(crate) async fn tick(&self) -> Ticked {
        let backlog = Arc::clone(&self.store);
        let queue = Arc::clone(&self.line) as Arc<dyn Queue>;
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let now = self.clock.now();
        let poll = Poll::new(backlog, queue, clock, GRACE);
        poll.tick(Some(now), now.plus(MINUTE)).await
    }

    pub(crate) async fn webhook(&self) -> WebhookId {
        self.webhook_with(WebhookDraft::default()).await
    }

    pub(crate) async fn webhook_with(&self, draft: WebhookDraft) -> WebhookId {
        self.create(WebhookDraft {
            target_url: self.receiver.url(),
            ..draft
        })
        .await
    }

    /// A webhook for another path of the receiver.
    pub(crate) async fn webhook_at(&self, path: &str) -> WebhookId {
        let url: url::Url = self.receiver.url().parse().unwrap();
        self.create(WebhookDraft {
            target_url: url.join(path).unwrap().into(),
            ..WebhookDraft::default()
        })
        .await
    }

    async fn create(&self, draft: WebhookDraft) -> WebhookId {
        let draft = WebhookDraft {
            name: "Upload Notifications".into(),
            event_types: vec!["task.*".into()],
            ..draft
        };
        let created = self.gateway.manage.create(&tenant(), draft, None).await;
        created.unwrap().id
    }

    /// Publishes an event for a webhook; its message is in the queue.
    pub(crate) async fn publish(&self, webhook: WebhookId) -> DeliveryId {
        self.publish_payload(webhook, "{}").await
    }

    pub(crate) async fn publish_payload(
        &self,
        webhook: WebhookId,
        payload: &'static str,
    ) -> DeliveryId {
        let draft = EventDraft {
            event_type: "task.completed".into(),
            body: Bytes::from_static(payload.as_bytes()),
            content_type: "application/json".into(),
            session_id: None,
            webhook_id: Some(webhook.to_string()),
            origin: Origin::Api,
        };
        let published = self.gateway.ingest.publish(&tenant(), draft, None).await;
        published.unwrap().deliveries[0]
    }

    /// Another worker holds the row for an hour.
    pub(crate) async fn hold(&self, id: DeliveryId) {
        let owner = LeaseOwner {
            process: self.store.process().to_owned(),
            claim: 0,
        };
        let until = self.clock.now().plus(Millis::from_seconds(3600));
        let wanted = Wanted {
            tenant: tenant(),
            id,
            lease: Lease { owner, until },
            seen: Seen::default(),
        };
        let claims = self.ports.store.claim(vec![wanted], self.clock.now()).await;
        assert!(matches!(claims[..], [Ok(Claim::Claimed(_))]), "{claims:?}");
    }

    /// The chores of a poller after its tick.
    pub(crate) async fn chores(&self) {
        let queue = Arc::clone(&self.line) as Arc<dyn Queue>;
        Chores::new(self.ports.clone(), queue).turn().await;
    }

    /// Plays the queue: hands over messages when they are due, while time passes. Returns when no message is left or the
    /// span is over.
    pub(crate) async fn work(&self, mut waiting: Vec<QueueMessage>, span: Millis) {
        let end = self.clock.now().plus(span);
        let worker = Arc::new(self.dispatcher());
        let mut under_way = JoinSet::new();
        while self.clock.now() < end {
            waiting.extend(self.line.take());
            let now = self.clock.now();
            let is_due = |message: &mut QueueMessage| message.not_before() <= Some(now);
            let due: Vec<_> = waiting.extract_if(.., is_due).collect();
            if !due.is_empty() {
                let (worker, deadline) = (Arc::clone(&worker), self.in_a_minute());
                under_way.spawn(async move { worker.handle(due, deadline).await });
            }
            while under_way.try_join_next().is_some() {}
            if under_way.is_empty() && waiting.is_empty() {
                waiting.extend(self.line.take());
                if waiting.is_empty() {
                    return;
                }
            }
            real_time_passes().await;
            self.clock.advance(Millis::new(50));
        }
        under_way.abort_all();
    }

    pub(crate) async fn flow(&self, webhook: WebhookId) -> WebhookFlow {
        let mut flows = self.ports.store.flows(&[(tenant(), webhook)]).await;
        flows.remove(0).unwrap().unwrap()
    }

    pub(crate) async fn row(&self, id: DeliveryId) -> Delivery {
        let found = self.ports.store.delivery(&tenant(), id).await;
        found.unwrap().unwrap()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the receiver and the store take real time, while the clock of the test stands still"
)]
pub(crate) async fn real_time_passes() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

pub(crate) fn tenant() -> TenantId {
    TenantId::default()
}
