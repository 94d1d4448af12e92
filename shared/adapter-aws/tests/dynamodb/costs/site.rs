//! A gateway on metered tables, and the way of its events through it.

use std::collections::HashSet;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use postrider_adapter_aws::dynamodb::{DynamoStore, Follower, Record};
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_aws_bill::{Counted, Units};
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::event::Origin;
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::outcome::KEPT_BODY_BYTES;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::chores::Chores;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::keyring::LAST_USE_PRECISION;
use postrider_gateway::poll::Poll;
use postrider_gateway::poll::backlogs::Backlogs;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::watch::Watcher;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::queue::{Handled, QueueWorker};
use postrider_gateway::{Gateway, Ports};
use postrider_ports::clock::Clock;
use postrider_ports::configs::Webhooks;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::watch::AcceptedRow;
use postrider_testkit::builders::{NOW, webhook, webhook_id};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::receiver::{Answer, Receiver};
use postrider_testkit::recording_queue::RecordingQueue;

use super::cases::{BUSY, Case, Load};
use super::storage;
use crate::support::{Dynamo, Meter, Spent, fixture};

/// Long enough for every cache to expire.
const QUIET: Millis = Millis::from_seconds(30);
const MINUTE: Millis = Millis::from_seconds(60);
/// How long the stream collects records for the watcher.
const WATCH_WINDOW: Millis = Millis::from_seconds(120);
const MONTH_SECONDS: f64 = 30.0 * 86_400.0;
/// The length of a typical URL.
const URL_BYTES: usize = 56;
/// How many notifications a request to the topic holds.
const PER_TOPIC_REQUEST: usize = 10;
/// The read units of a query that finds nothing.
const EMPTY_QUERY: f64 = 0.5;

pub(super) struct Site {
    case: Case,
    load: Load,
    tables: Dynamo,
    meter: Meter,
    clock: Arc<SteppedClock>,
    queue: Arc<RecordingQueue>,
    receiver: Receiver,
    store: Arc<DynamoStore>,
    gateway: Gateway,
    worker: QueueWorker,
    follower: Follower,
    token: String,
}

impl Site {
    /// A gateway whose functions are warm. When quiet, they were last used half a minute ago.
    pub(super) async fn open(case: &Case, load: Load) -> Self {
        let (tables, meter, receiver) =
            (fixture().await, Meter::default(), Receiver::start().await);
        let webhooks = match (case.failures, load) {
            (0, _) | (_, Load::Quiet) => case.fan_out,
            (_, Load::Busy) => BUSY,
        };
        let tenant = TenantId::default();
        for n in 1..=webhooks {
            let mut hook = webhook(&tenant, n);
            let url = format!("{}/tenants/4711/webhooks/incoming", receiver.url());
            let url = format!("{url}{}", "/".repeat(URL_BYTES.saturating_sub(url.len())));
            hook.settings.target_url = url.parse().unwrap();
            tables.store.create_webhook(hook).await.unwrap();
        }
        let config = tables.config().interceptor(meter.clone());
        let store = tables.store_with(Client::from_conf(config.build()));
        let clock = Arc::new(SteppedClock::at(NOW));
        let queue = Arc::new(RecordingQueue::default());
        let (gateway, worker) = functions(&store, &clock, &queue);
        let token = gateway
            .keyring
            .create(&tenant, "publisher", vec![Scope::Publish])
            .await;
        let site = Self {
            token: token.unwrap().token,
            follower: Follower::of(Arc::clone(&store)),
            store,
            case: case.clone(),
            load,
            tables,
            meter,
            clock,
            queue,
            receiver,
            gateway,
            worker,
        };
        site.warm_up().await;
        site
    }

    async fn warm_up(&self) {
        for n in 0..self.webhooks_named() {
            self.publish(u64::from(BUSY + n), n).await;
        }
        self.attempt_all(&mut Counted::default()).await;
        let _ = self.receiver.take_requests();
        if self.load == Load::Quiet {
            self.clock.advance(QUIET);
        }
    }

    /// How many webhooks are published to by name, one event each.
    fn webhooks_named(&self) -> u32 {
        match (self.case.failures, self.load) {
            (0, _) | (_, Load::Quiet) => 1,
            (_, Load::Busy) => BUSY,
        }
    }

