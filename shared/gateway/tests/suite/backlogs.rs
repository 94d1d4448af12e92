//! Which rows a drain attempts, what it tells the store, and when it gives its lease back. Time passes step by step: a test
//! knows until when the drainer sleeps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Status};
use postrider_domain::event::Event;
use postrider_domain::flow::{Limiter, Limits};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::Ports;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::drain::Drained;
use postrider_gateway::worker::queue::{Handled, Needless, QueueWorker};
use postrider_ports::backlog::{Backlog, Rows, Stretch};
use postrider_ports::clock::Clock;
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, Deliveries, Renewed, Wanted,
};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, Drains, Postponed, Registration, Round,
};
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, Page};
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};
use postrider_ports::queue::{AttemptMessage, DrainMessage, QueueMessage};
use postrider_ports::sender::{Post, Posted, Sender};
use postrider_ports::{Error, Result, Store, WorkerStore};
use postrider_testkit::receiver::Answer;
use tokio::sync::watch;

use crate::stage::{Stage, tenant};

const SECONDS: fn(u64) -> Millis = Millis::from_seconds;
/// How long a test waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls to the store that change what the poller and other workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Register,
    StoreLimiter,
    ClaimFromBacklog,
    Unregister,
}

/// A store that notes calls, marks the rows that were moved to a backlog, and can have an index that lags, like DynamoDB.
/// Claims of chosen rows fail.
pub(crate) struct Watched {
    store: Arc<dyn Store>,
    calls: Mutex<Vec<Call>>,
    in_backlog: Mutex<HashSet<DeliveryId>>,
    pub(crate) unclaimable: Mutex<HashMap<DeliveryId, Error>>,
    /// Backlogs look empty until a drain has ended.
    lags: AtomicBool,
}

impl Watched {
    pub(crate) fn over(stage: &Stage) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&stage.ports.store),
            calls: Mutex::default(),
            in_backlog: Mutex::default(),
            unclaimable: Mutex::default(),
            lags: AtomicBool::new(false),
        })
    }

    fn note(&self, call: Call) {
        self.calls.lock().push(call);
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }

    fn worker(self: &Arc<Self>, stage: &Stage) -> QueueWorker {
        let ports = Ports {
            store: Arc::clone(self) as Arc<dyn WorkerStore>,
            clock: Arc::clone(&stage.ports.clock),
            entropy: Arc::clone(&stage.ports.entropy),
        };
        let cache = Arc::new(WebhookCache::new(stage.ports.store.clone()));
        let attempts = Attempts::new(
            stage.ports.clone(),
            stage.sender(),
            Arc::clone(&cache),
            RuntimeRetry::default(),
        );
        let queue = Arc::clone(&stage.line) as _;
        QueueWorker::new(ports, attempts, cache, queue, "watched".to_owned())
    }
}

/// Implements a trait by calls to the store.
macro_rules! forwarded {
    ($port:ident { $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)+ }) => {
        #[async_trait]
        impl $port for Watched {
            $(async fn $name(&self, $($arg: $type),*) -> $result {
                self.store.$name($($arg),*).await
            })+
        }
    };
}

#[async_trait]
impl Deliveries for Watched {
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        self.store.accept(batch).await
    }

    async fn claim(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        let mut claims = Vec::new();
        for one in wanted {
            let failure = self.unclaimable.lock().get(&one.id).cloned();
            match failure {
                Some(error) => claims.push(Err(error)),
                None => claims.extend(self.store.claim(vec![one], now).await),
            }
        }
        claims
    }

    async fn renew(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed> {
        self.store.renew(claimed, until).await
    }

    async fn give_back(&self, claimed: &Claimed, now: Timestamp) -> Result<()> {
        self.store.give_back(claimed, now).await
    }

    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        now: Timestamp,
    ) -> Result<Applied> {
        self.store.apply(claimed, completion, now).await
    }
}

forwarded!(Limiters {
    fn flows(webhooks: &[(TenantId, WebhookId)]) -> Vec<Result<Option<WebhookFlow>>>;
    fn enter(
        tenant: &TenantId,
        webhook: WebhookId,
        seen_epoch: u64,
        entered: Limiter,
        now: Timestamp
    ) -> Result<Stored>;
    fn take_credit(
        tenant: &TenantId,
        webhook: WebhookId,
        seen: &WebhookFlow,
        want: usize,
        limits: Limits,
        now: Timestamp
    ) -> Result<usize>;
});

