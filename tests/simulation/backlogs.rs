//! Backlogs on AWS when things go wrong: the real worker and the real poller in virtual time, over a store in memory whose
//! index lags, whose calls take time, and whose callers die.

mod fleet;
mod hosts;
mod lines;
mod ports;
mod receiver;
mod sqs;
mod state;
mod store;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use postrider_domain::flow::AttemptKind;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_gateway::Ports;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::poll::backlogs::Backlogs;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::queue::QueueWorker;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{DrainMessage, Queue, QueueMessage};
use postrider_ports::sender::Sender;
use postrider_testkit::builders;
use postrider_testkit::clock::CountedEntropy;
use tokio::select;

use super::START;
use super::receiver::most_in_a_second;
use super::time::VirtualClock;
use receiver::PromptReceiver;
use sqs::UnreliableQueue;
use store::MemoryStore;

pub use fleet::{
    FleetRecovery, FleetSize, Shared, TooLate, claim_too_late, drain_unreadable,
    left_by_the_poller, looks_for_a_round, page_too_late, recover_from_outage, share_with_hanging,
};
pub use sqs::Fault as QueueFault;

/// Attempts per second, of retries.
pub const RATE: u32 = 20;
const MINUTE: Millis = Millis::from_seconds(60);
/// The time that a function has.
const FUNCTION: Millis = Millis::from_seconds(60);
/// How often the world looks at its queue.
const STEP: Millis = Millis::new(20);

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// The drainer dies at this call to the store, counted from the beginning.
    pub dies_at_call: Option<usize>,
    pub queue: QueueFault,
    pub index_lag: Millis,
    pub operator: Operator,
    /// One more row is written into the backlog this late.
    pub late_row_after: Option<Millis>,
}

impl Trouble {
    pub const NONE: Self = Self {
        dies_at_call: None,
        queue: QueueFault::None,
        index_lag: Millis::ZERO,
        operator: Operator::Idle,
        late_row_after: None,
    };
}

/// What an operator does, at this call to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Idle,
    PausesAndResumesAt(usize),
    DeletesAt(usize),
}

/// What drains a backlog that nothing goes wrong with.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnLimits {
    pub max_rate: Option<u32>,
    pub max_in_flight: Option<u32>,
    /// How long the receiver takes to answer, if not a moment.
    pub answers_after: Option<Millis>,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Drained {
    pub rows: usize,
    pub delivered: usize,
    /// How many still wait in the backlog of a webhook that exists.
    pub waiting: usize,
    pub most_in_a_second: usize,
    pub most_in_flight: usize,
    /// How many calls to the store were made.
    pub calls: usize,
    /// The most `drain` messages that were in the queue at the same time.
    pub most_messages: usize,
    pub took: Millis,
}

struct World {
    clock: Arc<VirtualClock>,
    store: Arc<MemoryStore>,
    queue: Arc<UnreliableQueue>,
    receiver: Arc<PromptReceiver>,
    webhook: Webhook,
}

/// Drains this many retries of one webhook, whatever goes wrong.
#[must_use]
pub fn drain_backlog(rows: usize, trouble: Trouble, patience: Millis) -> Drained {
    let world = World::new(webhook(), trouble, PromptReceiver::ANSWERS_AFTER);
    world.drain(rows, AttemptKind::Retry, trouble, patience)
}

/// Drains this many first attempts of a webhook that has limits of its own.
#[must_use]
pub fn drain_first_attempts(
    rows: usize,
    own: OwnLimits,
    trouble: Trouble,
    patience: Millis,
) -> Drained {
    let mut webhook = webhook();
    webhook.settings.max_rate = own.max_rate;
    webhook.settings.max_in_flight = own.max_in_flight;
    let answers_after = own.answers_after.unwrap_or(PromptReceiver::ANSWERS_AFTER);
    let world = World::new(webhook, trouble, answers_after);
    world.drain(rows, AttemptKind::First, trouble, patience)
}

fn webhook() -> Webhook {
    let mut webhook = builders::webhook(&postrider_domain::ids::TenantId::default(), 1);
    webhook.settings.retry_rate = RATE;
    webhook
}

impl World {
    fn new(webhook: Webhook, trouble: Trouble, answers_after: Millis) -> Self {
        let clock = Arc::new(VirtualClock::at(START));
        Self {
            store: Arc::new(MemoryStore::new(
                Arc::clone(&clock),
                vec![webhook.clone()],
                trouble.index_lag,
            )),
            queue: Arc::new(UnreliableQueue::new(Arc::clone(&clock), trouble.queue)),
            receiver: Arc::new(PromptReceiver::new(Arc::clone(&clock), answers_after)),
            clock,
            webhook,
        }
    }

    fn drain(&self, rows: usize, kind: AttemptKind, trouble: Trouble, patience: Millis) -> Drained {
        self.store.state(self.webhook.id).register(START);
        for n in 0..rows {
            self.add_row(u32::try_from(n).unwrap_or(0), kind);
        }
        self.clock.run(self.run(rows, trouble, patience))
    }

