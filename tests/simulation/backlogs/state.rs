//! One webhook and its deliveries in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use postrider_domain::delivery::{Claimed, Completion, Delivery, Status, Unclaimable};
use postrider_domain::event::Event;
use postrider_domain::flow::{AttemptKind, Credit, Limiter};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, EventId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::{Applied, Claim, ClaimedDelivery, Wanted};
use postrider_ports::drains::{BacklogPart, DrainLease, DrainState, Registration};
use postrider_ports::limiters::WebhookFlow;
use postrider_ports::queue::AttemptMessage;
use postrider_testkit::builders;

use super::store::SHARDS;

const FOREVER: Timestamp = Timestamp::from_millis(i64::MAX);

pub(super) struct State {
    pub(super) webhook: Option<Webhook>,
    pub(super) version: u64,
    pub(super) rows: BTreeMap<DeliveryId, Delivery>,
    events: BTreeMap<EventId, Arc<Event>>,
    /// What the index shows.
    index: Vec<Entry>,
    index_lag: Millis,
    pub(super) limiter: Limiter,
    pub(super) credit: Credit,
    pub(super) failed_in_a_row: u32,
    pub(super) drain: DrainState,
    pub(super) registration: Option<Registration>,
}

/// An entry of the index, shown from a time on, until another time.
struct Entry {
    message: AttemptMessage,
    kind: AttemptKind,
    from: Timestamp,
    until: Timestamp,
}

impl State {
    pub(super) fn new(webhook: Webhook, index_lag: Millis, now: Timestamp) -> Self {
        Self {
            limiter: Limiter::new(&webhook.settings.limits(), now),
            webhook: Some(webhook),
            version: 1,
            rows: BTreeMap::new(),
            events: BTreeMap::new(),
            index: Vec::new(),
            index_lag,
            credit: Credit::full(now),
            failed_in_a_row: 0,
            drain: DrainState::default(),
            registration: None,
        }
    }

    pub(super) fn register(&mut self, now: Timestamp) {
        self.registration = self.webhook.as_ref().map(|webhook| Registration {
            tenant: webhook.tenant.clone(),
            webhook: webhook.id,
            touched_at: now,
        });
    }

    /// Adds a row that is due at `due_at`, in the backlog if the webhook is limited.
    pub(super) fn accept(&mut self, n: u32, due_at: Timestamp, now: Timestamp) -> AttemptMessage {
        let in_backlog = self.limiter.limited;
        self.add(n, AttemptKind::First, in_backlog, due_at, now)
    }

    pub(super) fn add_to_backlog(
        &mut self,
        n: u32,
        kind: AttemptKind,
        due_at: Timestamp,
        now: Timestamp,
    ) {
        self.add(n, kind, true, due_at, now);
    }

    fn add(
        &mut self,
        n: u32,
        kind: AttemptKind,
        in_backlog: bool,
        due_at: Timestamp,
        now: Timestamp,
    ) -> AttemptMessage {
        let webhook = self.webhook.as_ref().unwrap();
        let event = builders::event(&webhook.tenant, n, now);
        let mut row = builders::row(&event, webhook.id);
        row.next_retry_at = Some(due_at);
        if kind == AttemptKind::Retry {
            row.status = Status::Failed;
            row.attempts_total = 1;
            row.attempt_count = 1;
        }
        row.in_backlog = in_backlog;
        row.version = u64::from(in_backlog || kind == AttemptKind::Retry);
        let message = AttemptMessage::of(&row);
        self.store(row, now);
        self.events.insert(event.id, Arc::new(event));
        message
    }

    /// Stores a row; the index follows.
    fn store(&mut self, row: Delivery, now: Timestamp) {
        let shown_until = now.plus(self.index_lag);
        self.index.retain_mut(|entry| {
            if entry.message.id == row.id {
                entry.until = entry.until.min(shown_until);
            }
            entry.until > now
        });
        if row.in_backlog && row.status.is_open() {
            self.index.push(Entry {
                message: AttemptMessage::of(&row),
                kind: AttemptKind::of(&row),
                from: shown_until,
                until: FOREVER,
            });
        }
        self.rows.insert(row.id, row);
    }

