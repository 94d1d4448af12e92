//! The embedded worker: finds due rows, claims them and runs their attempts. It limits the attempts in flight per webhook
//! and shares slots fairly between webhooks, so that a slow or dead receiver does not delay the others.

mod agenda;
mod breather;
mod cycle;
mod flows;
mod slots;
mod spoiled;
mod under_way;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Delivery, Lease, LeaseOwner};
use postrider_domain::flow::{AttemptKind, FlowStatus, Observation};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{FASTEST_MAX_RATE, Webhook, longest_attempt};
use postrider_ports::Result;
use postrider_ports::WorkerStore;
use postrider_ports::deliveries::ClaimedDelivery;
use postrider_ports::flow::FlowStates;
use postrider_ports::queue::{AttemptMessage, ProbeMessage, Queue, QueueMessage};
use postrider_ports::schedule::Schedule;
use postrider_ports::sender::OwnFault;
use postrider_ports::start_now::StartNow;
use tokio::select;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempt::{Attempted, Attempts, LEASE_MARGIN, ProbeResult};
use crate::settings::WorkerSettings;
use crate::webhook_cache::WebhookCache;
use crate::worker::embedded::agenda::Agenda;
use crate::worker::embedded::breather::{Breather, Pause};
use crate::worker::embedded::cycle::Refill;
use crate::worker::embedded::flows::Flows;
use crate::worker::embedded::slots::{Key, Slots};
use crate::worker::embedded::spoiled::Spoiled;
use crate::worker::embedded::under_way::UnderWay;
use crate::{Ports, telemetry, traces};

/// How long completions are gathered before waiting rows are read again. Reading after each completion would claim rows
/// one by one.
const GATHER: Millis = Millis::new(2);
/// How much of its lease the longest attempt must leave to be started.
const SPARE: Millis = Millis::from_seconds(1);
/// How long a publisher waits at most for deliveries of others to begin.
const SLOWED_DOWN_FOR: Millis = Millis::new(100);
/// When a row is looked at again that was claimed too late to be started.
const RETRY_START_AFTER: Millis = Millis::from_seconds(1);

pub struct EmbeddedWorker {
    ports: Ports<dyn WorkerStore>,
    schedule: Arc<dyn Schedule>,
    attempts: Attempts,
    webhook_cache: Arc<WebhookCache>,
    process: String,
    poll_interval: Millis,
    slots: Slots<ClaimedDelivery>,
    flows: Flows,
    agenda: Mutex<Agenda>,
    refill: Mutex<Refill>,
    breather: Breather,
    wake: Notify,
    /// The latest time at which the loop reads the agenda again.
    looks_again_at: AtomicI64,
    under_way: UnderWay,
    spoiled: Spoiled,
    tasks: TaskTracker,
    spawner: Arc<dyn Spawner>,
    aborted: CancellationToken,
}

/// Runs the tasks of a worker: attempts and probes.
pub trait Spawner: Send + Sync {
    fn spawn(&self, task: BoxFuture<'static, ()>);
}

/// Runs them on the runtime that the worker is called on.
struct TokioSpawner;

impl Spawner for TokioSpawner {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

/// The result of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Rows that were claimed; those that were claimed ahead begin later.
    pub started: usize,
    /// Rows that ended because their webhook was deleted.
    pub ended: usize,
    /// When the next row may begin.
    pub next_at: Option<Timestamp>,
}

impl EmbeddedWorker {
    /// `process` is the owner of its leases.
    #[must_use]
    pub fn new(
        ports: impl Into<Ports<dyn WorkerStore>>,
        schedule: Arc<dyn Schedule>,
        attempts: Attempts,
        webhook_cache: Arc<WebhookCache>,
        process: String,
        settings: &WorkerSettings,
    ) -> Arc<Self> {
        let spawner = Arc::new(TokioSpawner);
        Self::spawning(
            spawner,
            ports,
            schedule,
            attempts,
            webhook_cache,
            process,
            settings,
        )
    }

