//! One webhook and its backlog in memory, with the guarantees of the store on AWS and no others: every write is atomic and
//! conditional, the index lags, and a caller that is gone may have written or not.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Status, Unclaimable};
use postrider_domain::event::Event;
use postrider_domain::flow::{AttemptKind, Credit, Limiter, Limits};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::backlog::{Backlog, Rows, Stretch};
use postrider_ports::clock::Clock;
use postrider_ports::configs::{Changed, Created, WebhookChange, WebhookList, Webhooks};
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, ClaimedDelivery, Deliveries, Renewed, Wanted,
};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, DrainState, Drains, Postponed, Registration,
};
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, Page};
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};
use postrider_ports::probes::Probes;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::{Error, Result};
use postrider_testkit::builders;

use super::super::time::VirtualClock;

const SHARDS: u16 = 2;
/// How long a call takes, half of it before the effect.
const CALL_TAKES: Millis = Millis::new(6);

pub(super) struct MemoryStore {
    clock: Arc<VirtualClock>,
    index_lag: Millis,
    state: Mutex<State>,
}

struct State {
    webhook: Option<Webhook>,
    version: u64,
    rows: BTreeMap<DeliveryId, Delivery>,
    events: BTreeMap<EventId, Arc<Event>>,
    /// What the index shows: each entry from a time on, until another time.
    index: Vec<Entry>,
    limiter: Limiter,
    credit: Credit,
    drain: DrainState,
    registration: Option<Registration>,
    calls: usize,
    processes: u64,
}

struct Entry {
    message: AttemptMessage,
    kind: AttemptKind,
    from: Timestamp,
    until: Timestamp,
}

impl MemoryStore {
    pub(super) fn new(clock: Arc<VirtualClock>, webhook: Webhook, index_lag: Millis) -> Self {
        let now = clock.now();
        let state = State {
            limiter: Limiter::new(&webhook.settings.limits(), now),
            registration: Some(Registration {
                tenant: webhook.tenant.clone(),
                webhook: webhook.id,
                touched_at: now,
            }),
            webhook: Some(webhook),
            version: 1,
            rows: BTreeMap::new(),
            events: BTreeMap::new(),
            index: Vec::new(),
            credit: Credit::full(now),
            drain: DrainState::default(),
            calls: 0,
            processes: 0,
        };
        Self {
            clock,
            index_lag,
            state: Mutex::new(state),
        }
    }

    /// Adds a row that is due to the backlog.
    pub(super) fn add_row(&self, n: u32, kind: AttemptKind) {
        let mut state = self.state.lock();
        let Some(webhook) = state.webhook.clone() else {
            return;
        };
        let now = self.clock.now();
        let event = builders::event(&webhook.tenant, n, now);
        let acceptance = builders::acceptance(event.clone(), &[webhook.id], 1);
        for mut row in acceptance.rows {
            if kind == AttemptKind::Retry {
                row.status = Status::Failed;
                row.attempts_total = 1;
                row.attempt_count = 1;
            }
            row.in_backlog = true;
            state.index.push(Entry {
                message: AttemptMessage::of(&row),
                kind,
                from: now.plus(self.index_lag),
                until: Timestamp::from_millis(i64::MAX),
            });
            state.rows.insert(row.id, row);
        }
        state.events.insert(event.id, Arc::new(event));
    }

    pub(super) fn pause(&self) {
        self.set_status(WebhookStatus::Paused);
    }

    pub(super) fn resume(&self) {
        self.set_status(WebhookStatus::Active);
    }