#[async_trait]
impl History for Watched {
    async fn delivery(&self, tenant: &TenantId, id: DeliveryId) -> Result<Option<Delivery>> {
        let row = self.store.delivery(tenant, id).await?;
        let in_backlog = self.in_backlog.lock().contains(&id);
        Ok(row.map(|row| Delivery { in_backlog, ..row }))
    }

    async fn event(&self, tenant: &TenantId, id: EventId) -> Result<Option<Arc<Event>>> {
        self.store.event(tenant, id).await
    }

    async fn rows_of(&self, tenant: &TenantId, event: EventId) -> Result<Vec<Delivery>> {
        self.store.rows_of(tenant, event).await
    }

    async fn attempts(&self, tenant: &TenantId, id: DeliveryId) -> Result<Vec<Attempt>> {
        self.store.attempts(tenant, id).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        self.store.list(tenant, filter, limit, cursor).await
    }

    async fn stats(
        &self,
        tenant: &TenantId,
        webhook: Option<WebhookId>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        self.store.stats(tenant, webhook, from, to).await
    }
}

#[async_trait]
impl Backlog for Watched {
    fn shards(&self) -> u16 {
        self.store.shards()
    }

    async fn rows_between(
        &self,
        stretch: Stretch,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        self.store.rows_between(stretch, limit, after).await
    }
}

#[async_trait]
impl Drains for Watched {
    async fn register_backlog(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<()> {
        self.note(Call::Register);
        self.store.register_backlog(tenant, webhook, now).await
    }

    async fn move_to_backlog(&self, rows: Vec<Postponed>, now: Timestamp) -> Vec<Result<()>> {
        let ids = rows.iter().map(|row| row.id);
        self.in_backlog.lock().extend(ids);
        self.store.move_to_backlog(rows, now).await
    }

    async fn ask_for_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored> {
        self.store.ask_for_drain(tenant, webhook, seen, at).await
    }

    async fn take_drain_lease(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: DrainLease,
    ) -> Result<Option<WebhookFlow>> {
        self.store.take_drain_lease(tenant, webhook, lease).await
    }

    async fn store_limiter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: Limiter,
    ) -> Result<Stored> {
        self.note(Call::StoreLimiter);
        let store = &self.store;
        let stored = store.store_limiter(tenant, webhook, lease, seen_epoch, limiter);
        stored.await
    }

    async fn end_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        end: DrainEnd,
    ) -> Result<()> {
        self.lags.store(false, Ordering::SeqCst);
        self.store.end_drain(tenant, webhook, lease, end).await
    }

    async fn backlog_rows(
        &self,
        tenant: &TenantId,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        if self.lags.load(Ordering::SeqCst) {
            return Ok(Rows {
                messages: Vec::new(),
                next: None,
            });
        }
        self.store.backlog_rows(tenant, part, limit, after).await
    }

    async fn claim_from_backlog(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        self.note(Call::ClaimFromBacklog);
        self.store.claim_from_backlog(wanted, now).await
    }

    async fn registrations(
        &self,
        shard: u16,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Registration>> {
        self.store.registrations(shard, limit, after).await
    }

    async fn registration(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<Registration>> {
        self.store.registration(tenant, webhook).await
    }

    async fn unregister_backlog(&self, registration: &Registration) -> Result<()> {
        self.note(Call::Unregister);
        self.store.unregister_backlog(registration).await
    }

    async fn round(&self) -> Result<Round> {
        self.store.round().await
    }

    async fn store_round(&self, round: &Round) -> Result<()> {
        self.store.store_round(round).await
    }

    async fn backlog_size(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<BacklogSize> {
        self.store.backlog_size(tenant, webhook, now).await
    }
}

async fn soon<T>(expected: impl Future<Output = T>) -> T {
    let expected = tokio::time::timeout(PATIENCE, expected).await;
    expected.expect("in time")
}

/// Moves the clock once the drainer sleeps until exactly this time.
async fn step_to(stage: &Stage, at: Timestamp) {
    soon(stage.clock.wait_for_sleeper(at)).await;
    stage.clock.set(at);
}

fn drain_at(webhook: WebhookId, not_before: Timestamp) -> QueueMessage {
    let tenant = tenant();
    DrainMessage {
        tenant,
        webhook,
        not_before,
    }
    .into()
}

async fn drain(stage: &Stage, worker: &QueueWorker, webhook: WebhookId) -> Drained {
    let message = drain_at(webhook, stage.clock.now());
    let handled = worker.handle(vec![message], stage.in_a_minute()).await;
    match handled[..] {
        [Ok(Handled::Drained(drained))] => drained,
        _ => panic!("{handled:?}"),
    }
}

/// Rows that were never attempted; their messages are lost.
async fn publish(stage: &Stage, webhook: WebhookId, count: usize) -> Vec<DeliveryId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(stage.publish(webhook).await);
    }
    stage.line.take();
    ids
}