    /// The same on another executor.
    #[must_use]
    pub fn spawning(
        spawner: Arc<dyn Spawner>,
        ports: impl Into<Ports<dyn WorkerStore>>,
        schedule: Arc<dyn Schedule>,
        attempts: Attempts,
        webhook_cache: Arc<WebhookCache>,
        process: String,
        settings: &WorkerSettings,
    ) -> Arc<Self> {
        Arc::new(Self {
            ports: ports.into(),
            schedule,
            attempts,
            webhook_cache,
            process,
            poll_interval: settings.poll_interval,
            slots: Slots::new(settings.per_webhook, settings.total),
            flows: Flows::default(),
            agenda: Mutex::default(),
            refill: Mutex::default(),
            breather: Breather::default(),
            wake: Notify::new(),
            looks_again_at: AtomicI64::new(i64::MAX),
            under_way: UnderWay::default(),
            spoiled: Spoiled::default(),
            tasks: TaskTracker::new(),
            spawner,
            aborted: CancellationToken::new(),
        })
    }

    /// Runs cycles until it is dropped: when the next row is due, when it is woken, and at least once per poll interval.
    pub async fn run(self: Arc<Self>) {
        loop {
            let now = self.ports.clock.now();
            let latest = now.plus(self.poll_interval);
            self.looks_again_at
                .store(latest.as_millis(), Ordering::Release);
            let until = match self.cycle().await {
                Ok(cycle) if cycle.started + cycle.ended > 0 => {
                    self.gather().await;
                    continue;
                }
                Ok(cycle) => cycle.next_at.map_or(latest, |next_at| next_at.min(latest)),
                Err(error) => {
                    telemetry::cycle_failed(&error);
                    latest.min(now.plus(Millis::from_seconds(1)))
                }
            };
            // The clock may have been set back during the cycle.
            let until = until.min(self.ports.clock.now().plus(self.poll_interval));
            self.looks_again_at
                .store(until.as_millis(), Ordering::Release);
            select! {
                // Both lead to the next cycle. A fixed order lets a simulation repeat a run.
                biased;
                () = self.wake.notified() => self.gather().await,
                () = self.ports.clock.sleep_until(until) => {}
            }
        }
    }

    async fn gather(&self) {
        if self.slots.has_backlog() {
            self.ports
                .clock
                .sleep_until(self.ports.clock.now().plus(GATHER))
                .await;
        }
    }

    /// Starts no further attempts and returns when those in flight have ended and are written.
    pub async fn finish(&self) {
        self.slots.close();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Aborts the attempts in flight without writing anything, like the end of the process. Their rows are attempted
    /// again.
    pub fn abandon(&self) {
        self.slots.close();
        self.aborted.cancel();
    }

    /// Returns when no attempt is in flight.
    pub async fn idle(&self) {
        self.slots.idle().await;
    }

    fn lease(&self, timeout: Millis, now: Timestamp) -> Lease {
        let claim = u64::from_ne_bytes(self.ports.entropy.bytes());
        let owner = LeaseOwner {
            process: self.process.clone(),
            claim,
        };
        Lease {
            owner,
            until: now.plus(longest_attempt(timeout)).plus(LEASE_MARGIN),
        }
    }

    /// Starts a task that [`Self::finish`] waits for.
    fn run_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawner.spawn(Box::pin(self.tasks.track_future(task)));
    }

    /// Starts a claimed row that was promised with a body of this length, or lets it wait for a slot.
    fn begin(self: &Arc<Self>, delivery: ClaimedDelivery, promised: usize) {
        let (row, bytes) = (delivery.claimed.delivery(), delivery.event.body.len());
        let key = (row.tenant.clone(), row.id.webhook);
        self.under_way.add(row);
        let now = self.ports.clock.now();
        let lengths = (promised, bytes);
        if let Some(delivery) = self.slots.begin(&key, delivery, lengths, now) {
            self.spawn(delivery);
        }
    }

    /// Attempts a claimed row whose slot is already taken.
    fn spawn(self: &Arc<Self>, delivery: ClaimedDelivery) {
        let (worker, mut slot) = (Arc::clone(self), self.slot(&delivery));
        self.run_task(async move {
            worker.attempt(&delivery, &mut slot).await;
            worker.start_next(slot);
        });
    }