    pub(super) fn backlog(&self, part: BacklogPart, now: Timestamp) -> Vec<AttemptMessage> {
        let shown = |entry: &&Entry| {
            let shard = u16::from(entry.message.id.event.as_bytes()[15]) % SHARDS;
            entry.kind == part.kind
                && shard == part.shard
                && (entry.from..entry.until).contains(&now)
        };
        let found = self.index.iter().filter(shown);
        let mut messages: Vec<_> = found.map(|entry| entry.message.clone()).collect();
        messages.sort_by_key(|message| (message.next_retry_at, message.id));
        messages
    }

    pub(super) fn set_status(&mut self, status: WebhookStatus, now: Timestamp) {
        self.limiter = match status {
            WebhookStatus::Active => self.limiter.resumed(now),
            WebhookStatus::Paused | WebhookStatus::Failed | WebhookStatus::Disabled => {
                self.limiter.paused()
            }
        };
        self.register(now);
        self.version += 1;
        if let Some(webhook) = &mut self.webhook {
            webhook.health = webhook.health.set(status, now);
        }
    }

    pub(super) fn flow(&self) -> Option<WebhookFlow> {
        self.webhook.as_ref().map(|webhook| WebhookFlow {
            status: webhook.health.status,
            generation: webhook.health.generation,
            updated_at: Some(webhook.updated_at),
            limiter: self.limiter,
            capped: webhook.settings.limits().is_capped(),
            failed_in_a_row: self.failed_in_a_row,
            credit: Some(self.credit),
            drain: self.drain.clone(),
        })
    }

    pub(super) fn holds(&self, lease: &DrainLease) -> bool {
        let held = self.drain.lease.as_ref();
        self.webhook.is_some() && held.is_some_and(|held| held.owner == lease.owner)
    }

    pub(super) fn claim(
        &mut self,
        wanted: &Wanted,
        now: Timestamp,
        rule: impl FnOnce(Delivery) -> std::result::Result<Claimed, Unclaimable>,
    ) -> Claim {
        let Some(row) = self.rows.get(&wanted.id).cloned() else {
            return Claim::Missing;
        };
        if wanted.is_written_since(&row) {
            return Claim::NotFresh;
        }
        match &self.webhook {
            None => return Claim::WebhookDeleted,
            Some(webhook) if webhook.health.status.is_stopped() => {
                return Claim::Unclaimable(Unclaimable::InBacklog);
            }
            Some(_) => {}
        }
        debug_assert!(wanted.lease.until > now, "a lease lasts");
        match rule(row) {
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

    /// Writes the result of an attempt, and what the publisher derives from it.
    pub(super) fn apply(
        &mut self,
        claimed: &Claimed,
        completion: &Completion,
        now: Timestamp,
    ) -> Applied {
        let id = claimed.delivery().id;
        let Some(row) = self.rows.get(&id).filter(|row| claimed.still_holds(row)) else {
            return Applied::Stale;
        };
        let after = row.completed(completion);
        self.failed_in_a_row = match after.status {
            Status::Failed | Status::Dead => self.failed_in_a_row + 1,
            Status::Pending | Status::Delivered => 0,
        };
        self.store(after.clone(), now);
        Applied::Done(Box::new(after))
    }

    pub(super) fn give_back(&mut self, claimed: &Claimed) {
        let id = claimed.delivery().id;
        if let Some(row) = self
            .rows
            .get_mut(&id)
            .filter(|row| claimed.still_holds(row))
        {
            row.lease_owner = None;
            row.lease_until = Timestamp::ZERO;
            row.version += 1;
        }
    }

    pub(super) fn move_to_backlog(&mut self, id: DeliveryId, seen: Timestamp, now: Timestamp) {
        let free = |row: &&Delivery| {
            row.status.is_open() && !row.is_held(now) && row.next_retry_at == Some(seen)
        };
        if let Some(row) = self.rows.get(&id).filter(free) {
            let moved = row.moved_to_backlog();
            self.store(moved, now);
        }
    }

    /// How many rows are open although their webhook exists.
    pub(super) fn waiting(&self) -> usize {
        let open = self.rows.values().filter(|row| row.status.is_open());
        self.webhook.as_ref().map_or(0, |_| open.count())
    }
}