    /// Counts the whole way of one event, or of many.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    pub(super) async fn count(&self) -> Counted {
        let events = match self.load {
            Load::Quiet => 1,
            Load::Busy => BUSY / self.case.fan_out,
        };
        let mut counted = Counted {
            deliveries: f64::from(events * self.case.fan_out),
            events: f64::from(events),
            ..Counted::default()
        };
        let failures = events * self.case.fan_out * self.case.failures;
        let unavailable = Answer::status(503).body(&"ü".repeat(KEPT_BODY_BYTES / 2));
        self.receiver
            .answer_next(vec![unavailable; failures as usize]);
        self.meter.take();
        let mut published = HashSet::new();
        for n in 0..events {
            published.insert(self.publish(u64::from(n), n).await);
        }
        counted.accept = self.spent();
        counted.key_use = self.key_use().await;
        self.attempt_all(&mut counted).await;
        self.watch_all(&published, &mut counted).await;
        let requests = self.receiver.take_requests();
        counted.attempts = requests.len() as f64;
        counted.sent_bytes = requests
            .iter()
            .map(|request| request.body.len() as f64)
            .sum();
        let expected = f64::from(failures) + counted.deliveries;
        assert_eq!(counted.attempts, expected, "{}", self.case.name);
        self.weigh(&published, &mut counted).await;
        counted
    }

    fn spent(&self) -> Units {
        let spent = self.meter.take();
        Units {
            writes: spent.writes,
            reads: spent.reads,
        }
    }

    /// A quiet key's use is noted once for the events of some minutes; a busy one's for so many that it does not matter.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    async fn key_use(&self) -> Units {
        if self.load == Load::Busy {
            return Units::default();
        }
        let published_at = self.clock.now();
        self.clock.advance(LAST_USE_PRECISION);
        self.gateway.keyring.recognise(&self.token).await.unwrap();
        self.clock.set(published_at);
        let noted = self.spent();
        Units {
            writes: noted.writes * QUIET.get() as f64 / LAST_USE_PRECISION.get() as f64,
            // The key is read for every event, and counted there.
            reads: 0.0,
        }
    }

    /// As the api function does; returns the event's id.
    async fn publish(&self, n: u64, index: u32) -> String {
        let key = self.gateway.keyring.recognise(&self.token).await;
        let tenant = key.unwrap().unwrap().tenant.clone();
        let named = (self.case.fan_out == 1).then(|| {
            let index = index % self.webhooks_named();
            webhook_id(index + 1).to_string()
        });
        let draft = EventDraft {
            event_type: "order.paid".to_owned(),
            body: self.case.family.body(n, self.case.body_bytes),
            content_type: "application/json".to_owned(),
            session_id: self.case.session.map(str::to_owned),
            webhook_id: named,
            origin: Origin::Api,
        };
        let key = self.case.key.map(|key| format!("{key}-{n}"));
        let published = self.gateway.ingest.publish(&tenant, draft, key.as_deref());
        published.await.unwrap().event.to_string()
    }

    /// Hands all messages to the dispatcher and all changes to the publisher, until nothing is left.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    async fn attempt_all(&self, counted: &mut Counted) {
        loop {
            self.follow_all(counted).await;
            let messages = self.queue.take();
            let Some(last) = messages.iter().filter_map(QueueMessage::not_before).max() else {
                return;
            };
            counted.messages += messages.len() as f64;
            self.clock.set(last.max(self.clock.now()));
            let together = if self.load == Load::Busy { 10 } else { 1 };
            for batch in messages.chunks(together) {
                counted.message_batches += 1.0;
                let deadline = self.clock.now().plus(MINUTE);
                for handled in self.worker.handle(batch.to_vec(), deadline).await {
                    assert_eq!(handled, Ok(Handled::Attempted), "{}", self.case.name);
                }
                let spent = self.spent();
                counted.attempt.writes += spent.writes;
                counted.attempt.reads += spent.reads;
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    async fn follow_all(&self, counted: &mut Counted) {
        loop {
            let changes = self.tables.changes().await;
            if changes.is_empty() {
                return;
            }
            let passed: Vec<_> = changes.into_iter().filter(passes_filters).collect();
            let together = if self.load == Load::Busy { 100 } else { 1 };
            for batch in passed.chunks(together) {
                counted.changes += batch.len() as f64;
                counted.change_batches += 1.0;
                if batch.iter().any(|record| record.finished().is_some()) {
                    counted.finishing_batches += 1.0;
                }
                let followed = self.follower.follow(batch.to_vec(), self.clock.now()).await;
                self.follower.settle(batch, self.clock.now()).await;
                let notifications: usize = followed.into_iter().map(|it| it.unwrap().len()).sum();
                counted.topic_requests += notifications.div_ceil(PER_TOPIC_REQUEST) as f64;
            }
            let spent = self.spent();
            counted.publish.writes += spent.writes;
            counted.publish.reads += spent.reads;
        }
    }

    /// The watcher gets the accepted rows of two minutes at once, when most of them are closed.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    async fn watch_all(&self, events: &HashSet<String>, counted: &mut Counted) {
        let mut accepted = Vec::new();
        let (store, tenant) = (&self.gateway.ports.store, TenantId::default());
        for event in events {
            let rows = store.rows_of(&tenant, event.parse().unwrap()).await;
            accepted.extend(rows.unwrap().into_iter().map(|row| AcceptedRow {
                tenant: row.tenant,
                id: row.id,
                created_at: row.created_at,
            }));
        }
        self.meter.take();
        let watcher = Watcher::new(Arc::clone(&self.store) as _, Arc::clone(&self.clock) as _);
        let watched = watcher.watch(accepted).await.unwrap();
        assert_eq!(watched.recovered, 0);
        counted.watch = self.spent();
        counted.watch_batches = match self.load {
            Load::Quiet => QUIET.get() as f64 / WATCH_WINDOW.get() as f64,
            Load::Busy => 1.0,
        };
    }

    /// Adds what the events and their rows occupy, for as long as they are kept.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    async fn weigh(&self, events: &HashSet<String>, counted: &mut Counted) {
        let scan = self
            .tables
            .client
            .scan()
            .table_name(&self.tables.tables.deliveries);
        for item in scan.send().await.unwrap().items.unwrap() {
            let pk = item["pk"].as_s().unwrap();
            if !pk
                .rsplit('#')
                .next()
                .is_some_and(|event| events.contains(event))
            {
                continue;
            }
            let expires_at: f64 = item["expires_at"].as_n().unwrap().parse().unwrap();
            let months = (expires_at - NOW.as_seconds() as f64) / MONTH_SECONDS;
            counted.item_byte_months += storage::item_bytes(&item) as f64 * months;
            counted.index_byte_months += storage::index_bytes(&item) as f64 * months;
        }
        assert!(counted.item_byte_months > 0.0);
    }

    /// The units of a run of the poller that finds nothing.
    pub(super) async fn idle_tick(&self) -> Units {
        self.clock.advance(QUIET);
        self.meter.take();
        let Ports { store, clock, .. } = self.gateway.ports.clone();
        let deadline = self.clock.now().plus(MINUTE);
        let queue = Arc::clone(&self.queue) as Arc<dyn Queue>;
        let grace = Millis::from_seconds(180);
        let poll = Poll::new(
            Arc::clone(&store) as _,
            Arc::clone(&queue),
            Arc::clone(&clock),
            grace,
        );
        poll.tick(Some(self.clock.now()), deadline).await;
        let backlogs = Backlogs::new(Arc::clone(&store) as _, Arc::clone(&queue), clock);
        backlogs.look(deadline).await;
        Chores::new(self.gateway.ports.clone(), queue)
            .turn_until(deadline)
            .await;
        let every_minute = self.meter.take();
        store.failed_webhooks().await.unwrap();
        let every_fifth = self.meter.take();
        // DynamoDB Local counts nothing for a query that finds nothing.
        let reads = |spent: &Spent| spent.reads + EMPTY_QUERY * spent.empty_queries;
        Units {
            writes: every_minute.writes,
            reads: reads(&every_minute) + reads(&every_fifth) / 5.0,
        }
    }
}

