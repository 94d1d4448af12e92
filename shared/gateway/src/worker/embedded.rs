//! The embedded worker: finds due rows, claims them and runs their attempts. It limits the attempts in flight per webhook
//! and shares slots fairly between webhooks, so that a slow or dead receiver does not delay the others.

mod cycle;
mod slots;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::{Lease, LeaseOwner};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::WorkerStore;
use postrider_ports::deliveries::ClaimedDelivery;
use postrider_ports::queue::{ProbeMessage, Queue, QueueMessage};
use postrider_ports::schedule::Schedule;
use postrider_ports::start_now::StartNow;
use tokio::select;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempt::{Attempted, Attempts, LEASE_MARGIN};
use crate::pacing::{Speed, TurnRules};
use crate::settings::WorkerSettings;
use crate::webhook_cache::WebhookCache;
use crate::worker::embedded::slots::Slots;
use crate::{Ports, telemetry, traces};

/// How long completions are gathered before waiting rows are read again. Reading after each completion would claim rows
/// one by one.
const GATHER: Millis = Millis::new(2);
/// A turn that is this late is no longer valid. Only a pause or a stop makes a row so late here.
const TURN_HOLDS_FOR: Millis = Millis::from_seconds(5);

pub struct EmbeddedWorker {
    ports: Ports<dyn WorkerStore>,
    schedule: Arc<dyn Schedule>,
    attempts: Attempts,
    webhook_cache: Arc<WebhookCache>,
    process: String,
    poll_interval: Millis,
    turns: TurnRules,
    slots: Slots,
    wake: Notify,
    /// The latest time at which the loop reads the agenda again.
    looks_again_at: AtomicI64,
    /// Rows that this process is attempting. Their leases may expire when the clock jumps or the disk stays full; they are
    /// not attempted a second time meanwhile.
    under_way: Mutex<HashSet<(TenantId, DeliveryId)>>,
    tasks: TaskTracker,
    aborted: CancellationToken,
}