    fn set_status(&self, status: WebhookStatus) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.limiter = match status {
            WebhookStatus::Active => state.limiter.resumed(now),
            WebhookStatus::Paused | WebhookStatus::Failed | WebhookStatus::Disabled => {
                state.limiter.paused()
            }
        };
        state.register(now);
        state.version += 1;
        if let Some(webhook) = &mut state.webhook {
            webhook.health = webhook.health.set(status, now);
        }
    }

    pub(super) fn delete(&self) {
        let mut state = self.state.lock();
        state.webhook = None;
        state.version += 1;
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.state.lock().webhook.is_none()
    }

    /// How many rows are open although their webhook exists.
    pub(super) fn waiting(&self) -> usize {
        let state = self.state.lock();
        let open = state.rows.values().filter(|row| row.status.is_open());
        state.webhook.as_ref().map_or(0, |_| open.count())
    }

    pub(super) fn calls(&self) -> usize {
        self.state.lock().calls
    }

    pub(super) fn process(&self) -> u64 {
        let mut state = self.state.lock();
        state.processes += 1;
        state.processes
    }

    /// Returns once any process has made this call; never if it was made before.
    pub(super) async fn reaches(&self, call: Option<usize>) {
        let Some(call) = call.filter(|call| *call >= self.calls()) else {
            return pending().await;
        };
        while self.calls() <= call {
            let soon = self.clock.now().plus(Millis::new(1));
            self.clock.sleep_until(soon).await;
        }
    }

    /// A call: takes its time before and after its effect, so that a caller may be gone in either half.
    async fn call<T: Send>(&self, effect: impl FnOnce(&mut State, Timestamp) -> T + Send) -> T {
        let half = Millis::new(CALL_TAKES.get() / 2);
        let calls = {
            let mut state = self.state.lock();
            state.calls += 1;
            state.calls
        };
        let begun_at = self.clock.now();
        // Every second call has its effect early: a caller that dies at that call has written.
        if !calls.is_multiple_of(2) {
            self.clock.sleep_until(begun_at.plus(half)).await;
        }
        let result = effect(&mut self.state.lock(), self.clock.now());
        let rest = Millis::new(CALL_TAKES.get() - half.get());
        let end_at = self.clock.now().plus(rest);
        self.clock.sleep_until(end_at).await;
        result
    }
}

impl State {
    fn register(&mut self, now: Timestamp) {
        let Some(webhook) = &self.webhook else {
            return;
        };
        self.registration = Some(Registration {
            tenant: webhook.tenant.clone(),
            webhook: webhook.id,
            touched_at: now,
        });
    }

    fn flow(&self) -> Option<WebhookFlow> {
        self.webhook.as_ref().map(|webhook| WebhookFlow {
            status: webhook.health.status,
            limiter: self.limiter,
            capped: webhook.settings.limits().is_capped(),
            failed_in_a_row: 0,
            drain: self.drain.clone(),
        })
    }

    fn holds(&self, lease: &DrainLease) -> bool {
        let held = self.drain.lease.as_ref();
        self.webhook.is_some() && held.is_some_and(|held| held.owner == lease.owner)
    }

    fn claim(&mut self, wanted: &Wanted, now: Timestamp) -> Claim {
        let Some(row) = self.rows.get(&wanted.id).cloned() else {
            return Claim::Missing;
        };
        match &self.webhook {
            None => return Claim::WebhookDeleted,
            Some(webhook) if webhook.health.status.is_stopped() => {
                return Claim::Unclaimable(Unclaimable::InBacklog);
            }
            Some(_) => {}
        }
        match row.claim_from_backlog(&wanted.lease, now) {
            Ok(claimed) => {
                self.rows.insert(wanted.id, claimed.delivery().clone());
                match self.events.get(&wanted.id.event) {
                    Some(event) => Claim::Claimed(Box::new(ClaimedDelivery {
                        claimed,
                        event: Arc::clone(event),
                    })),
                    None => Claim::Missing,
                }
            }
            Err(why) => Claim::Unclaimable(why),
        }
    }
}

fn not_simulated<T>() -> Result<T> {
    Err(Error::Broken("not simulated".to_owned()))
}

#[async_trait]
impl Deliveries for MemoryStore {
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        batch.iter().map(|_| not_simulated()).collect()
    }

    async fn claim(&self, wanted: Vec<Wanted>, _: Timestamp) -> Vec<Result<Claim>> {
        wanted.iter().map(|_| not_simulated()).collect()
    }

    async fn renew(&self, _: &Claimed, _: Timestamp) -> Result<Renewed> {
        Ok(Renewed::Held)
    }

    async fn give_back(&self, _: &Claimed, _: Timestamp) -> Result<()> {
        not_simulated()
    }

    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        _: Timestamp,
    ) -> Result<Applied> {
        let lag = self.index_lag;
        self.call(|state, now| {
            let id = claimed.delivery().id;
            let Some(row) = state.rows.get(&id).filter(|row| claimed.still_holds(row)) else {
                return Ok(Applied::Stale);
            };
            let after = row.completed(&completion);
            state.rows.insert(id, after.clone());
            for entry in &mut state.index {
                if entry.message.id == id {
                    entry.until = entry.until.min(now.plus(lag));
                }
            }
            Ok(Applied::Done(Box::new(after)))
        })
        .await
    }
}

