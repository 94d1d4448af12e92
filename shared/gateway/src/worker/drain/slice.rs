//! One drain: begins attempts as there is credit, and adjusts the limiter by their outcomes.

use std::collections::HashSet;

use postrider_domain::delivery::Unclaimable;
use postrider_domain::flow::{AttemptKind, Change, Flow, FlowStatus, Limiter, Limits};
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, ClaimedDelivery, Seen};
use postrider_ports::drains::{DrainEnd, DrainLease};
use postrider_ports::limiters::{Stored, WebhookFlow};
use postrider_ports::queue::AttemptMessage;

use super::Drainer;
use super::lanes::Lanes;
use super::running::Running;
use crate::attempt::{AttemptResult, Attempted};
use crate::telemetry;
use crate::worker::REPORT_MARGIN;
use crate::worker::claims::SPARE;

/// How many attempts of one webhook are under way at most.
const MAX_IN_FLIGHT: usize = 128;
/// How often the limiter is adjusted, and settings and status are read again.
const STEP: Millis = Millis::from_seconds(1);
/// A limited webhook without a backlog is looked at again when its limiter has been idle for long enough to be reset.
const IDLE: Millis = Millis::from_seconds(61);
/// How many outcomes are enough to judge a rate by.
const EVIDENCE: usize = 10;
/// When a row is looked at again that another process holds.
const HELD_FOR: Millis = Millis::from_seconds(5);
/// The same for a row that cannot be read: that needs an operator.
const BROKEN_FOR: Millis = Millis::from_seconds(60);
/// How far ahead a drain asks for the next one. A message further ahead would keep others from being sent; the poller asks
/// for later rows.
const REACH: Millis = Millis::from_seconds(120);

/// Why a drain began no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its time is over, or nothing was due.
    Over,
    /// The webhook was stopped or deleted.
    Stopped,
    /// Another process has the lease, or has changed the limiter.
    Lost,
}

pub(super) struct Slice<'a> {
    drainer: &'a Drainer,
    pub(super) webhook: Webhook,
    lease: DrainLease,
    flow: Flow,
    /// The limiter as it is stored.
    stored: Limiter,
    failed_in_a_row: u32,
    lanes: Lanes,
    running: Running<'a>,
    in_flight: HashSet<DeliveryId>,
    /// Rows that could not be claimed and are looked at again later.
    unclaimed: HashSet<DeliveryId>,
    begun: usize,
    /// How many attempts have said something about the receiver.
    observed: usize,
    until: Timestamp,
    deadline: Timestamp,
    step_at: Timestamp,
    /// The next drain does not begin earlier.
    not_before: Timestamp,
    /// When a row that could not be claimed is looked at again.
    again_at: Option<Timestamp>,
    is_registered: bool,
}

impl<'a> Slice<'a> {
    pub(super) fn new(
        drainer: &'a Drainer,
        webhook: Webhook,
        shared: &WebhookFlow,
        lease: DrainLease,
        until: Timestamp,
        deadline: Timestamp,
    ) -> Self {
        let now = lease.taken_at;
        let flow = Flow::of(shared.limiter, now);
        let shards = drainer.ports.store.shards();
        Self {
            drainer,
            lanes: Lanes::new(webhook.tenant.clone(), webhook.id, shards),
            webhook,
            lease,
            flow,
            stored: shared.limiter,
            failed_in_a_row: shared.failed_in_a_row,
            running: Running::default(),
            in_flight: HashSet::new(),
            unclaimed: HashSet::new(),
            begun: 0,
            observed: 0,
            until,
            deadline,
            step_at: now.plus(STEP),
            not_before: now,
            again_at: None,
            is_registered: false,
        }
    }

    pub(super) const fn begun(&self) -> usize {
        self.begun
    }

    pub(super) fn flow_status(&self) -> FlowStatus {
        FlowStatus::of(self.flow.limiter(), &self.limits())
    }

    pub(super) fn take_unclaimed(&mut self) -> HashSet<DeliveryId> {
        std::mem::take(&mut self.unclaimed)
    }

    /// Whether there was nothing to attempt.
    pub(super) fn found_nothing(&self) -> bool {
        self.begun == 0 && !self.lanes.has_due()
    }

