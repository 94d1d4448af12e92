//! Many webhooks on AWS at once: real dispatchers, drainers and poller in virtual time.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use postrider_domain::flow::AttemptKind;
use postrider_domain::flow::Limiter;
use postrider_domain::ids::TenantId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_gateway::poll::backlogs::Backlogs;
use postrider_gateway::worker::queue::QueueWorker;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{DrainMessage, QueueMessage};
use postrider_testkit::builders;
use tokio::select;

use super::super::START;
use super::super::rows::mix;
use super::super::time::VirtualClock;
use super::hosts::Hosts;
use super::lines::{BATCH, Lines};
use super::store::MemoryStore;
use super::{FUNCTION, MINUTE, worker};

/// How often the world looks at its queues.
const STEP: Millis = Millis::new(20);
/// A tick of the poller has this long.
const TICK: Millis = Millis::from_seconds(53);
/// What an outage of one minute leaves in each backlog.
const RETRIES: u32 = 10;
const FIRST_ATTEMPTS: u32 = 5;
const RETRIES_APART: Millis = Millis::from_seconds(3);
/// The rate of a webhook whose receiver answered nothing, in thousandths.
const PROBING_MILLI: u32 = 2000;

/// How large the gateway is.
#[derive(Clone, Copy, Debug)]
pub struct FleetSize {
    pub webhooks: u32,
    /// How many dispatchers, and how many drainers, run at most.
    pub functions: usize,
}

/// How all webhooks recovered that were limited at the same time.
#[derive(Clone, Copy, Debug)]
pub struct FleetRecovery {
    pub rows: usize,
    pub delivered: usize,
    /// When the last backlog was empty and the last webhook no longer limited; `None` if that did not happen in time.
    pub all_open_after: Option<Millis>,
    pub longest_tick: Millis,
    /// Ticks that did not see all backlogs.
    pub incomplete_ticks: usize,
    /// The most `drain` messages of one webhook that were queued at the same time.
    pub most_drains: usize,
}

/// What the other webhooks get while some receivers hang.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Deliveries per second to the others if none hangs.
    pub without: usize,
    pub with: usize,
}

impl Shared {
    #[must_use]
    pub fn percent(&self) -> usize {
        self.with * 100 / self.without.max(1)
    }
}

impl fmt::Display for FleetRecovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.all_open_after.map(|after| after.to_string());
        write!(
            f,
            "{} of {} delivered; all open after {}; longest tick {}, {} incomplete; at most {} drains of a webhook queued",
            self.delivered,
            self.rows,
            open.as_deref().unwrap_or("never"),
            self.longest_tick,
            self.incomplete_ticks,
            self.most_drains,
        )
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/s without hanging receivers, {}/s with them: {} %",
            self.without,
            self.with,
            self.percent()
        )
    }
}

/// Everything could not be reached for a minute: every webhook is limited and has a backlog. Now all receivers are well.
#[must_use]
pub fn recover_from_outage(size: FleetSize, patience: Millis) -> FleetRecovery {
    let fleet = Fleet::new(size, |clock| Hosts::new(clock, 0, 0), Load::None);
    let rows = fleet.limit_all();
    let (clock, begin) = (Arc::clone(&fleet.clock), fleet.clock.now());
    let end = begin.plus(patience);
    clock.run(fleet.run(end, Fleet::is_open));
    let ticks = fleet.ticks.lock();
    let took = clock.now().since(begin);
    FleetRecovery {
        rows,
        delivered: fleet.hosts.delivered(),
        all_open_after: fleet.is_open().then_some(took),
        longest_tick: ticks.longest,
        incomplete_ticks: ticks.incomplete,
        most_drains: fleet.lines.most_drains(),
    }
}