/// Rows that failed once, each in another worker. Returns the messages of their retries, which are due at the same time.
async fn fail(stage: &Stage, webhook: WebhookId, count: usize) -> Vec<AttemptMessage> {
    stage.receiver.answer(Answer::status(500));
    for _ in 0..count {
        stage.publish(webhook).await;
    }
    for message in stage.line.take_attempts() {
        stage.handle(vec![message]).await;
    }
    stage.receiver.answer(Answer::status(200));
    stage.line.take_attempts()
}

/// Limits a webhook as an operator does who resumes it.
async fn limit(stage: &Stage, webhook: WebhookId) {
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    manage.resume(&tenant(), webhook).await.unwrap();
    assert!(stage.flow(webhook).await.limiter.limited);
    stage.line.take();
}

async fn is_leased(stage: &Stage, webhook: WebhookId) -> bool {
    stage.flow(webhook).await.drain.lease.is_some()
}

#[tokio::test]
async fn a_drain_of_an_empty_backlog_removes_its_registration_and_asks_for_no_other() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let store = Watched::over(&stage);
    let drained = drain(&stage, &store.worker(&stage), webhook).await;
    assert_eq!(drained, Drained::Begun(0));
    assert_eq!(store.calls(), [Call::Unregister]);
    assert_eq!(stage.line.take(), []);
    assert!(!is_leased(&stage, webhook).await);
}

/// More rows may come at any time.
#[tokio::test]
async fn the_empty_backlog_of_a_limited_or_capped_webhook_stays_registered() {
    let stage = Stage::set().await;
    let limited = stage.webhook().await;
    limit(&stage, limited).await;
    let capped = stage.webhook_with(WebhookDraft {
        max_rate: Some(5),
        ..WebhookDraft::default()
    });
    for webhook in [limited, capped.await] {
        let store = Watched::over(&stage);
        let drained = drain(&stage, &store.worker(&stage), webhook).await;
        assert_eq!(drained, Drained::Begun(0));
        assert_eq!(store.calls(), []);
    }
}

#[tokio::test]
async fn a_backlog_with_a_row_that_is_not_due_stays_registered() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    fail(&stage, webhook, 1).await;
    let store = Watched::over(&stage);
    let drained = drain(&stage, &store.worker(&stage), webhook).await;
    assert_eq!(drained, Drained::Begun(0));
    assert_eq!(store.calls(), []);
}

#[tokio::test]
async fn a_backlog_with_a_row_that_another_worker_holds_stays_registered() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.hold(publish(&stage, webhook, 1).await[0]).await;
    let store = Watched::over(&stage);
    let drained = drain(&stage, &store.worker(&stage), webhook).await;
    assert_eq!(drained, Drained::Begun(0));
    assert_eq!(store.calls(), [Call::Register, Call::ClaimFromBacklog]);
}

/// Their results move rows within the backlog, which an index may show minutes later.
#[tokio::test]
async fn a_backlog_is_registered_before_its_rows_are_attempted_and_looked_at_a_second_later() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    publish(&stage, webhook, 2).await;
    let store = Watched::over(&stage);
    let drained = drain(&stage, &store.worker(&stage), webhook).await;
    assert_eq!(drained, Drained::Begun(2));
    assert_eq!(store.calls(), [Call::Register, Call::ClaimFromBacklog]);
    let next_at = stage.clock.now().plus(SECONDS(1));
    assert_eq!(stage.line.take(), [drain_at(webhook, next_at)]);
}

/// The next drain that it has planned itself is a minute ahead.
#[tokio::test]
async fn rows_that_came_after_the_last_look_of_a_drain_are_drained_at_once() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    limit(&stage, webhook).await;
    publish(&stage, webhook, 1).await;
    let store = Watched::over(&stage);
    store.lags.store(true, Ordering::SeqCst);
    let drained = drain(&stage, &store.worker(&stage), webhook).await;
    assert_eq!(drained, Drained::Begun(0));
    let now = stage.clock.now();
    let planned = drain_at(webhook, now.plus(SECONDS(61)));
    assert_eq!(stage.line.take(), [planned, drain_at(webhook, now)]);
}