#[async_trait]
impl Probes for MemoryStore {
    async fn probes_due(&self, _: usize, _: Timestamp) -> Result<Vec<(TenantId, WebhookId)>> {
        Ok(Vec::new())
    }

    async fn begin_probe(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: Timestamp,
    ) -> Result<Option<Health>> {
        not_simulated()
    }

    async fn probe_passed(&self, _: &TenantId, _: WebhookId, _: u32, _: Timestamp) -> Result<()> {
        not_simulated()
    }
}

#[async_trait]
impl History for MemoryStore {
    async fn delivery(&self, _: &TenantId, id: DeliveryId) -> Result<Option<Delivery>> {
        self.call(|state, _| Ok(state.rows.get(&id).cloned())).await
    }

    async fn event(&self, _: &TenantId, _: EventId) -> Result<Option<Arc<Event>>> {
        not_simulated()
    }

    async fn rows_of(&self, _: &TenantId, _: EventId) -> Result<Vec<Delivery>> {
        not_simulated()
    }

    async fn attempts(&self, _: &TenantId, _: DeliveryId) -> Result<Vec<Attempt>> {
        not_simulated()
    }

    async fn list(
        &self,
        _: &TenantId,
        _: &Filter,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        not_simulated()
    }

    async fn stats(
        &self,
        _: &TenantId,
        _: Option<WebhookId>,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        not_simulated()
    }
}

#[async_trait]
impl Backlog for MemoryStore {
    fn shards(&self) -> u16 {
        SHARDS
    }

    async fn rows_between(&self, _: Stretch, _: usize, _: Option<&Cursor>) -> Result<Rows> {
        not_simulated()
    }
}

#[async_trait]
impl Limiters for MemoryStore {
    async fn flows(&self, webhooks: &[(TenantId, WebhookId)]) -> Result<Vec<Option<WebhookFlow>>> {
        let count = webhooks.len();
        self.call(move |state, _| Ok(vec![state.flow(); count]))
            .await
    }

    async fn enter(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: u64,
        _: Limiter,
        _: Timestamp,
    ) -> Result<Stored> {
        not_simulated()
    }

    async fn take_credit(
        &self,
        _: &TenantId,
        _: WebhookId,
        want: usize,
        limits: Limits,
        _: Timestamp,
    ) -> Result<usize> {
        self.call(|state, now| {
            let is_limited = state.limiter.limited || limits.is_capped();
            if is_limited || state.drain.is_leased(now) {
                return Ok(0);
            }
            let rate = state.limiter.retry_rate_milli(&limits);
            Ok(state.credit.take(rate, want, now))
        })
        .await
    }
}

#[async_trait]
impl Drains for MemoryStore {
    async fn register_backlog(&self, _: &TenantId, _: WebhookId, _: Timestamp) -> Result<()> {
        self.call(|state, now| {
            state.register(now);
            Ok(())
        })
        .await
    }

    async fn move_to_backlog(&self, rows: Vec<Postponed>, _: Timestamp) -> Vec<Result<()>> {
        rows.iter().map(|_| not_simulated()).collect()
    }

