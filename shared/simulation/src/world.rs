//! One run: a time in which anything goes wrong, and a time in which everything has to come to rest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crate::dynamodb::{Database, TableItem, schema};
use parking_lot::Mutex;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_testkit::builders;
use serde_json::{Value, json};

use super::audit::{Audit, Promise, text};
use super::clock::ProcessClock;
use super::draws::{Draws, Fault};
use super::embedded::Machine;
use super::executor::{Executor, Process};
use super::flaw::Flaw;
use super::functions::{Environment, Function};
use super::queues::{QueueName, Queues};
use super::receivers::Receivers;
use super::streams::{Consumer, SHARDS, Streams};
use super::{CONFIGS, Plan, RunOutcome, Runs, START_MS, TABLE, Until};

pub(super) const MINUTE_MS: i64 = 60_000;
/// How long things go wrong.
const UNREST_MS: i64 = 8 * MINUTE_MS;
/// How long it may take until everything has come to rest: the longest schedule of retries, and an hour.
const REST_MS: i64 = 4 * 60 * MINUTE_MS;
/// Requests per second of the webhook that has a limit.
const MAX_RATE: u32 = 2;
/// Requests at the same time of another one.
const MAX_IN_FLIGHT: u32 = 1;

pub(super) struct World {
    pub(super) executor: Arc<Executor>,
    pub(super) draws: Arc<Draws>,
    pub(super) audit: Audit,
    pub(super) database: Mutex<Database>,
    pub(super) streams: Streams,
    pub(super) queues: Queues,
    pub(super) receivers: Receivers,
    pub(super) flaw: Option<Flaw>,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) tenants: Vec<TenantId>,
    /// The id of the source of inbound events.
    pub(super) source: Mutex<Option<String>>,
    pub(super) idle: Mutex<BTreeMap<Function, Vec<Environment>>>,
    /// When the current invocation of a process began.
    pub(super) busy_since: Mutex<BTreeMap<Process, i64>>,
    /// Of the embedded gateway; `None` on AWS.
    pub(super) machine: Option<Machine>,
    pub(super) is_set_up: Mutex<bool>,
    /// Until when the poller is not invoked, because months pass.
    pub(super) quiet_until_ms: AtomicI64,
    /// Whether the queues of the dispatcher lose all messages.
    pub(super) loses_messages: AtomicBool,
    /// When all had come to rest.
    at_rest_ms: AtomicI64,
    is_over: Mutex<bool>,
    processes: AtomicU64,
}

pub(super) fn run(plan: &Plan) -> RunOutcome {
    let draws = Arc::new(Draws::new(
        plan.seed,
        plan.strikes.clone(),
        plan.runs.faults(),
    ));
    let tenants: Vec<TenantId> = vec!["default".parse().unwrap(), "other".parse().unwrap()];
    let executor = Executor::new(START_MS, Arc::clone(&draws));
    let machine = (plan.runs == Runs::Embedded)
        .then(|| Machine::new(Arc::new(ProcessClock::new(Arc::clone(&executor), 0))));
    let world = Arc::new(World {
        executor,
        machine,
        audit: Audit::default(),
        database: Mutex::new(Database::new(schema(TABLE, CONFIGS))),
        streams: Streams::new(),
        queues: Queues::default(),
        receivers: Receivers::default(),
        flaw: plan.flaw,
        webhooks: webhooks(&tenants),
        tenants,
        source: Mutex::default(),
        idle: Mutex::default(),
        busy_since: Mutex::default(),
        is_set_up: Mutex::default(),
        quiet_until_ms: AtomicI64::new(START_MS),
        loses_messages: AtomicBool::new(false),
        at_rest_ms: AtomicI64::new(0),
        is_over: Mutex::default(),
        processes: AtomicU64::new(0),
        draws,
    });
    world.begin(plan);
    world.run();
    let now_ms = world.executor.now_ms();
    let took_ms = match world.at_rest_ms.load(Ordering::Relaxed) {
        0 => now_ms,
        at_rest_ms => at_rest_ms,
    };
    let outcome = RunOutcome {
        violation: world.audit.violation(),
        struck: world.draws.struck(),
        requests: world.audit.requests(),
        took_ms: took_ms - START_MS,
        aged_ms: now_ms - took_ms,
        trace: world.audit.trace(),
    };
    world.idle.lock().clear();
    if let Some(machine) = world.machine() {
        machine.end();
    }
    world.executor.end();
    outcome
}

impl World {
    pub(super) fn note(&self, line: &str) {
        self.audit.note(self.executor.now_ms(), line);
    }