/// The result of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Started attempts.
    pub started: usize,
    /// Rows that got a later turn.
    pub postponed: usize,
    /// Rows that were parked, or ended because their webhook was deleted.
    pub set_aside: usize,
    /// When the next row that is not due yet becomes due.
    pub next_due_at: Option<Timestamp>,
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
        Arc::new(Self {
            ports: ports.into(),
            schedule,
            attempts,
            webhook_cache,
            process,
            poll_interval: settings.poll_interval,
            turns: TurnRules {
                hold_for: TURN_HOLDS_FOR,
                ahead: settings.turns_ahead(),
            },
            slots: Slots::new(settings.per_webhook, settings.total),
            wake: Notify::new(),
            looks_again_at: AtomicI64::new(i64::MAX),
            under_way: Mutex::default(),
            tasks: TaskTracker::new(),
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
                Ok(cycle) if cycle.started + cycle.postponed + cycle.set_aside > 0 => {
                    self.gather().await;
                    continue;
                }
                Ok(cycle) => cycle
                    .next_due_at
                    .map_or(latest, |due_at| due_at.min(latest)),
                Err(error) => {
                    telemetry::cycle_failed(&error);
                    latest.min(now.plus(Millis::from_seconds(1)))
                }
            };
            self.looks_again_at
                .store(until.as_millis(), Ordering::Release);
            select! {
                () = self.ports.clock.sleep_until(until) => {}
                () = self.wake.notified() => self.gather().await,
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
            until: now.plus(timeout).plus(LEASE_MARGIN),
        }
    }

    /// Attempts a claimed row whose slot is already taken.
    fn spawn(self: &Arc<Self>, delivery: ClaimedDelivery, speed: Speed) {
        let worker = Arc::clone(self);
        let row = delivery.claimed.delivery();
        let slot = Slot {
            worker: Arc::clone(self),
            tenant: row.tenant.clone(),
            webhook: row.id.webhook,
            delivery: Some(row.id),
        };
        self.under_way.lock().insert((row.tenant.clone(), row.id));
        self.tasks.spawn(async move {
            let _slot = slot;
            let attempt = worker.attempts.attempt(&delivery, speed);
            match worker.aborted.run_until_cancelled(attempt).await {
                Some(Ok(Attempted::Done(after))) => {
                    traces::notified_with(&after, &*worker.ports.clock);
                    worker.note_due(after.next_retry_at);
                }
                Some(Ok(Attempted::Stale)) => {
                    telemetry::attempt_not_counted(&delivery.claimed, "stale");
                }
                Some(Ok(Attempted::NotStarted)) => {
                    telemetry::attempt_not_counted(&delivery.claimed, "not started");
                }
                Some(Err(error)) => telemetry::attempt_abandoned(&delivery.claimed, &error),
                None => telemetry::attempt_not_counted(&delivery.claimed, "aborted"),
            }
        });
    }

    /// Probes a webhook if a slot is free; otherwise the next sweep asks again.
    fn probe(self: &Arc<Self>, tenant: TenantId, webhook: WebhookId) {
        if !self.slots.take(&tenant, webhook) {
            return;
        }
        let worker = Arc::clone(self);
        let slot = Slot {
            worker: Arc::clone(self),
            tenant: tenant.clone(),
            webhook,
            delivery: None,
        };
        self.tasks.spawn(async move {
            let _slot = slot;
            let probe = worker.attempts.probe(&tenant, webhook);
            if let Some(Err(error)) = worker.aborted.run_until_cancelled(probe).await {
                telemetry::probe_failed(webhook, &error);
            }
        });
    }

    fn give_back(&self, tenant: &TenantId, webhook: WebhookId) {
        if self.slots.finished(tenant, webhook) {
            self.wake.notify_one();
        }
    }

    /// Wakes the loop if it would read the agenda only after this time.
    fn note_due(&self, next_retry_at: Option<Timestamp>) {
        let looks_again_at = self.looks_again_at.load(Ordering::Acquire);
        if next_retry_at.is_some_and(|at| at.as_millis() < looks_again_at) {
            self.wake.notify_one();
        }
    }
}

/// A taken slot; returned however the attempt or probe ends.
struct Slot {
    worker: Arc<EmbeddedWorker>,
    tenant: TenantId,
    webhook: WebhookId,
    /// `None` for a probe.
    delivery: Option<DeliveryId>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(id) = self.delivery {
            let row = (self.tenant.clone(), id);
            self.worker.under_way.lock().remove(&row);
        }
        self.worker.give_back(&self.tenant, self.webhook);
    }
}

/// The embedded worker as seen by the use cases: a queue whose messages are wake-ups, and a way to start first attempts
/// without one.
pub struct InProcessQueue(pub Arc<EmbeddedWorker>);

impl StartNow for InProcessQueue {
    fn reserve(&self, webhook: &Webhook, now: Timestamp) -> Option<Lease> {
        self.0
            .slots
            .take(&webhook.tenant, webhook.id)
            .then(|| self.0.lease(webhook.settings.timeout, now))
    }

    fn start(&self, delivery: ClaimedDelivery) {
        // A row of a slowed-down webhook is never inserted as claimed.
        self.0.spawn(delivery, Speed::Full);
    }

    fn cancel(&self, tenant: &TenantId, webhook: WebhookId) {
        self.0.give_back(tenant, webhook);
    }
}

#[async_trait]
impl Queue for InProcessQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let deliver = |message| match message {
            // The loop reads the agenda anyway.
            QueueMessage::Attempt(_) | QueueMessage::Drain(_) => Ok(()),
            QueueMessage::Probe(ProbeMessage { tenant, webhook }) => {
                self.0.probe(tenant, webhook);
                Ok(())
            }
        };
        let sent = messages.into_iter().map(deliver).collect();
        self.0.wake.notify_one();
        sent
    }

    async fn depth(&self) -> Result<u64> {
        // A message is only a wake-up: nothing waits in this queue.
        Ok(0)
    }
}