    async fn ask_for_drain(
        &self,
        _: &TenantId,
        _: WebhookId,
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored> {
        self.call(|state, _| {
            if state.webhook.is_none() || state.drain.asked_for != seen {
                return Ok(Stored::Outdated);
            }
            state.drain.asked_for = Some(at);
            Ok(Stored::Done)
        })
        .await
    }

    async fn take_drain_lease(
        &self,
        _: &TenantId,
        _: WebhookId,
        lease: DrainLease,
    ) -> Result<Option<WebhookFlow>> {
        self.call(|state, _| {
            if state.drain.is_leased(lease.taken_at) && !state.holds(&lease) {
                return Ok(None);
            }
            state.credit = Credit::empty(lease.taken_at);
            state.drain.lease = Some(lease);
            Ok(state.flow())
        })
        .await
    }

    async fn store_limiter(
        &self,
        _: &TenantId,
        _: WebhookId,
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: Limiter,
    ) -> Result<Stored> {
        self.call(|state, now| {
            if !state.holds(lease) || state.limiter.epoch != seen_epoch {
                return Ok(Stored::Outdated);
            }
            if limiter.epoch != seen_epoch && !limiter.limited {
                state.register(now);
            }
            state.limiter = limiter;
            Ok(Stored::Done)
        })
        .await
    }

    async fn end_drain(
        &self,
        _: &TenantId,
        _: WebhookId,
        lease: &DrainLease,
        end: DrainEnd,
    ) -> Result<()> {
        self.call(|state, _| {
            if !state.holds(lease) {
                return Ok(());
            }
            if state.limiter.epoch == end.seen_epoch {
                state.limiter = end.limiter;
            }
            state.credit = Credit::empty(end.at);
            state.drain = DrainState {
                lease: None,
                asked_for: end.asked_for,
                looked: end.looked.or(state.drain.looked),
            };
            Ok(())
        })
        .await
    }

    async fn backlog_rows(
        &self,
        _: &TenantId,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        let after: usize = after.map_or(0, |cursor| cursor.0.parse().unwrap_or(0));
        self.call(move |state, now| {
            let shown = |entry: &&Entry| {
                let shard = u16::from(entry.message.id.event.as_bytes()[15]) % SHARDS;
                entry.kind == part.kind
                    && shard == part.shard
                    && (entry.from..entry.until).contains(&now)
            };
            let mut found: Vec<_> = state.index.iter().filter(shown).collect();
            found.sort_by_key(|entry| (entry.message.next_retry_at, entry.message.id));
            let messages: Vec<_> = found.iter().map(|entry| entry.message.clone()).collect();
            let end = after + limit;
            let next = (messages.len() > end).then(|| Cursor(end.to_string()));
            let messages = messages.into_iter().skip(after).take(limit).collect();
            Ok(Rows { messages, next })
        })
        .await
    }

    async fn claim_from_backlog(&self, wanted: Vec<Wanted>, _: Timestamp) -> Vec<Result<Claim>> {
        self.call(|state, now| {
            let claims = wanted.iter().map(|one| Ok(state.claim(one, now)));
            claims.collect()
        })
        .await
    }

    async fn registrations(
        &self,
        shard: u16,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page<Registration>> {
        self.call(move |state, _| {
            let here = state.registration.clone().filter(|_| shard == 0);
            Ok(Page {
                items: here.into_iter().collect(),
                next: None,
            })
        })
        .await
    }

    async fn registration(&self, _: &TenantId, _: WebhookId) -> Result<Option<Registration>> {
        self.call(|state, _| Ok(state.registration.clone())).await
    }

    async fn unregister_backlog(&self, registration: &Registration) -> Result<()> {
        self.call(|state, _| {
            if state.registration.as_ref() == Some(registration) {
                state.registration = None;
            }
            Ok(())
        })
        .await
    }

    async fn backlog_size(&self, _: &TenantId, _: WebhookId, _: Timestamp) -> Result<BacklogSize> {
        not_simulated()
    }
}

#[async_trait]
impl Webhooks for MemoryStore {
    async fn webhooks_version(&self, _: &TenantId) -> Result<u64> {
        self.call(|state, _| Ok(state.version)).await
    }

    async fn webhooks(&self, _: &TenantId) -> Result<WebhookList> {
        self.call(|state, _| {
            Ok(WebhookList {
                version: state.version,
                webhooks: state.webhook.iter().cloned().collect(),
            })
        })
        .await
    }

    async fn webhook(&self, _: &TenantId, _: WebhookId) -> Result<Option<Webhook>> {
        self.call(|state, _| Ok(state.webhook.clone())).await
    }

    async fn failed_webhooks(&self) -> Result<u64> {
        not_simulated()
    }

    async fn create_webhook(&self, _: Webhook) -> Result<Created> {
        not_simulated()
    }

    async fn change_webhook(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: WebhookChange,
    ) -> Result<Changed> {
        not_simulated()
    }

    async fn set_webhook_status(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: WebhookStatus,
        _: Timestamp,
    ) -> Result<Option<Health>> {
        not_simulated()
    }

    async fn delete_webhook(&self, _: &TenantId, _: WebhookId, _: Timestamp) -> Result<bool> {
        not_simulated()
    }
}