    pub(super) async fn run(&mut self) -> Result<Stop> {
        let entered = {
            let (limits, now) = (self.limits(), self.now());
            let count = self.failed_in_a_row;
            self.flow.failed_in_a_row(count, &limits, now)
        };
        if self.store(entered).await? == Stored::Outdated {
            return Ok(Stop::Lost);
        }
        while self.now() < self.until {
            if let Some(stop) = self.begin_attempts().await? {
                return Ok(stop);
            }
            let is_read = !self.lanes.has_due() && !self.lanes.has_more();
            if self.running.is_empty() && is_read {
                break;
            }
            self.wait(self.wake_at()).await;
            if let Some(stop) = self.step_if_due().await? {
                return Ok(stop);
            }
        }
        self.wait_for_evidence().await
    }

    /// A receiver that hangs or is slow says little while attempts are begun. Without waiting for it, no drain would ever
    /// slow down or speed up: what ends after the lease was given back counts for nothing.
    async fn wait_for_evidence(&mut self) -> Result<Stop> {
        while self.observed < EVIDENCE && !self.running.is_empty() && self.now() < self.last_call()
        {
            self.wait(self.last_call()).await;
        }
        self.step_at = self.now();
        // A maximum that is new decides when the lease is given back.
        let cache = &self.drainer.webhook_cache;
        let current = cache.current(&self.webhook.tenant, self.step_at);
        self.running.alongside(current).await?;
        Ok(self.step_if_due().await?.unwrap_or(Stop::Over))
    }

    fn last_call(&self) -> Timestamp {
        self.deadline.minus(REPORT_MARGIN)
    }

    /// Begins as many attempts as there are rows, credit and slots for.
    async fn begin_attempts(&mut self) -> Result<Option<Stop>> {
        let (store, now) = (&*self.drainer.ports.store, self.now());
        let fill = self.lanes.fill(store, &self.in_flight, now);
        self.running.alongside(fill).await?;
        for kind in self.order() {
            let (limits, now) = (self.limits(), self.now());
            // The store may have taken long.
            if now >= self.until {
                return Ok(None);
            }
            let slots = self.slots().saturating_sub(self.in_flight.len());
            let want = self.lanes.count(kind).min(slots);
            let Some(oldest) = self.lanes.oldest(kind) else {
                continue;
            };
            let granted = self.flow.allow(kind, oldest, want, &limits, now);
            let rows = self.lanes.take(kind, granted);
            let begun = self.begun;
            let stop = self.claim(rows).await?;
            // Rows that could not be claimed need no credit.
            let unused = granted.saturating_sub(self.begun - begun);
            self.flow.give_back(kind, oldest, unused, &limits);
            if stop.is_some() {
                return Ok(stop);
            }
        }
        Ok(None)
    }

    /// Retries go first, so that deliveries are exhausted and owners are notified on time, unless a maximum of the webhook
    /// would let them starve first attempts.
    fn order(&self) -> [AttemptKind; 2] {
        let retries_first = [AttemptKind::Retry, AttemptKind::First];
        if self.flow.retries_go_first(&self.limits()) {
            return retries_first;
        }
        let [retry, first] = retries_first.map(|kind| self.lanes.oldest(kind));
        match (retry, first) {
            (Some(retry), Some(first)) if first < retry => [AttemptKind::First, AttemptKind::Retry],
            (Some(_) | None, Some(_) | None) => retries_first,
        }
    }

    async fn claim(&mut self, rows: Vec<AttemptMessage>) -> Result<Option<Stop>> {
        if rows.is_empty() {
            return Ok(None);
        }
        self.register().await?;
        let Drainer { ports, wanting, .. } = self.drainer;
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let wanted = rows
            .into_iter()
            .map(|row| wanting.wanted(row.tenant, row.id, Seen::default(), self.deadline));
        let claims = ports
            .store
            .claim_from_backlog(wanted.collect(), ports.clock.now());
        let mut stop = None;
        let claims = self.running.alongside(claims).await;
        for (id, claim) in ids.into_iter().zip(claims) {
            match claim {
                Ok(Claim::Claimed(delivery)) => self.begin(id, delivery),
                Ok(Claim::Unclaimable(Unclaimable::InBacklog) | Claim::WebhookDeleted) => {
                    stop = Some(Stop::Stopped);
                }
                Ok(Claim::Unclaimable(Unclaimable::Closed) | Claim::Missing) => {}
                Ok(Claim::Unclaimable(Unclaimable::NotDue(due_at))) => self.come_back(id, due_at),
                Ok(Claim::Unclaimable(Unclaimable::Held) | Claim::NotFresh) => {
                    self.come_back(id, self.now().plus(HELD_FOR));
                }
                // A row that cannot be read must not hold up the others.
                Err(error) => {
                    telemetry::drain_failed(id.webhook, &error);
                    let pause = if error.is_transient() {
                        HELD_FOR
                    } else {
                        BROKEN_FOR
                    };
                    self.come_back(id, self.now().plus(pause));
                }
            }
        }
        Ok(stop)
    }