    /// Attempts a delivery that waited for its slot, unless its webhook was stopped or limited meanwhile.
    fn spawn_ready(self: &Arc<Self>, delivery: ClaimedDelivery) {
        let (worker, mut slot) = (Arc::clone(self), self.slot(&delivery));
        self.run_task(async move {
            if worker.may_still_begin(delivery.claimed.delivery()).await {
                worker.attempt(&delivery, &mut slot).await;
            } else {
                worker.put_back(&delivery).await;
            }
            worker.start_next(slot);
        });
    }

    fn slot(self: &Arc<Self>, delivery: &ClaimedDelivery) -> Slot {
        let row = delivery.claimed.delivery();
        Slot {
            worker: Arc::clone(self),
            key: (row.tenant.clone(), row.id.webhook),
            delivery: Some(row.id),
            bytes: delivery.event.body.len(),
            is_returned: false,
            taken_at: self.ports.clock.now(),
        }
    }

    async fn attempt(&self, delivery: &ClaimedDelivery, slot: &mut Slot) {
        let answered = |observation, transition| {
            self.observe(&slot.key, observation);
            // A failure may stop its webhook, or limit it: nothing takes its slot before it is written.
            if transition == Transition::Deliver {
                slot.return_unwritten();
            }
        };
        let attempt = self.attempts.attempt_telling(delivery, SPARE, answered);
        let result = self.aborted.run_until_cancelled(attempt).await;
        // Before its next attempt is planned: a row that is under way is not read.
        let row = delivery.claimed.delivery();
        self.under_way.remove(&row.tenant, row.id);
        match result {
            Some(result) => self.attempted(delivery, result.written),
            None => telemetry::attempt_not_counted(&delivery.claimed, "aborted"),
        }
    }

    async fn may_still_begin(&self, row: &Delivery) -> bool {
        let now = self.ports.clock.now();
        if self.is_paused(&row.tenant, row.id.webhook, now) {
            return false;
        }
        // An error, or a webhook that is gone, is the attempt's to report.
        let Ok(snapshot) = self.webhook_cache.recent(&row.tenant, now).await else {
            return true;
        };
        snapshot.get(row.id.webhook).is_none_or(|webhook| {
            !webhook.health.status.is_stopped() && self.flows.may_begin(webhook, now)
        })
    }

    /// Frees a row that this process has claimed; it is due as before.
    async fn put_back(&self, delivery: &ClaimedDelivery) {
        let row = delivery.claimed.delivery();
        self.attempts.free(&delivery.claimed).await;
        self.under_way.remove(&row.tenant, row.id);
        let due_at = row.next_retry_at.unwrap_or(row.created_at);
        let key = (row.tenant.clone(), row.id.webhook);
        self.note_row(key, AttemptKind::of(row), due_at);
    }

    /// Returns a slot unless it was returned before, and starts the deliveries that waited for it.
    fn start_next(self: &Arc<Self>, slot: Slot) {
        let held = (!slot.is_returned).then(|| slot.key.clone());
        drop(slot);
        if let Some(key) = held {
            self.start_ready(Some(&key));
        }
    }

    /// Starts deliveries that wait for a slot, as far as slots are free; those of this webhook first.
    fn start_ready(self: &Arc<Self>, key: Option<&Key>) {
        while let Some(delivery) = self.slots.next_ready(key, self.ports.clock.now()) {
            self.spawn_ready(delivery);
        }
    }

    /// Tells the limiter what an attempt says about its receiver.
    fn observe(&self, key: &Key, observation: Observation) {
        let now = self.ports.clock.now();
        if let Some(change) = self.flows.observe(key, observation, now) {
            telemetry::flow_changed(key.1, change);
            // The limit may end without another attempt.
            self.note(key.clone(), now);
        }
    }