    pub(super) fn next_process(&self) -> Process {
        Process(self.processes.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The name of the webhook that a notification is about.
    pub(super) fn name_of(&self, data: &Value) -> String {
        let id = data["webhook_id"].as_str().unwrap_or_default();
        let webhook = self.webhooks.iter().find(|one| one.id.to_string() == id);
        webhook.map_or_else(String::new, |webhook| webhook.settings.name.clone())
    }

    /// Starts clients and services.
    fn begin(self: &Arc<Self>, plan: &Plan) {
        let until = START_MS + UNREST_MS;
        for webhook in &self.webhooks {
            let host = webhook.settings.target_url.host_str().unwrap().to_owned();
            self.receivers.add(host, &self.draws, START_MS, until);
        }
        match plan.runs {
            Runs::OnAws => self.begin_services(),
            Runs::Embedded => {
                let supervisor = Arc::clone(self).supervise();
                self.executor.spawn(Process::WORLD, supervisor);
            }
        }
        let (world, plan) = (Arc::clone(self), plan.clone());
        self.executor.spawn(Process::WORLD, async move {
            Arc::clone(&world).set_up().await;
            world.draws.begin_unrest();
            for number in 0..plan.events {
                let at = world
                    .draws
                    .between("published", START_MS + 1000, until - MINUTE_MS);
                let publishing = Arc::clone(&world).publish(number, at);
                world.executor.spawn(Process::WORLD, publishing);
            }
            for _ in 0..plan.operations {
                let at = world
                    .draws
                    .between("operated at", START_MS + MINUTE_MS, until);
                let operating = Arc::clone(&world).operate(at);
                world.executor.spawn(Process::WORLD, operating);
            }
            world.go_on(&plan, until).await;
            *world.is_over.lock() = true;
        });
    }

    /// Starts the queues, the stream and the clock of the poller.
    fn begin_services(self: &Arc<Self>) {
        for queue in QueueName::ALL {
            self.executor
                .spawn(Process::WORLD, Arc::clone(self).serve_queue(queue));
        }
        for consumer in Consumer::ALL {
            for shard in 0..SHARDS {
                let serving = Arc::clone(self).serve_stream(consumer, shard);
                self.executor.spawn(Process::WORLD, serving);
            }
        }
        self.executor.spawn(Process::WORLD, Arc::clone(self).poll());
        self.executor
            .spawn(Process::WORLD, Arc::clone(self).expire());
    }

    fn run(&self) {
        self.executor
            .run(|| self.audit.violation().is_some() || *self.is_over.lock());
    }

    /// What has to hold at rest.
    fn audit_at_rest(&self) {
        self.audit_rows();
        match self.machine() {
            Some(machine) => self.audit_file(machine),
            None => self.audit_table(),
        }
        self.audit_requests();
    }

    /// The same, for all e-mails and requests so far.
    fn audit_requests(&self) {
        self.audit.mail_at_rest();
        for webhook in &self.webhooks {
            if let Some(rate) = webhook.settings.max_rate {
                let most = usize::try_from(rate + rate.div_ceil(10)).unwrap();
                self.audit.within_rate(webhook.id, most);
            }
            if let Some(most) = webhook.settings.max_in_flight {
                let most = usize::try_from(most).unwrap();
                self.audit.within_slots(webhook.id, most);
            }
        }
    }

    /// The same, for the rows that are stored.
    pub(super) fn audit_rows(&self) {
        if let Some(machine) = self.machine() {
            for (id, row) in machine.stored() {
                self.audit.row_at_rest(&id, row);
            }
            return;
        }
        let database = self.database.lock();
        for item in database.items(TABLE).filter(|item| is_row(item)) {
            self.audit.at_rest(item);
        }
    }

    fn audit_file(&self, machine: &Machine) {
        let stored = machine.stored();
        for (id, _) in self.audit.acknowledged() {
            if !stored.contains_key(&id.to_string()) {
                let detail = format!("{id} was acknowledged and is not stored");
                self.audit.violate(Promise::Kept, detail);
            }
        }
        let (counted, attempts) = machine.attempts();
        self.audit.counters_at_rest(counted, attempts);
        for failed in machine.failed_webhooks() {
            self.audit.webhook_failed(self.name_of(&failed));
        }
    }

    fn audit_table(&self) {
        self.audit_stored(self.audit.acknowledged());
        let database = self.database.lock();
        let items = || database.items(TABLE);
        let counted = items().filter(|item| text(item, "sk").starts_with("stats#"));
        let counted = counted.map(|item| number(item, "attempts")).sum();
        let attempts = items().filter(|item| is_row(item));
        let attempts = attempts.map(|item| number(item, "attempts_total")).sum();
        self.audit.counters_at_rest(counted, attempts);
    }

    /// These deliveries, which were acknowledged, have to be in the table.
    pub(super) fn audit_stored(
        &self,
        acknowledged: impl IntoIterator<Item = (DeliveryId, TenantId)>,
    ) {
        let database = self.database.lock();
        for (id, tenant) in acknowledged {
            let (pk, sk) = (
                format!("{tenant}#{}", id.event),
                format!("delivery#{}", id.webhook),
            );
            if database.item(TABLE, &pk, &sk).is_none() {
                let detail = format!("{id} was acknowledged and is not stored");
                self.audit.violate(Promise::Kept, detail);
            }
        }
    }

    /// Ends all faults, lets an operator resume webhooks, waits, and lets everything expire.
    async fn go_on(self: &Arc<Self>, plan: &Plan, at_ms: i64) {
        self.executor.sleep(at_ms - self.executor.now_ms()).await;
        self.calm_down();
        self.note("all faults end");
        // Those who operate have to be done first.
        self.executor.sleep(4 * MINUTE_MS).await;
        for webhook in &self.webhooks {
            self.resume(&webhook.tenant, webhook.id).await;
        }
        let paused = match plan.until {
            Until::Rest => None,
            Until::Expiry => self.leave_paused(plan.events).await,
        };
        self.rest().await;
        self.at_rest_ms
            .store(self.executor.now_ms(), Ordering::Relaxed);
        self.audit_at_rest();
        if plan.until == Until::Expiry {
            // The numbers before it may be those of events for the paused webhook.
            self.age(paused, plan.events + 8).await;
            self.audit_requests();
        }
    }

    /// Ends all faults.
    pub(super) fn calm_down(&self) {
        self.draws.end_unrest();
        if let Some(machine) = self.machine() {
            machine.clock().jump(0);
        }
    }

    /// Waits until all has come to rest.
    pub(super) async fn rest(&self) {
        let latest = self.executor.now_ms() + REST_MS;
        while !self.is_resting() {
            if self.executor.now_ms() > latest {
                let detail = self.unfinished().join("; ");
                self.audit
                    .violate(Promise::Kept, format!("not at rest: {detail}"));
                return;
            }
            self.executor.sleep(30_000).await;
        }
    }

    fn is_resting(&self) -> bool {
        let has_no_mail = self.queues.is_empty(QueueName::Mail);
        has_no_mail && self.streams.is_empty() && self.unfinished().is_empty()
    }

    /// Open rows, but for those of a webhook that is stopped.
    fn unfinished(&self) -> Vec<String> {
        if let Some(machine) = self.machine() {
            return machine.unfinished();
        }
        let database = self.database.lock();
        let is_stopped = |item: &TableItem| {
            let (tenant, _) = text(item, "pk").split_once('#').unwrap();
            let webhook = text(item, "sk").strip_prefix("delivery#").unwrap();
            let state = database.item(TABLE, &format!("{tenant}#{webhook}"), "state");
            state.is_some_and(|state| text(state, "status") != "active")
        };
        let is_waiting = |item: &TableItem| {
            let lane = item.get("lane").and_then(|lane| lane["S"].as_str());
            lane.is_some_and(|lane| lane.starts_with("backlog#")) && is_stopped(item)
        };
        let is_open = |item: &TableItem| ["pending", "failed"].contains(&text(item, "status"));
        let open = database
            .items(TABLE)
            .filter(|item| is_row(item) && is_open(item));
        let open = open.filter(|item| !is_waiting(item));
        open.map(|item| Value::Object((*item).clone()).to_string())
            .collect()
    }

    /// Invokes the poller every minute, unless it has nothing to do for months.
    async fn poll(self: Arc<Self>) {
        loop {
            let now = self.executor.now_ms();
            let quiet_until = self.quiet_until_ms.load(Ordering::Relaxed);
            let next = now.max(quiet_until - 1) + 1;
            let minute = (next + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
            self.executor.sleep(minute - now).await;
            if self.quiet_until_ms.load(Ordering::Relaxed) > minute {
                continue;
            }
            if !*self.is_set_up.lock() || self.draws.strikes(Fault::TickMissed) {
                continue;
            }
            let at = Timestamp::from_millis(self.executor.now_ms());
            let world = Arc::clone(&self);
            self.executor.spawn(Process::WORLD, async move {
                let event = json!({ "time": at.to_string() });
                world.invoke(Function::Poller, event).await;
            });
        }
    }
}

/// A number of an item; 0 if it is missing.
fn number(item: &TableItem, name: &str) -> usize {
    let number = item.get(name).and_then(|value| value["N"].as_str());
    number.map_or(0, |number| number.parse().unwrap())
}

pub(super) fn is_row(item: &TableItem) -> bool {
    text(item, "sk").starts_with("delivery#")
}

/// A webhook that dead-letters, one that fails and is probed, one with a rate, and one of another tenant with few slots.
fn webhooks(tenants: &[TenantId]) -> Vec<Webhook> {
    let webhook = |number: u32, tenant: &TenantId| {
        let mut webhook = builders::webhook(tenant, number);
        webhook.settings.owner_email = Some("owner@example.com".to_owned());
        webhook
    };
    let mut dead_letters = webhook(1, &tenants[0]);
    dead_letters.settings.retry = RetrySettings {
        profile: Profile::Custom,
        delays_seconds: Some(vec![5, 30, 1000]),
        ..RetrySettings::default()
    };
    let mut fails = webhook(2, &tenants[0]);
    fails.settings.auto_resume = true;
    fails.settings.retry = RetrySettings {
        profile: Profile::PublicApi,
        max_attempts: Some(3),
        ..RetrySettings::default()
    };
    let mut limited = webhook(3, &tenants[0]);
    limited.settings.max_rate = Some(MAX_RATE);
    limited.settings.retry.delays_seconds = Some(vec![20]);
    let mut other = webhook(4, &tenants[1]);
    other.settings.retry.profile = Profile::PublicApi;
    other.settings.max_in_flight = Some(MAX_IN_FLIGHT);
    vec![dead_letters, fails, limited, other]
}