/// As many events as the dispatchers can take, evenly for all webhooks, of which some never answer. Measured after a minute.
#[must_use]
pub fn share_with_hanging(size: FleetSize, hanging: u32, measured: Millis) -> Shared {
    let delivered = |hanging_now: u32| {
        let count_from = START.plus(MINUTE);
        let hosts = |clock| Hosts::new(clock, hanging_now, hanging).counting_from(count_from);
        let fleet = Fleet::new(size, hosts, Load::All);
        let clock = Arc::clone(&fleet.clock);
        clock.run(fleet.run(count_from.plus(measured), |_| false));
        let seconds = usize::try_from(measured.get() / 1000).unwrap_or(1);
        fleet.hosts.delivered() / seconds.max(1)
    };
    Shared {
        without: delivered(0),
        with: delivered(hanging),
    }
}

/// No `drain` message was ever sent, and one webhook cannot be read. Returns how many of the others still wait after this
/// long.
#[must_use]
pub fn left_by_the_poller(size: FleetSize, patience: Millis) -> usize {
    let mut fleet = Fleet::new(size, |clock| Hosts::new(clock, 0, 0), Load::None);
    fleet.limit_all();
    fleet.lines = Arc::new(Lines::new(Arc::clone(&fleet.clock)));
    let unreadable = fleet.webhooks[0].id;
    for mut state in fleet.store.states() {
        state.drain.asked_for = None;
    }
    Arc::get_mut(&mut fleet.store).unwrap().faults.unreadable = Some(unreadable);
    let others = |fleet: &Fleet| fleet.store.waiting() - fleet.store.state(unreadable).waiting();
    let clock = Arc::clone(&fleet.clock);
    let end = clock.now().plus(patience);
    clock.run(fleet.run(end, |fleet| others(fleet) == 0));
    others(&fleet)
}

/// How many looks of this length it takes to send a `drain` message for every webhook; at most 100.
#[must_use]
pub fn looks_for_a_round(webhooks: u32, length: Millis) -> usize {
    let size = FleetSize {
        webhooks,
        functions: 0,
    };
    let fleet = Fleet::new(size, |clock| Hosts::new(clock, 0, 0), Load::None);
    for mut state in fleet.store.states() {
        state.register(START);
    }
    let (mut looks, mut sent) = (0, 0);
    while sent < fleet.webhooks.len() && looks < 100 {
        let deadline = fleet.clock.now().plus(length);
        sent += fleet.clock.run(fleet.backlogs().look(deadline)).drains_sent;
        looks += 1;
    }
    looks
}

/// What a function does with a row whose claim takes so long that its attempt would outlive the function.
#[derive(Clone, Debug)]
pub struct TooLate {
    pub handled: String,
    pub attempted: usize,
    /// Whether another function may claim the row at once.
    pub is_free: bool,
    /// How many messages name the row now.
    pub messages: usize,
}

#[must_use]
pub fn claim_too_late(claim_takes: Millis) -> TooLate {
    let mut fleet = one_webhook();
    Arc::get_mut(&mut fleet.store).unwrap().faults.claims_take = claim_takes;
    let message = fleet.publish();
    let deadline = fleet.clock.now().plus(FUNCTION);
    let worker = fleet.worker();
    let handled = fleet.clock.run(worker.handle(vec![message], deadline));
    fleet.too_late(format!("{handled:?}"))
}

/// The same for a drain whose pages take this long.
#[must_use]
pub fn page_too_late(page_takes: Millis) -> TooLate {
    let mut fleet = one_webhook();
    Arc::get_mut(&mut fleet.store).unwrap().faults.pages_take = page_takes;
    let (now, webhook) = (fleet.clock.now(), fleet.webhooks[0].clone());
    fleet
        .store
        .state(webhook.id)
        .add_to_backlog(1, AttemptKind::Retry, now, now);
    let worker = fleet.worker();
    let drain = worker.handle(vec![drain_of(&webhook, now)], now.plus(FUNCTION));
    let handled = fleet.clock.run(drain);
    fleet.too_late(format!("{handled:?}"))
}