/// What ends later counts for nothing: a receiver that hangs would never be called more slowly.
#[tokio::test]
async fn a_drain_keeps_its_lease_while_its_receiver_hangs_until_a_second_before_its_deadline() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    publish(&stage, webhook, 3).await;
    stage.receiver.hold();
    let (worker, began_at) = (stage.dispatcher(), stage.clock.now());
    let passing = async {
        soon(stage.receiver.received(3)).await;
        soon(stage.clock.wait_for_sleeper(began_at.plus(SECONDS(1)))).await;
        // It begins no attempt after this.
        stage.clock.set(began_at.plus(SECONDS(10)));
        let last_call = began_at.plus(SECONDS(59));
        soon(stage.clock.wait_for_sleeper(last_call)).await;
        assert!(is_leased(&stage, webhook).await);
        stage.clock.set(last_call);
    };
    let (drained, ()) = tokio::join!(drain(&stage, &worker, webhook), passing);
    assert_eq!(drained, Drained::Begun(3));
    assert!(!is_leased(&stage, webhook).await);
}

/// Its first request is on hold until it is opened.
struct Gated {
    is_used: AtomicBool,
    gate: watch::Sender<bool>,
    sender: Arc<dyn Sender>,
}

#[async_trait]
impl Sender for Gated {
    async fn post(&self, request: Post) -> Posted {
        if !self.is_used.swap(true, Ordering::SeqCst) {
            let mut gate = self.gate.subscribe();
            gate.wait_for(|is_open| *is_open).await.unwrap();
        }
        self.sender.post(request).await
    }
}

#[tokio::test]
async fn a_drain_with_ten_answers_gives_its_lease_back_and_then_waits_for_the_others() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let ids = publish(&stage, webhook, 11).await;
    let sender = Arc::new(Gated {
        is_used: AtomicBool::new(false),
        gate: watch::Sender::new(false),
        sender: stage.sender(),
    });
    let worker = stage.dispatcher_with(Arc::clone(&sender) as _);
    let began_at = stage.clock.now();
    let passing = async {
        soon(stage.receiver.received(10)).await;
        soon(stage.clock.wait_for_sleeper(began_at.plus(SECONDS(1)))).await;
        stage.clock.set(began_at.plus(SECONDS(10)));
        let given_back = async {
            while is_leased(&stage, webhook).await {
                tokio::task::yield_now().await;
            }
        };
        soon(given_back).await;
        sender.gate.send_replace(true);
    };
    let (drained, ()) = tokio::join!(drain(&stage, &worker, webhook), passing);
    assert_eq!(drained, Drained::Begun(11));
    for id in ids {
        assert_eq!(stage.row(id).await.status, Status::Delivered);
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_claimed_uses_up_no_credit() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let mut retries = fail(&stage, webhook, 2).await;
    retries.sort_by_key(|retry| (retry.next_retry_at, retry.id.event));
    stage.clock.set(retries[1].next_retry_at);
    stage.hold(retries[0].id).await;
    publish(&stage, webhook, 1).await;
    stage.receiver.hold();
    let (worker, began_at) = (stage.dispatcher(), stage.clock.now());
    let passing = async {
        // The first attempt needs no credit.
        soon(stage.receiver.received(3)).await;
        // Retries go at 5/s.
        step_to(&stage, began_at.plus(Millis::new(200))).await;
        step_to(&stage, began_at.plus(Millis::new(201))).await;
        soon(stage.receiver.received(4)).await;
        stage.receiver.open();
    };
    let (drained, ()) = tokio::join!(drain(&stage, &worker, webhook), passing);
    assert_eq!(drained, Drained::Begun(2));
    assert_eq!(stage.row(retries[1].id).await.status, Status::Delivered);
}

/// Drains this webhook under a maximum rate, and returns whether its next request is a retry.
async fn retries_first(stage: &Stage, webhook: WebhookId) -> bool {
    let capped = |draft| WebhookDraft {
        max_rate: Some(5),
        max_in_flight: Some(1),
        ..draft
    };
    let manage = &stage.gateway.manage;
    manage.change(&tenant(), webhook, capped).await.unwrap();
    let (worker, began_at) = (stage.dispatcher(), stage.clock.now());
    let before = stage.receiver.requests().len();
    stage.receiver.hold();
    let passing = async {
        step_to(stage, began_at.plus(Millis::new(200))).await;
        let requests = soon(stage.receiver.received(before + 1)).await;
        requests[before].header("x-webhook-retry") == "1"
    };
    tokio::select! {
        drained = drain(stage, &worker, webhook) => panic!("{drained:?}"),
        is_retry = passing => is_retry,
    }
}