    /// Plans what follows from an attempt.
    fn attempted(&self, delivery: &ClaimedDelivery, written: Result<Attempted>) {
        let claimed = &delivery.claimed;
        let row = claimed.delivery();
        let key = (row.tenant.clone(), row.id.webhook);
        match written {
            Ok(Attempted::Done(after)) => {
                traces::notified_with(&after, &*self.ports.clock);
                if let Some(due_at) = after.next_retry_at {
                    self.note_row(key, AttemptKind::of(&after), due_at);
                }
                return;
            }
            Ok(Attempted::GivenBack(fault)) => return self.pause(row, &fault),
            Ok(Attempted::Stale) => telemetry::attempt_not_counted(claimed, "stale"),
            Ok(Attempted::NotStarted) => {
                telemetry::attempt_not_counted(claimed, "not started");
                self.note_row(
                    key.clone(),
                    AttemptKind::of(row),
                    self.ports.clock.now().plus(RETRY_START_AFTER),
                );
            }
            Err(error) => telemetry::attempt_abandoned(claimed, &error),
        }
        // The row may be held until its lease ends.
        self.note_row(
            key,
            AttemptKind::of(row),
            row.lease_until.plus(Millis::new(1)),
        );
    }

    /// Starts no attempts for a moment after a fault of our own. The row is free and due as before.
    fn pause(&self, row: &Delivery, fault: &OwnFault) {
        let key = (row.tenant.clone(), row.id.webhook);
        self.begin_pause(key.clone(), fault);
        self.flows.forget_rows(&key);
        let now = self.ports.clock.now();
        let ends_at = self.breather.ends_at(&key, now).unwrap_or(now);
        self.note(key.clone(), ends_at);
        // If the claim could not be given back, the row is held until its lease ends.
        self.note(key, row.lease_until.plus(Millis::new(1)));
    }

    fn begin_pause(&self, key: Key, fault: &OwnFault) {
        let (webhook, now) = (key.1, self.ports.clock.now());
        if self.breather.begin(key, fault.kind.extent(), now) == Pause::New {
            telemetry::worker_paused(webhook, fault);
        }
    }

    fn is_paused(&self, tenant: &TenantId, webhook: WebhookId, now: Timestamp) -> bool {
        let webhook = (tenant.clone(), webhook);
        self.breather.ends_at(&webhook, now).is_some()
    }

    /// Probes a webhook if a slot is free; otherwise the next sweep asks again.
    fn probe(self: &Arc<Self>, tenant: TenantId, webhook: WebhookId) {
        let now = self.ports.clock.now();
        if self.is_paused(&tenant, webhook, now) || !self.slots.take(&tenant, webhook, None) {
            return;
        }
        let worker = Arc::clone(self);
        let slot = Slot {
            worker: Arc::clone(self),
            key: (tenant.clone(), webhook),
            delivery: None,
            bytes: 0,
            is_returned: false,
            taken_at: now,
        };
        self.run_task(async move {
            let probe = worker.attempts.probe(&tenant, webhook);
            match worker.aborted.run_until_cancelled(probe).await {
                Some(Ok(ProbeResult::Passed)) => worker.resume((tenant, webhook)),
                Some(Ok(ProbeResult::GivenBack(fault))) => {
                    worker.begin_pause((tenant, webhook), &fault);
                }
                Some(Ok(ProbeResult::Failed | ProbeResult::NotSent)) | None => {}
                Some(Err(error)) => telemetry::probe_failed(webhook, &error),
            }
            worker.start_next(slot);
        });
    }

    /// Looks at a webhook that may have been stopped until now.
    fn resume(&self, key: Key) {
        self.flows.forget_rows(&key);
        self.note(key, self.ports.clock.now());
    }

    fn give_back(&self, slot: &Slot) {
        let took = self.ports.clock.now().since(slot.taken_at);
        if self.slots.finished(&slot.key, slot.bytes, took) {
            self.wake.notify_one();
        }
    }

    /// Plans a look at a webhook for when one of its rows may begin.
    fn note_row(&self, key: Key, kind: AttemptKind, due_at: Timestamp) {
        let at = self
            .flows
            .note_row(&key, kind, due_at, self.ports.clock.now());
        self.note(key, at);
    }