/// What a function does with a `drain` message for a webhook that cannot be read.
#[must_use]
pub fn drain_unreadable() -> String {
    let mut fleet = one_webhook();
    let webhook = fleet.webhooks[0].clone();
    Arc::get_mut(&mut fleet.store).unwrap().faults.unreadable = Some(webhook.id);
    let now = fleet.clock.now();
    let worker = fleet.worker();
    let drain = worker.handle(vec![drain_of(&webhook, now)], now.plus(FUNCTION));
    format!("{:?}", fleet.clock.run(drain))
}

fn one_webhook() -> Fleet {
    let size = FleetSize {
        webhooks: 1,
        functions: 0,
    };
    Fleet::new(size, |clock| Hosts::new(clock, 0, 0), Load::None)
}

/// Which events are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    None,
    /// As many as dispatchers can take.
    All,
}

#[derive(Default)]
struct Ticks {
    longest: Millis,
    incomplete: usize,
}

struct Fleet {
    clock: Arc<VirtualClock>,
    store: Arc<MemoryStore>,
    lines: Arc<Lines>,
    hosts: Arc<Hosts>,
    webhooks: Vec<Webhook>,
    functions: usize,
    load: Load,
    published: Mutex<u32>,
    ticks: Mutex<Ticks>,
}

/// What has ended.
enum Ended {
    Dispatcher(usize),
    Drainer(usize),
    Tick,
}

impl Fleet {
    fn new(size: FleetSize, hosts: impl FnOnce(Arc<VirtualClock>) -> Hosts, load: Load) -> Self {
        let clock = Arc::new(VirtualClock::at(START));
        let webhooks: Vec<_> = (0..size.webhooks).map(webhook).collect();
        let store = MemoryStore::new(Arc::clone(&clock), webhooks.clone(), Millis::ZERO);
        Self {
            store: Arc::new(store),
            lines: Arc::new(Lines::new(Arc::clone(&clock))),
            hosts: Arc::new(hosts(Arc::clone(&clock))),
            clock,
            webhooks,
            functions: size.functions,
            load,
            published: Mutex::new(0),
            ticks: Mutex::default(),
        }
    }

    /// Limits every webhook, fills its backlog and asks for a drain; returns how many rows there are.
    fn limit_all(&self) -> usize {
        let (now, mut n) = (self.clock.now(), 0);
        for webhook in &self.webhooks {
            let mut state = self.store.state(webhook.id);
            state.limiter = Limiter {
                limited: true,
                rate_milli: PROBING_MILLI,
                changed_at: now,
                waited_at: now,
                epoch: 1,
                ..Limiter::default()
            };
            state.register(now);
            state.drain.asked_for = Some(now);
            for retry in 0..RETRIES {
                let after = RETRIES_APART.get() * u64::from(retry);
                state.add_to_backlog(n, AttemptKind::Retry, now.plus(Millis::new(after)), now);
                n += 1;
            }
            for _ in 0..FIRST_ATTEMPTS {
                state.accept(n, now, now);
                n += 1;
            }
            drop(state);
            self.lines.send_now(drain_of(webhook, now));
        }
        usize::try_from(n).unwrap_or(0)
    }

    fn is_open(&self) -> bool {
        let mut states = self.store.states();
        states.all(|state| !state.limiter.limited && state.waiting() == 0)
    }