#[tokio::test]
async fn under_a_maximum_a_retry_goes_before_first_attempts_that_have_not_waited_longer() {
    for waited_less in [SECONDS(0), SECONDS(1)] {
        let stage = Stage::set().await;
        let webhook = stage.webhook().await;
        let retry = fail(&stage, webhook, 1).await.remove(0);
        stage.clock.set(retry.next_retry_at.plus(waited_less));
        publish(&stage, webhook, 1).await;
        assert!(retries_first(&stage, webhook).await);
    }
}

#[tokio::test]
async fn under_a_maximum_a_first_attempt_that_has_waited_longer_goes_before_a_retry() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let retry = fail(&stage, webhook, 1).await.remove(0);
    stage.clock.set(retry.next_retry_at.minus(Millis::new(1)));
    publish(&stage, webhook, 1).await;
    stage.clock.set(retry.next_retry_at);
    assert!(!retries_first(&stage, webhook).await);
}

#[tokio::test]
async fn a_drain_ends_within_a_second_after_its_webhook_was_paused() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    publish(&stage, webhook, 1).await;
    stage.receiver.hold();
    let (worker, began_at) = (stage.dispatcher(), stage.clock.now());
    let passing = async {
        soon(stage.receiver.received(1)).await;
        let manage = &stage.gateway.manage;
        manage.pause(&tenant(), webhook).await.unwrap();
        step_to(&stage, began_at.plus(SECONDS(1))).await;
        stage.receiver.open();
    };
    let (drained, ()) = tokio::join!(drain(&stage, &worker, webhook), passing);
    assert_eq!(drained, Drained::Stopped);
    assert_eq!(stage.line.take(), []);
}

/// Other workers move rows to the backlog of a limited webhook.
#[tokio::test]
async fn a_drain_registers_the_backlog_of_a_webhook_that_it_limits_and_goes_on() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    fail(&stage, webhook, 10).await;
    publish(&stage, webhook, 20).await;
    assert!(!stage.flow(webhook).await.limiter.limited);
    let store = Watched::over(&stage);
    let (worker, began_at) = (store.worker(&stage), stage.clock.now());
    let passing = async {
        let at = |ms| began_at.plus(Millis::new(ms));
        // It starts at 2/s.
        step_to(&stage, at(500)).await;
        soon(stage.receiver.received(11)).await;
        step_to(&stage, at(1000)).await;
        soon(stage.receiver.received(12)).await;
        // The receiver answers, so the rate is raised.
        stage.clock.set(at(10_000));
    };
    let (drained, ()) = tokio::join!(drain(&stage, &worker, webhook), passing);
    assert!(matches!(drained, Drained::Begun(2..)), "{drained:?}");
    let calls = store.calls();
    assert_eq!(calls[..2], [Call::Register, Call::StoreLimiter]);
    let registered = calls.iter().filter(|call| **call == Call::Register);
    assert_eq!(registered.count(), 1);
    let limiter = stage.flow(webhook).await.limiter;
    assert!(limiter.limited && limiter.rate_milli > 2000, "{limiter:?}");
}

/// Or the next drain would take the limiter for idle and reset it.
#[tokio::test]
async fn a_drain_stores_when_rows_were_last_seen_waiting() {
    let stage = Stage::set().await;
    let webhook = stage.webhook_with(WebhookDraft {
        max_in_flight: Some(1),
        ..WebhookDraft::default()
    });
    let webhook = webhook.await;
    publish(&stage, webhook, 2).await;
    stage.receiver.hold();
    let (worker, began_at) = (stage.dispatcher(), stage.clock.now());
    let waited_at = began_at.plus(SECONDS(1));
    let passing = async {
        soon(stage.receiver.received(1)).await;
        step_to(&stage, waited_at).await;
        stage.receiver.open();
    };
    let (drained, ()) = tokio::join!(drain(&stage, &worker, webhook), passing);
    assert_eq!(drained, Drained::Begun(2));
    assert_eq!(stage.flow(webhook).await.limiter.waited_at, waited_at);
}