    async fn run(&self, rows: usize, trouble: Trouble, patience: Millis) -> Drained {
        let (begin, mut tick_at) = (self.clock.now(), START);
        let end = begin.plus(patience);
        let mut under_way: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        let mut late_row = trouble.late_row_after.map(|after| begin.plus(after));
        let expected = rows + usize::from(late_row.is_some());
        let mut operator = trouble.operator;
        self.queue.send_now(self.drain_message());
        while self.clock.now() < end && !self.is_done(expected) {
            let now = self.clock.now();
            if late_row.is_some_and(|at| at <= now) {
                self.add_row(1_000_000, AttemptKind::Retry);
                late_row = None;
            }
            if now >= tick_at {
                under_way.push(Box::pin(self.tick(tick_at)));
                tick_at = tick_at.plus(MINUTE);
            }
            for message in self.queue.take_visible() {
                under_way.push(Box::pin(self.handle(message, trouble.dies_at_call)));
            }
            self.operate(&mut operator);
            select! {
                biased;
                Some(()) = under_way.next() => {}
                () = self.clock.sleep_until(now.plus(STEP)) => {}
            }
        }
        let asked = self.receiver.arrivals();
        Drained {
            rows: expected,
            delivered: self.receiver.delivered(),
            waiting: self.store.waiting(),
            most_in_a_second: most_in_a_second(&asked),
            most_in_flight: self.receiver.most_in_flight(),
            calls: self.store.calls(),
            most_messages: self.queue.most(),
            took: self.clock.now().since(begin),
        }
    }

    fn is_done(&self, expected: usize) -> bool {
        let is_drained = self.receiver.delivered() >= expected && self.store.waiting() == 0;
        is_drained || self.store.state(self.webhook.id).webhook.is_none()
    }

    /// A row that is due, in the backlog.
    fn add_row(&self, n: u32, kind: AttemptKind) {
        let (now, mut state) = (self.clock.now(), self.store.state(self.webhook.id));
        if state.webhook.is_some() {
            state.add_to_backlog(n, kind, now, now);
        }
    }

    fn operate(&self, operator: &mut Operator) {
        let calls = self.store.calls();
        match *operator {
            Operator::PausesAndResumesAt(call) if calls >= call => {
                self.store.pause(self.webhook.id);
                self.store.resume(self.webhook.id);
                self.queue.send_now(self.drain_message());
                *operator = Operator::Idle;
            }
            Operator::DeletesAt(call) if calls >= call => {
                self.store.delete(self.webhook.id);
                *operator = Operator::Idle;
            }
            Operator::Idle | Operator::PausesAndResumesAt(_) | Operator::DeletesAt(_) => {}
        }
    }

    fn drain_message(&self) -> QueueMessage {
        DrainMessage {
            tenant: self.webhook.tenant.clone(),
            webhook: self.webhook.id,
            not_before: self.clock.now(),
        }
        .into()
    }

    /// A function, with a process of its own. It ends at the given call, as if the machine had failed.
    async fn handle(&self, message: QueueMessage, dies_at_call: Option<usize>) {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let worker = worker(
            store,
            clock,
            Arc::clone(&self.receiver) as _,
            Arc::clone(&self.queue),
        );
        let deadline = self.clock.now().plus(FUNCTION);
        let handled = worker.handle(vec![message], deadline);
        select! {
            biased;
            () = self.store.reaches(dies_at_call) => {}
            _ = handled => {}
        }
    }

    async fn tick(&self, at: Timestamp) {
        let backlogs = Backlogs::new(
            Arc::clone(&self.store) as _,
            Arc::clone(&self.queue) as _,
            Arc::clone(&self.clock) as _,
        );
        backlogs.look(at.plus(Millis::from_seconds(25))).await;
    }
}

/// A function, with a process of its own.
fn worker(
    store: Arc<MemoryStore>,
    clock: Arc<VirtualClock>,
    sender: Arc<dyn Sender>,
    queue: Arc<impl Queue + 'static>,
) -> QueueWorker {
    let process = store.process();
    let cache = Arc::new(WebhookCache::new(Arc::clone(&store) as _));
    let entropy = Arc::new(CountedEntropy::seeded(process));
    let attempts = Attempts::new(
        Ports::<dyn postrider_ports::AttemptStore> {
            store: Arc::clone(&store) as _,
            clock: Arc::clone(&clock) as _,
            entropy: Arc::clone(&entropy) as _,
        },
        sender,
        Arc::clone(&cache),
        RuntimeRetry::default(),
    );
    QueueWorker::new(
        Ports::<dyn postrider_ports::WorkerStore> {
            store,
            clock,
            entropy,
        },
        attempts,
        cache,
        queue,
        format!("p{process}"),
    )
}