    async fn run(&self, end: Timestamp, is_done: impl Fn(&Self) -> bool) {
        let workers = || -> Vec<_> { (0..self.functions).map(|_| self.worker()).collect() };
        let (dispatchers, drainers) = (workers(), workers());
        let mut idle_dispatchers: Vec<_> = (0..self.functions).collect();
        let mut idle_drainers = idle_dispatchers.clone();
        let mut running: FuturesUnordered<BoxFuture<'_, Ended>> = FuturesUnordered::new();
        let (mut tick_at, mut look_at) = (self.clock.now(), self.clock.now());
        while self.clock.now() < end {
            let now = self.clock.now();
            if now >= look_at {
                if is_done(self) {
                    return;
                }
                look_at = now.plus(Millis::from_seconds(1));
            }
            if now >= tick_at {
                running.push(Box::pin(self.tick()));
                tick_at = tick_at.plus(MINUTE);
            }
            while let Some(slot) = idle_dispatchers.pop() {
                let batch = self.attempts();
                if batch.is_empty() {
                    idle_dispatchers.push(slot);
                    break;
                }
                let work = dispatchers[slot].handle(batch, now.plus(FUNCTION));
                running.push(Box::pin(async move {
                    work.await;
                    Ended::Dispatcher(slot)
                }));
            }
            while let Some(slot) = idle_drainers.pop() {
                let batch = self.lines.take_drains();
                if batch.is_empty() {
                    idle_drainers.push(slot);
                    break;
                }
                let work = drainers[slot].handle(batch, now.plus(FUNCTION));
                running.push(Box::pin(async move {
                    work.await;
                    Ended::Drainer(slot)
                }));
            }
            select! {
                biased;
                Some(ended) = running.next() => match ended {
                    Ended::Dispatcher(slot) => idle_dispatchers.push(slot),
                    Ended::Drainer(slot) => idle_drainers.push(slot),
                    Ended::Tick => {}
                },
                () = self.clock.sleep_until(now.plus(STEP)) => {}
            }
        }
    }

    fn worker(&self) -> QueueWorker {
        let (store, queue) = (Arc::clone(&self.store), Arc::clone(&self.lines));
        let clock = Arc::clone(&self.clock);
        worker(store, clock, Arc::clone(&self.hosts) as _, queue)
    }

    /// What the next dispatcher gets.
    fn attempts(&self) -> Vec<QueueMessage> {
        let mut batch = self.lines.take_attempts();
        while self.load == Load::All && batch.len() < BATCH {
            batch.push(self.publish());
        }
        batch
    }

    fn publish(&self) -> QueueMessage {
        let n = {
            let mut published = self.published.lock();
            *published += 1;
            *published
        };
        let webhooks = self.webhooks.len() as u64;
        let to = usize::try_from(mix(u64::from(n)) % webhooks).unwrap_or(0);
        let now = self.clock.now();
        let mut state = self.store.state(self.webhooks[to].id);
        state.accept(n, now, now).into()
    }

    fn backlogs(&self) -> Backlogs {
        Backlogs::new(
            Arc::clone(&self.store) as _,
            Arc::clone(&self.lines) as _,
            Arc::clone(&self.clock) as _,
        )
    }

    fn too_late(&self, handled: String) -> TooLate {
        let now = self.clock.now();
        let state = self.store.state(self.webhooks[0].id);
        TooLate {
            handled,
            attempted: self.hosts.delivered(),
            is_free: state.rows.values().all(|row| !row.is_held(now)),
            messages: self.lines.take_attempts().len(),
        }
    }

    async fn tick(&self) -> Ended {
        let backlogs = self.backlogs();
        let began_at = self.clock.now();
        let seen = backlogs.look(began_at.plus(TICK)).await;
        let mut ticks = self.ticks.lock();
        ticks.longest = ticks.longest.max(self.clock.now().since(began_at));
        ticks.incomplete += usize::from(!seen.is_complete);
        Ended::Tick
    }
}

/// The `n`-th webhook, of a tenant of its own.
fn webhook(n: u32) -> Webhook {
    let tenant: TenantId = format!("tenant-{n}").parse().unwrap();
    builders::webhook(&tenant, n)
}

fn drain_of(webhook: &Webhook, now: Timestamp) -> QueueMessage {
    DrainMessage {
        tenant: webhook.tenant.clone(),
        webhook: webhook.id,
        not_before: now,
    }
    .into()
}