    /// The result of an attempt moves its row within the backlog: its registration must outlast the time in which the index
    /// may not show that.
    async fn register(&mut self) -> Result<()> {
        if self.is_registered {
            return Ok(());
        }
        let (tenant, id, now) = (&self.webhook.tenant, self.webhook.id, self.now());
        let store = &self.drainer.ports.store;
        let registered = store.register_backlog(tenant, id, now);
        self.running.alongside(registered).await?;
        self.is_registered = true;
        Ok(())
    }

    /// A row that could not be claimed is looked at again in a later drain, not at once: it would be found again.
    fn come_back(&mut self, id: DeliveryId, at: Timestamp) {
        self.unclaimed.insert(id);
        self.again_at = Some(self.again_at.map_or(at, |planned| planned.min(at)));
    }

    fn begin(&mut self, id: DeliveryId, delivery: Box<ClaimedDelivery>) {
        let drainer = self.drainer;
        self.begun += 1;
        self.in_flight.insert(id);
        self.running.begin(Box::pin(async move {
            let result = drainer.attempts.attempt(&delivery, SPARE).await;
            if let Err(error) = &result.written {
                telemetry::attempt_abandoned(&delivery.claimed, error);
            }
            (id, result)
        }));
    }

    /// Waits for an attempt to end, but not longer than this.
    async fn wait(&mut self, until: Timestamp) {
        let sleep = self.drainer.ports.clock.sleep_until(until);
        self.running.any_ended_or(sleep).await;
        while let Some((id, result)) = self.running.take_ended() {
            self.ended(id, &result);
        }
    }

    /// Waits for something else, while the attempts go on.
    pub(super) async fn alongside<T>(&mut self, other: impl Future<Output = T>) -> T {
        self.running.alongside(other).await
    }

    fn ended(&mut self, id: DeliveryId, result: &AttemptResult) {
        self.in_flight.remove(&id);
        let (limits, now) = (self.limits(), self.now());
        match result.written {
            // The fault is this process's own: it begins no more, and the next drain a little later.
            Ok(Attempted::GivenBack(_)) => {
                self.until = now;
                self.not_before = now.plus(STEP);
            }
            Ok(Attempted::NotStarted) => self.until = now,
            Ok(Attempted::Done(_) | Attempted::Stale) | Err(_) => {}
        }
        let Some(observation) = result.observation else {
            return;
        };
        self.observed += 1;
        if let Some(change) = self.flow.observe(observation, &limits, now) {
            telemetry::flow_changed(self.webhook.id, change);
            // Stored with the next step.
            self.step_at = now;
        }
    }

    /// When something can be done: credit, the next row, a step, or the end.
    fn wake_at(&self) -> Timestamp {
        let (limits, now) = (self.limits(), self.now());
        let is_full = self.in_flight.len() >= self.slots();
        let kinds = [AttemptKind::Retry, AttemptKind::First].into_iter();
        let ready_at = kinds
            .filter_map(|kind| Some((kind, self.lanes.oldest(kind)?)))
            .map(|(kind, due_at)| self.flow.ready_at(kind, due_at, &limits, now))
            .chain(self.lanes.has_more().then_some(now))
            .filter(|_| !is_full)
            .min();
        // Never in a busy loop: rows that turn out not to be claimable use up no time.
        let ready_at = ready_at.map(|at| at.max(now.plus(Millis::new(1))));
        let wake_at = self.until.min(self.step_at);
        ready_at.map_or(wake_at, |at| at.min(wake_at))
    }

    /// Once a second, adjusts the limiter, and stops if the webhook was stopped or another process took over.
    async fn step_if_due(&mut self) -> Result<Option<Stop>> {
        let now = self.now();
        if now < self.step_at {
            return Ok(None);
        }
        self.step_at = now.plus(STEP);
        if let Some(stop) = self.read_settings(now).await? {
            return Ok(Some(stop));
        }
        let (limits, waiting) = (self.limits(), self.lanes.waiting());
        let change = self.flow.step(&waiting, &limits, now);
        Ok(match self.store(change).await? {
            Stored::Done => None,
            Stored::Outdated => Some(Stop::Lost),
        })
    }