fn functions(
    store: &Arc<DynamoStore>,
    clock: &Arc<SteppedClock>,
    queue: &Arc<RecordingQueue>,
) -> (Gateway, QueueWorker) {
    let ports = Ports {
        store: Arc::clone(store) as _,
        clock: Arc::clone(clock) as _,
        entropy: Arc::new(CountedEntropy::seeded(1)),
    };
    let egress = Rules::new(EgressSettings {
        allow: vec!["127.0.0.1/32".parse().unwrap()],
        ..EgressSettings::default()
    });
    let egress = egress.unwrap();
    let limits = GatewaySettings {
        max_body_bytes: MAX_BODY_BYTES,
        egress: egress.clone(),
        retry: RuntimeRetry::default(),
        event_validation: Default::default(),
    };
    let cache = || Arc::new(WebhookCache::new(Arc::clone(store) as _));
    let gateway = Gateway::new(ports.clone(), cache(), Arc::clone(queue) as _, limits);
    let sender = HttpSender::new(SenderSettings {
        rules: egress,
        ..SenderSettings::default()
    });
    let (sender, cached) = (Arc::new(sender.unwrap()), cache());
    let retry = RuntimeRetry::default();
    let attempts = Attempts::new(ports.clone(), sender, Arc::clone(&cached), retry);
    let process = "0123456789abcdef0123456789abcdef".to_owned();
    let worker = QueueWorker::new(ports, attempts, cached, Arc::clone(queue) as _, process);
    (gateway, worker)
}

/// Whether a change wakes the publisher, as the filters in the template have it.
fn passes_filters(record: &Record) -> bool {
    let Some(image) = record.after.as_ref().or(record.before.as_ref()) else {
        return false;
    };
    let text = |name: &str| {
        image
            .get(name)
            .and_then(|of| of.as_s().ok())
            .map_or("", |text| text)
    };
    let is_free = image
        .get("lease_until")
        .and_then(|of| of.as_n().ok())
        .is_some_and(|n| n == "0");
    let is_modified = record.before.is_some() && record.after.is_some();
    let is_open = ["pending", "failed"].contains(&text("status"));
    match text("sk") {
        "state" => is_modified,
        "event" => record.after.is_some() && text("origin").starts_with("src_"),
        sk if sk.starts_with("refused#") => record.after.is_some(),
        sk if sk.starts_with("delivery#") && record.after.is_none() => is_open,
        sk if sk.starts_with("delivery#") => is_modified && is_free,
        _ => false,
    }
}