    /// Plans a look for a row that was stored or requeued. The message does not say of which kind it is: a look finds out.
    fn note_message(&self, message: &AttemptMessage) {
        let key = (message.tenant.clone(), message.id.webhook);
        self.note_row(key, AttemptKind::First, message.next_retry_at);
    }

    /// Plans a look at a webhook, and wakes the loop if it would sleep for longer.
    fn note(&self, key: Key, at: Timestamp) {
        self.agenda.lock().note(key, at);
        if at.as_millis() < self.looks_again_at.load(Ordering::Acquire) {
            self.wake.notify_one();
        }
    }
}

/// A taken slot; returned however the attempt or probe ends.
struct Slot {
    worker: Arc<EmbeddedWorker>,
    key: Key,
    /// `None` for a probe.
    delivery: Option<DeliveryId>,
    /// The length of its body, which stays in memory until the result is written.
    bytes: usize,
    /// Whether the slot was returned before the result is written.
    is_returned: bool,
    taken_at: Timestamp,
}

impl Slot {
    /// Returns the slot of a request that has ended although its result is not written yet, unless too many results wait to be
    /// written.
    fn return_unwritten(&mut self) {
        if self.is_returned || !self.worker.slots.may_leave_unwritten(self.bytes) {
            return;
        }
        self.is_returned = true;
        self.worker.give_back(self);
        self.worker.start_ready(Some(&self.key));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(id) = self.delivery {
            self.worker.under_way.remove(&self.key.0, id);
        }
        if self.is_returned {
            self.worker.slots.written(self.bytes);
        } else {
            self.worker.give_back(self);
        }
    }
}

/// The embedded worker as seen by the use cases: a queue whose messages are wake-ups, and a way to start first attempts
/// without one.
pub struct InProcessQueue(pub Arc<EmbeddedWorker>);

#[async_trait]
impl StartNow for InProcessQueue {
    async fn admit(&self) {
        let worker = &self.0;
        let thin = worker.slots.thin(|| worker.ports.clock.now());
        let until = worker.ports.clock.now().plus(SLOWED_DOWN_FOR);
        select! {
            biased;
            () = thin => {}
            // However long the others take, the event is stored.
            () = worker.ports.clock.sleep_until(until) => {}
        }
    }

    fn reserve(&self, webhook: &Webhook, bytes: usize, now: Timestamp) -> Option<Lease> {
        let worker = &self.0;
        let key = (webhook.tenant.clone(), webhook.id);
        let may_begin = worker.breather.ends_at(&key, now).is_none()
            && worker.flows.may_begin(webhook, now)
            && worker
                .slots
                .promise(&key, webhook.settings.max_in_flight, bytes, now);
        may_begin.then(|| worker.lease(webhook.settings.timeout, now))
    }

    fn start(&self, delivery: ClaimedDelivery) {
        let bytes = delivery.event.body.len();
        self.0.begin(delivery, bytes);
    }

    fn cancel(&self, tenant: &TenantId, webhook: WebhookId, bytes: usize) {
        self.0.slots.withdraw(&(tenant.clone(), webhook), bytes);
    }
}

#[async_trait]
impl FlowStates for InProcessQueue {
    async fn flows(&self, webhooks: &[Webhook]) -> Result<Vec<FlowStatus>> {
        let status = |webhook| self.0.flows.status(webhook);
        Ok(webhooks.iter().map(status).collect())
    }

    fn fastest_max_rate(&self) -> u32 {
        FASTEST_MAX_RATE
    }
}

#[async_trait]
impl Queue for InProcessQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let deliver = |message| match message {
            QueueMessage::Attempt(message) => {
                self.0.note_message(&message);
                Ok(())
            }
            QueueMessage::Probe(ProbeMessage { tenant, webhook }) => {
                self.0.probe(tenant, webhook);
                Ok(())
            }
            QueueMessage::Drain(message) => {
                self.0.resume((message.tenant, message.webhook));
                Ok(())
            }
        };
        messages.into_iter().map(deliver).collect()
    }

    async fn depth(&self) -> Result<u64> {
        // A message is only a wake-up: nothing waits in this queue.
        Ok(0)
    }
}
