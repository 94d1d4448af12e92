//! A whole gateway with SQLite, real sockets and a stepped clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::delivery::Delivery;
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::event::Origin;
use postrider_domain::flow::FlowStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::retry::{RetrySettings, RuntimeRetry};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{Webhook, WebhookDraft};
use postrider_gateway::attempt::Attempts;
use postrider_gateway::ingest::{EventDraft, Published};
use postrider_gateway::settings::validation::EventValidation;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES, WorkerSettings};
use postrider_gateway::shadow::Shadows;
use postrider_gateway::sweep::Sweep;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::embedded::{Cycle, EmbeddedWorker, InProcessQueue};
use postrider_gateway::{Gateway, GatewayError, Ports};
use postrider_ports::clock::Clock;
use postrider_ports::notifications::StoredNotification;
use postrider_ports::sender::Sender;
use postrider_ports::{EmbeddedStore, Store};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::receiver::Receiver;

pub(crate) const START: Timestamp = Timestamp::from_millis(1_771_668_000_000);

/// What a restart replaces.
struct Process {
    gateway: Gateway,
    shadows: Shadows,
    worker: Arc<EmbeddedWorker>,
    sweep: Sweep,
    store: Arc<dyn EmbeddedStore>,
}

pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) clock: Arc<SteppedClock>,
    pub(crate) receiver: Receiver,
    settings: WorkerSettings,
    validation: EventValidation,
    process: Option<Process>,
    starts: u64,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(WorkerSettings::default()).await
    }

    pub(crate) async fn with_retry(retry: RuntimeRetry) -> Self {
        Self::with(WorkerSettings {
            retry,
            ..WorkerSettings::default()
        })
        .await
    }

    pub(crate) async fn with(settings: WorkerSettings) -> Self {
        Self::of(settings, EventValidation::Off).await
    }

    /// With payloads checked against the event catalogue.
    pub(crate) async fn validating(validation: EventValidation) -> Self {
        Self::of(WorkerSettings::default(), validation).await
    }

    async fn of(settings: WorkerSettings, validation: EventValidation) -> Self {
        let mut world = Self {
            directory: tempfile::tempdir().unwrap(),
            clock: Arc::new(SteppedClock::at(START)),
            receiver: Receiver::start().await,
            settings,
            validation,
            process: None,
            starts: 0,
        };
        world.start();
        world
    }

    fn start(&mut self) {
        self.starts += 1;
        let store = SqliteStore::open(self.directory.path(), SqliteOptions::default()).unwrap();
        let process = store.process().to_owned();
        let store: Arc<dyn EmbeddedStore> = store;
        let ports = Ports {
            store: Arc::clone(&store) as _,
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            entropy: Arc::new(CountedEntropy::seeded(self.starts << 32)),
        };
        let allow = vec!["127.0.0.1/32".parse().unwrap()];
        let egress = Rules::new(EgressSettings {
            allow,
            ..EgressSettings::default()
        })
        .unwrap();
        let sender = SenderSettings {
            rules: egress.clone(),
            ..SenderSettings::default()
        };
        let sender: Arc<dyn Sender> = Arc::new(HttpSender::new(sender).unwrap());
        let shadows = Shadows::new(ports.clone(), Arc::clone(&sender), egress.clone());
        let webhook_cache = Arc::new(WebhookCache::new(Arc::clone(&store) as _));
        let retry = self.settings.retry;
        let dispatcher = Attempts::new(ports.clone(), sender, Arc::clone(&webhook_cache), retry);
        let worker = EmbeddedWorker::new(
            ports.clone(),
            Arc::clone(&store) as _,
            dispatcher,
            Arc::clone(&webhook_cache),
            process,
            &self.settings,
        );
        let in_process = Arc::new(InProcessQueue(Arc::clone(&worker)));
        let sweep = Sweep::new(
            ports.clone(),
            Arc::clone(&store) as _,
            Arc::clone(&in_process) as _,
            &self.settings,
        );
        let limits = GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress,
            retry,
            event_validation: self.validation,
        };
        let gateway = Gateway::embedded(
            ports,
            webhook_cache,
            in_process,
            Arc::clone(&store) as _,
            limits,
        );
        self.process = Some(Process {
            gateway,
            shadows,
            worker,
            sweep,
            store,
        });
    }

    fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        &self.process().gateway
    }

    pub(crate) fn shadows(&self) -> &Shadows {
        &self.process().shadows
    }

    /// The files of the data directory.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file());
        let read = |path: std::path::PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        };
        files.map(read).collect()
    }

    /// The database file, for tests that read it directly.
    pub(crate) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.directory.path().join("postrider.db")).unwrap()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.process().store
    }

    /// Ends the process without finishing anything, like a crash, and starts another one on the same data.
    pub(crate) async fn restart(&mut self) {
        let Process {
            gateway,
            shadows,
            worker,
            sweep,
            store,
        } = self.process.take().unwrap();
        worker.abandon();
        worker.finish().await;
        drop((gateway, shadows, worker, sweep, store));
        self.start();
    }

    pub(crate) async fn webhook(&self, retry: RetrySettings) -> Webhook {
        self.webhook_at(&self.receiver.url(), retry).await
    }

    pub(crate) async fn webhook_at(&self, url: &str, retry: RetrySettings) -> Webhook {
        let draft = WebhookDraft {
            name: "Upload Notifications".into(),
            target_url: url.to_owned(),
            event_types: vec!["task.*".into()],
            retry: Some(retry),
            ..WebhookDraft::default()
        };
        self.create(draft).await
    }

    pub(crate) async fn create(&self, draft: WebhookDraft) -> Webhook {
        self.gateway()
            .manage
            .create(&TenantId::default(), draft, None)
            .await
            .unwrap()
    }

    pub(crate) async fn try_publish(
        &self,
        webhook: Option<WebhookId>,
    ) -> Result<Published, GatewayError> {
        let draft = EventDraft {
            event_type: "task.completed".into(),
            body: bytes::Bytes::from_static(b"{ \"task\" : 1 }"),
            content_type: "application/json".into(),
            session_id: Some("session-1".into()),
            webhook_id: webhook.map(|id| id.to_string()),
            origin: Origin::Api,
        };
        self.gateway()
            .ingest
            .publish(&TenantId::default(), draft, None)
            .await
    }

    /// Publishes an event for one webhook and waits until its attempts have ended.
    pub(crate) async fn publish(&self, webhook: WebhookId) -> DeliveryId {
        let id = self.post(webhook).await;
        self.idle().await;
        id
    }

    /// Publishes an event for one webhook.
    pub(crate) async fn post(&self, webhook: WebhookId) -> DeliveryId {
        self.try_publish(Some(webhook)).await.unwrap().deliveries[0]
    }

    pub(crate) async fn idle(&self) {
        self.process().worker.idle().await;
    }

    /// One cycle, including the attempts it starts.
    pub(crate) async fn cycle(&self) -> Cycle {
        let cycle = self.process().worker.cycle().await.unwrap();
        self.idle().await;
        cycle
    }

    /// One cycle, without waiting for the attempts it starts.
    pub(crate) async fn begin_cycle(&self) -> Cycle {
        self.process().worker.cycle().await.unwrap()
    }

    /// Runs the worker in the background.
    pub(crate) fn run(&self) -> tokio::task::JoinHandle<()> {
        tokio::spawn(Arc::clone(&self.process().worker).run())
    }

    pub(crate) async fn sweep(&self) {
        self.process().sweep.turn().await;
    }

    /// Lets this much time pass with cycles and sweeps; returns how many attempts started when.
    pub(crate) async fn pass(&self, span: Millis) -> BTreeMap<Timestamp, usize> {
        let end = self.clock.now().plus(span);
        let (mut sweep_at, mut sent_at) = (self.clock.now(), BTreeMap::new());
        loop {
            let now = self.clock.now();
            if now >= sweep_at {
                self.sweep().await;
                self.idle().await;
                sweep_at = now.plus(self.settings.poll_interval);
            }
            let cycle = self.cycle().await;
            if cycle.started > 0 {
                *sent_at.entry(now).or_default() += cycle.started;
            }
            if cycle.started + cycle.ended > 0 {
                continue;
            }
            if now >= end {
                return sent_at;
            }
            let next = cycle.next_at.unwrap_or(end);
            self.clock.set(next.min(sweep_at).min(end));
        }
    }

    pub(crate) async fn flow(&self, id: WebhookId) -> FlowStatus {
        let webhook = self.hook(id).await;
        self.gateway().manage.flow(&webhook).await.unwrap()
    }

    /// The current rate of a webhook, in thousandths of attempts per second.
    pub(crate) async fn rate(&self, id: WebhookId) -> u32 {
        self.flow(id).await.rate_milli
    }

    pub(crate) async fn resume(&self, id: WebhookId) -> Webhook {
        let manage = &self.gateway().manage;
        manage.resume(&TenantId::default(), id).await.unwrap()
    }

    /// Steps to the row's next attempt and runs it; returns the wait.
    pub(crate) async fn next_attempt(&self, id: DeliveryId) -> Millis {
        let before = self.row(id).await;
        let due_at = before.next_retry_at.expect("the row is open");
        let wait = due_at.since(self.clock.now());
        self.clock.set(due_at);
        self.cycle().await;
        assert_eq!(self.row(id).await.attempts_total, before.attempts_total + 1);
        wait
    }

    /// Attempts a row until it is closed; returns the waits in milliseconds.
    pub(crate) async fn exhaust(&self, id: DeliveryId) -> Vec<u64> {
        let mut waits = Vec::new();
        while self.row(id).await.status.is_open() {
            waits.push(self.next_attempt(id).await.get());
        }
        waits
    }

    pub(crate) async fn row(&self, id: DeliveryId) -> Delivery {
        self.store()
            .delivery(&TenantId::default(), id)
            .await
            .unwrap()
            .unwrap()
    }

    pub(crate) async fn hook(&self, id: WebhookId) -> Webhook {
        self.gateway()
            .manage
            .get(&TenantId::default(), id)
            .await
            .unwrap()
    }

    pub(crate) async fn notifications(&self) -> Vec<StoredNotification> {
        let tenant = TenantId::default();
        let all = self.store().notifications_after(&tenant, 0, 10_000).await;
        all.unwrap()
    }

    pub(crate) async fn notifications_of(&self, kind: &str) -> Vec<StoredNotification> {
        let all = self.notifications().await;
        all.into_iter()
            .filter(|notification| notification.kind == kind)
            .collect()
    }
}