#[tokio::test]
async fn an_attempt_that_may_just_end_before_the_deadline_is_made() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    // Connecting, the response and the write may take 18 s.
    let deadline = stage.clock.now().plus(SECONDS(18));
    let handled = stage.dispatcher().handle(stage.line.take(), deadline).await;
    assert_eq!(handled, [Ok(Handled::Attempted)]);
}

/// The clocks of machines differ a little.
#[tokio::test]
async fn a_new_row_that_is_not_due_yet_by_the_workers_clock_is_sent_again() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let messages = stage.line.take();
    stage.clock.set(stage.clock.now().minus(SECONDS(1)));
    let handled = stage.handle(messages.clone()).await;
    assert_eq!(handled, [Ok(Handled::SentAgain)]);
    assert_eq!(stage.line.take(), messages);
}

/// Deliveries are exhausted and owners are notified on time.
#[tokio::test]
async fn after_a_limit_retries_have_credit_before_first_attempts_that_were_due_during_it() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let retry = fail(&stage, webhook, 1).await.remove(0);
    stage.clock.set(retry.next_retry_at);
    stage.publish(webhook).await;
    let first = stage.line.take_attempts().remove(0);
    stage.clock.advance(SECONDS(1));
    let (store, tenant, now) = (&stage.ports.store, tenant(), stage.clock.now());
    let seen_epoch = stage.flow(webhook).await.limiter.epoch;
    let opened = Limiter {
        limited: false,
        opened_at: now,
        ..stage.flow(webhook).await.limiter
    };
    let lease = DrainLease {
        owner: "another".to_owned(),
        taken_at: now,
    };
    let taken = store.take_drain_lease(&tenant, webhook, lease.clone());
    assert!(taken.await.unwrap().is_some());
    let end = DrainEnd {
        at: now,
        limiter: opened,
        seen_epoch,
        asked_for: None,
        looked: None,
    };
    let ended = store.end_drain(&tenant, webhook, &lease, end);
    ended.await.unwrap();
    // Credit for one.
    stage.clock.advance(SECONDS(1));
    let handled = stage.handle(vec![first, retry]).await;
    assert_eq!(handled, [Ok(Handled::Postponed), Ok(Handled::Attempted)]);
}

#[tokio::test]
async fn a_worker_registers_a_backlog_once_unless_its_webhook_is_stopped() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let mut retries = fail(&stage, webhook, 6).await;
    stage.clock.advance(SECONDS(30));
    let store = Watched::over(&stage);
    let worker = store.worker(&stage);
    // There is credit for one retry.
    let mut postponed = async |worker: &QueueWorker, count| {
        let messages = retries.drain(..2).map(Into::into).collect();
        let handled = worker.handle(messages, stage.in_a_minute()).await;
        let is_postponed = |handled: &&Result<Handled>| **handled == Ok(Handled::Postponed);
        assert_eq!(handled.iter().filter(is_postponed).count(), count);
    };
    postponed(&worker, 1).await;
    assert_eq!(store.calls(), [Call::Register]);
    postponed(&worker, 2).await;
    assert_eq!(store.calls(), [Call::Register]);
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    postponed(&store.worker(&stage), 2).await;
    assert_eq!(store.calls(), [Call::Register], "pausing has registered it");
}

/// A row that was written there by another process may not be known to any drain.
#[tokio::test]
async fn a_message_for_a_row_in_a_backlog_asks_for_a_drain_unless_its_webhook_is_stopped() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let retries = fail(&stage, webhook, 2).await;
    stage.clock.advance(SECONDS(30));
    let store = Watched::over(&stage);
    let worker = store.worker(&stage);
    let handle = async |message: AttemptMessage| {
        let handled = worker.handle(vec![message.into()], stage.in_a_minute());
        (handled.await.remove(0).unwrap(), stage.line.take())
    };
    let [attempted, postponed] = retries.try_into().unwrap();
    handle(attempted).await;
    let (handled, _) = handle(postponed.clone()).await;
    assert_eq!(handled, Handled::Postponed);
    // The drain that was asked for does not come.
    stage.clock.advance(SECONDS(61));
    let (handled, asked) = handle(postponed.clone()).await;
    assert_eq!(handled, Handled::Dropped(Needless::InBacklog));
    assert_eq!(asked, [drain_at(webhook, stage.clock.now())]);
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    stage.clock.advance(SECONDS(61));
    let (handled, asked) = handle(postponed).await;
    assert_eq!(handled, Handled::Dropped(Needless::InBacklog));
    assert_eq!(asked, []);
}