    async fn read_settings(&mut self, now: Timestamp) -> Result<Option<Stop>> {
        let (drainer, tenant) = (self.drainer, &self.webhook.tenant);
        let snapshot = drainer.webhook_cache.recent(tenant, now);
        let is_stopped = drainer.is_stopped(tenant, self.webhook.id);
        let read = futures_util::future::try_join(snapshot, is_stopped);
        let (snapshot, is_stopped) = self.running.alongside(read).await?;
        match snapshot.get(self.webhook.id) {
            Some(webhook) if !is_stopped => {
                self.webhook = webhook.clone();
                Ok(None)
            }
            Some(_) | None => Ok(Some(Stop::Stopped)),
        }
    }

    /// Stores a limiter that matters to others: another rate, or limited or not.
    async fn store(&mut self, change: Option<Change>) -> Result<Stored> {
        let limiter = *self.flow.limiter();
        if let Some(change) = change {
            telemetry::flow_changed(self.webhook.id, change);
        }
        let is_same =
            (limiter.epoch, limiter.rate_milli) == (self.stored.epoch, self.stored.rate_milli);
        if is_same {
            return Ok(Stored::Done);
        }
        // Others write rows into the backlog of a webhook that is limited, and stop when it no longer is.
        if limiter.epoch != self.stored.epoch {
            self.register().await?;
        }
        let (tenant, id) = (&self.webhook.tenant, self.webhook.id);
        let store = &self.drainer.ports.store;
        let epoch = self.stored.epoch;
        let stored = store.store_limiter(tenant, id, &self.lease, epoch, limiter);
        let stored = self.running.alongside(stored).await?;
        if stored == Stored::Done {
            self.stored = limiter;
        }
        Ok(stored)
    }

    /// When the next drain has something to do; `None` if nothing is left, or it is too far ahead for a message.
    pub(super) fn next_drain_at(&self) -> Option<Timestamp> {
        let now = self.now();
        let reach = now.plus(REACH);
        let next_row_at = self.lanes.first_due_at();
        let next_row_at = next_row_at.map(|at| at.max(now).max(self.not_before));
        // Rows may have come since the last look.
        let look_at = (self.begun > 0).then(|| now.plus(STEP));
        let is_limited = self.flow.limiter().limited;
        let reset_at = is_limited.then(|| now.plus(IDLE));
        let planned = [next_row_at, look_at, reset_at, self.again_at];
        let next_at = planned.into_iter().flatten().min();
        next_at.filter(|at| *at <= reach)
    }

    /// Gives the lease back.
    pub(super) async fn end(&mut self, asked_for: Option<Timestamp>) -> Result<()> {
        // A change that could not be stored has not happened for the others.
        let limiter = *self.flow.limiter();
        let is_stored = limiter.epoch == self.stored.epoch;
        let end = DrainEnd {
            at: self.now(),
            limiter: if is_stored { limiter } else { self.stored },
            seen_epoch: self.stored.epoch,
            asked_for,
            looked: self.lanes.looked(),
        };
        let (tenant, id) = (&self.webhook.tenant, self.webhook.id);
        let store = &self.drainer.ports.store;
        let ended = store.end_drain(tenant, id, &self.lease, end);
        self.running.alongside(ended).await
    }

    /// Waits for the attempts that are under way. Their leases outlast the function.
    pub(super) async fn finish_attempts(&mut self) {
        while !self.running.is_empty() && self.now() < self.last_call() {
            self.wait(self.last_call()).await;
        }
    }

    pub(super) const fn has_own_maximum(&self) -> bool {
        self.limits().max_in_flight.is_some()
    }

    fn slots(&self) -> usize {
        let most = self.limits().max_in_flight;
        let most = most.and_then(|most| usize::try_from(most).ok());
        most.map_or(MAX_IN_FLIGHT, |most| most.min(MAX_IN_FLIGHT))
    }

    const fn limits(&self) -> Limits {
        self.webhook.settings.limits()
    }

    fn now(&self) -> Timestamp {
        self.drainer.ports.clock.now()
    }
}
