//! The slots of attempts in flight, per webhook and in total, and the claimed deliveries that wait for one.
//!
//! A new row is stored as claimed even if no slot is free right now, and waits here. Storing it as free would need a second
//! write to claim it, and a read to find it. Only rows that would wait long are stored as free. Of those, some are claimed ahead
//! when their turn comes, and wait here as well, so that slots are rarely idle while the next rows are read and claimed.

use std::collections::{HashMap, VecDeque};
use std::mem::take;

use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use tokio::sync::Notify;

pub(super) type Key = (TenantId, WebhookId);

/// How many rows of a webhook in the store may be claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Taken slots.
    pub(super) slots: usize,
    /// Rows that may be claimed before a slot is free for them.
    pub(super) ahead: usize,
    /// The assumed length of each of their bodies.
    pub(super) bytes_ahead: usize,
}

impl Room {
    pub(super) const fn all(self) -> usize {
        self.slots + self.ahead
    }

    /// What is left once this many rows are claimed, those with a slot first.
    pub(super) fn without(self, claimed: usize) -> Self {
        let slots = claimed.min(self.slots);
        Self {
            slots: self.slots - slots,
            ahead: self.ahead.saturating_sub(claimed - slots),
            ..self
        }
    }

    /// The room that a claimed row takes: the first ones have a slot.
    pub(super) fn of_row(self, number: usize) -> Self {
        let slots = usize::from(number < self.slots);
        Self {
            slots,
            ahead: 1 - slots,
            ..self
        }
    }
}

/// One webhook may take at most this fraction (one eighth) of the free slots. The more receivers hang, the fewer slots the
/// next one gets, so that dozens of them still leave room for a healthy one.
const SHARE_OF_REST: usize = 8;
/// How many deliveries may wait here, and how long their bodies may be together.
const MAX_READY: usize = 8192;
const MAX_READY_BYTES: usize = 8 * 1024 * 1024;
/// If the first delivery of a webhook has waited this long, or none has begun for so long, its receiver is slow: further ones
/// wait in the store. A process that gets too little CPU still begins some all the time.
const MAX_WAIT: Millis = Millis::from_seconds(1);
const STALLED_AFTER: Millis = Millis::new(100);
/// From this many waiting deliveries on, publishers are slowed down.
const CROWDED: usize = 1024;
/// Rows are claimed ahead only while fewer deliveries than this wait here, so that publishers are not slowed down for them.
const MAX_AHEAD: usize = CROWDED / 2;
/// For so long, what waits for slow receivers is not counted again: with thousands of webhooks the count takes longer than all
/// else that a publisher does.
const COUNTED_FOR: Millis = Millis::new(10);
/// How many results may wait to be written without a slot, and how long the bodies of their events may be together. Beyond that
/// a delivery keeps its slot until it is written, so a store that cannot write stops the requests, too.
const MAX_UNWRITTEN: usize = 1024;
const MAX_UNWRITTEN_BYTES: usize = 8 * 1024 * 1024;
/// How many waiting webhooks are tried for one free slot.
const TRIED: usize = 16;

pub(super) struct Slots<T> {
    per_webhook: usize,
    max_total: usize,
    counts: Mutex<Counts<T>>,
    emptied: Notify,
    thinned: Notify,
}

struct Counts<T> {
    total: usize,
    by_webhook: HashMap<Key, Webhook<T>>,
    /// Deliveries without a slot whose results are not written yet, and the length of their bodies.
    unwritten: usize,
    unwritten_bytes: usize,
    /// Rows that are being stored or claimed, and will begin or wait here afterwards.
    promised: usize,
    ready: usize,
    /// The length of the bodies that are promised or ready.
    bytes: usize,
    /// How many of the ready ones wait for slow receivers, as last counted.
    slow: Slow,
    /// Webhooks with ready deliveries, in the order of their turns.
    turns: VecDeque<Key>,
    /// Webhooks with due rows in the store that wait for a slot, by when their turn comes. Their new rows wait behind those.
    backlog: HashMap<Key, u64>,
    next_turn: u64,
    closed: bool,
}

#[derive(Clone, Copy)]
struct Slow {
    ready: usize,
    counted_at: Timestamp,
}

struct Webhook<T> {
    in_flight: usize,
    promised: usize,
    /// Its own maximum of attempts in flight.
    most: Option<u32>,
    ready: VecDeque<Ready<T>>,
    /// When the last delivery began that was promised.
    begun_at: Timestamp,
    has_turn: bool,
    /// Since rows in the store were last looked for, and between the last two looks.
    ended: Ended,
    turned_over: Ended,
}

/// Attempts that have ended soon after they began.
#[derive(Clone, Copy, Default)]
struct Ended {
    count: usize,
    /// The length of their bodies.
    bytes: usize,
}

/// A delivery that waits for a slot.
struct Ready<T> {
    item: T,
    bytes: usize,
    since: Timestamp,
}

impl<T> Default for Counts<T> {
    fn default() -> Self {
        Self {
            total: 0,
            by_webhook: HashMap::new(),
            unwritten: 0,
            unwritten_bytes: 0,
            promised: 0,
            ready: 0,
            bytes: 0,
            slow: Slow {
                ready: 0,
                counted_at: Timestamp::ZERO,
            },
            turns: VecDeque::new(),
            backlog: HashMap::new(),
            next_turn: 0,
            closed: false,
        }
    }
}

impl<T> Default for Webhook<T> {
    fn default() -> Self {
        Self {
            in_flight: 0,
            promised: 0,
            most: None,
            ready: VecDeque::new(),
            begun_at: Timestamp::ZERO,
            has_turn: false,
            ended: Ended::default(),
            turned_over: Ended::default(),
        }
    }
}

impl<T> Webhook<T> {
    fn is_unused(&self) -> bool {
        self.in_flight == 0 && self.promised == 0 && self.ready.is_empty() && !self.has_turn
    }

    /// Whether its deliveries begin soon after they are ready.
    fn is_moving(&self, now: Timestamp) -> bool {
        let Some(first) = self.ready.front() else {
            return true;
        };
        let stalled_since = self.begun_at.max(first.since);
        now.since(first.since) <= MAX_WAIT && now.since(stalled_since) <= STALLED_AFTER
    }
}

impl<T> Counts<T> {
    /// Lets a webhook without rows in the store wait for a slot. What has ended before says nothing about how soon those begin
    /// that it gets now.
    fn queue_first(&mut self, key: Key) {
        if let Some(webhook) = self.by_webhook.get_mut(&key) {
            webhook.ended = Ended::default();
        }
        self.queue(key);
    }

    /// Lets a webhook wait for a slot, behind those that wait already.
    fn queue(&mut self, key: Key) {
        let turn = self.next_turn;
        self.backlog.entry(key).or_insert(turn);
        self.next_turn += 1;
    }

    fn return_slot(&mut self, key: &Key) {
        self.total = self.total.saturating_sub(1);
        if let Some(webhook) = self.by_webhook.get_mut(key) {
            webhook.in_flight = webhook.in_flight.saturating_sub(1);
        }
    }

    fn take(&mut self, key: Key, slots: usize) {
        self.total += slots;
        self.by_webhook.entry(key).or_default().in_flight += slots;
    }

    /// A webhook with rows in the store is kept: its ended attempts are counted.
    fn forget_unused(&mut self, key: &Key) {
        let is_unused = self.by_webhook.get(key).is_some_and(Webhook::is_unused);
        if is_unused && !self.backlog.contains_key(key) {
            self.by_webhook.remove(key);
        }
    }

    fn keep_promise(&mut self, key: &Key, bytes: usize) {
        self.promised = self.promised.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(webhook) = self.by_webhook.get_mut(key) {
            webhook.promised = webhook.promised.saturating_sub(1);
        }
    }

    /// Whether one more delivery of a webhook may wait here.
    fn has_room_to_wait(&self, key: &Key, bytes: usize, now: Timestamp) -> bool {
        let webhook = self.by_webhook.get(key);
        self.ready + self.promised < MAX_READY
            && self.bytes.saturating_add(bytes) <= MAX_READY_BYTES
            && webhook.is_none_or(|webhook| webhook.is_moving(now))
    }

    /// How many deliveries wait for slow receivers.
    fn slow(&mut self, now: Timestamp) -> usize {
        let Slow { counted_at, .. } = self.slow;
        if now < counted_at || now.since(counted_at) >= COUNTED_FOR {
            let slow = self.by_webhook.values();
            let slow = slow.filter(|webhook| !webhook.is_moving(now));
            self.slow = Slow {
                ready: slow.map(|webhook| webhook.ready.len()).sum(),
                counted_at: now,
            };
        }
        self.slow.ready
    }

    fn is_idle(&self) -> bool {
        let waiting = if self.closed { 0 } else { self.ready };
        self.total + self.unwritten + self.promised + waiting == 0
    }
}

impl<T> Slots<T> {
    pub(super) fn new(per_webhook: usize, max_total: usize) -> Self {
        Self {
            per_webhook,
            max_total,
            counts: Mutex::default(),
            emptied: Notify::new(),
            thinned: Notify::new(),
        }
    }

    /// Whether a row of this webhook that is stored now may be stored as claimed. It has to [begin](Self::begin) then, or the
    /// promise has to be [withdrawn](Self::withdraw). `most` is the webhook's own maximum.
    pub(super) fn promise(
        &self,
        key: &Key,
        most: Option<u32>,
        bytes: usize,
        now: Timestamp,
    ) -> bool {
        let mut counts = self.counts.lock();
        // A new row must not overtake those that wait in the store.
        if counts.closed || counts.backlog.contains_key(key) {
            return false;
        }
        let may_begin = self.room(&counts, key, most) > 0 && nothing_ready(&counts, key);
        if !may_begin && !counts.has_room_to_wait(key, bytes, now) {
            counts.queue_first(key.clone());
            return false;
        }
        counts.promised += 1;
        counts.bytes += bytes;
        let webhook = counts.by_webhook.entry(key.clone()).or_default();
        webhook.promised += 1;
        webhook.most = most;
        true
    }

    /// How many rows in the store may be claimed before a slot is free for them, and the likely length of each body. Up to as many as
    /// have ended between the last two looks, so that they begin soon. Each has to [begin](Self::begin), or its promise has to be
    /// [withdrawn](Self::withdraw).
    pub(super) fn promise_ahead(&self, key: &Key, most: Option<u32>) -> (usize, usize) {
        let counts = &mut *self.counts.lock();
        let left = self.max_total.saturating_sub(counts.total);
        let at_most = MAX_AHEAD.saturating_sub(counts.ready + counts.promised);
        let bytes_left = MAX_READY_BYTES.saturating_sub(counts.bytes);
        let Some(webhook) = counts.by_webhook.get_mut(key) else {
            return (0, 0);
        };
        webhook.most = most;
        let ended = take(&mut webhook.turned_over);
        // If it has more than its share, or slots are scarce, the next ones are other webhooks'.
        let has_its_share = webhook.in_flight <= self.bound(left + webhook.in_flight, most);
        if counts.closed || ended.count == 0 || left < SHARE_OF_REST || !has_its_share {
            return (0, 0);
        }
        let bytes = ended.bytes / ended.count;
        let waiting = webhook.ready.len() + webhook.promised;
        let ahead = ended.count.min(webhook.in_flight).saturating_sub(waiting);
        let ahead = ahead.min(at_most).min(bytes_left / bytes.max(1));
        webhook.promised += ahead;
        counts.promised += ahead;
        counts.bytes += ahead * bytes;
        (ahead, bytes)
    }

    pub(super) fn withdraw(&self, key: &Key, bytes: usize) {
        let mut counts = self.counts.lock();
        counts.keep_promise(key, bytes);
        counts.forget_unused(key);
        self.tell_if_thin(&counts);
        self.tell_if_idle(&counts);
    }

    /// Takes a slot for a delivery that was promised with a body of this length and returns it, or lets it wait for one.
    pub(super) fn begin(
        &self,
        key: &Key,
        item: T,
        (promised, bytes): (usize, usize),
        now: Timestamp,
    ) -> Option<T> {
        let mut counts = self.counts.lock();
        counts.keep_promise(key, promised);
        let most = counts.by_webhook.get(key).and_then(|known| known.most);
        if self.room(&counts, key, most) > 0 && nothing_ready(&counts, key) {
            counts.take(key.clone(), 1);
            if let Some(webhook) = counts.by_webhook.get_mut(key) {
                webhook.begun_at = now;
            }
            self.tell_if_thin(&counts);
            return Some(item);
        }
        counts.ready += 1;
        counts.bytes += bytes;
        let webhook = counts.by_webhook.entry(key.clone()).or_default();
        webhook.ready.push_back(Ready {
            item,
            bytes,
            since: now,
        });
        if !std::mem::replace(&mut webhook.has_turn, true) {
            counts.turns.push_back(key.clone());
        }
        None
    }

    /// Takes a slot for a delivery that waits, of this webhook if possible.
    pub(super) fn next_ready(&self, preferred: Option<&Key>, now: Timestamp) -> Option<T> {
        let mut counts = self.counts.lock();
        if counts.ready == 0 {
            return None;
        }
        let next = preferred.and_then(|key| self.pop(&mut counts, key, now));
        let next = next.or_else(|| self.next_in_turn(&mut counts, now));
        self.tell_if_thin(&counts);
        next
    }

    fn next_in_turn(&self, counts: &mut Counts<T>, now: Timestamp) -> Option<T> {
        for _ in 0..counts.turns.len().min(TRIED) {
            let key = counts.turns.pop_front()?;
            let item = self.pop(counts, &key, now);
            if nothing_ready(counts, &key) {
                if let Some(webhook) = counts.by_webhook.get_mut(&key) {
                    webhook.has_turn = false;
                }
                counts.forget_unused(&key);
            } else {
                counts.turns.push_back(key);
            }
            if item.is_some() {
                return item;
            }
        }
        None
    }

    fn pop(&self, counts: &mut Counts<T>, key: &Key, now: Timestamp) -> Option<T> {
        let most = counts.by_webhook.get(key)?.most;
        if self.room(counts, key, most) == 0 {
            return None;
        }
        let webhook = counts.by_webhook.get_mut(key)?;
        let Ready { item, bytes, .. } = webhook.ready.pop_front()?;
        webhook.in_flight += 1;
        webhook.begun_at = now;
        counts.total += 1;
        counts.ready = counts.ready.saturating_sub(1);
        counts.bytes = counts.bytes.saturating_sub(bytes);
        Some(item)
    }

    /// Returns once few deliveries wait here. Those of slow receivers do not count: they must not slow down publishers.
    pub(super) async fn thin(&self, now: impl Fn() -> Timestamp) {
        while self.is_crowded(now()) {
            self.thinned.notified().await;
        }
        // The next publisher may be able to go on, too.
        self.thinned.notify_one();
    }

    pub(super) fn is_crowded(&self, now: Timestamp) -> bool {
        let mut counts = self.counts.lock();
        if counts.ready + counts.promised <= CROWDED {
            return false;
        }
        let moving = counts.ready.saturating_sub(counts.slow(now));
        moving + counts.promised > CROWDED
    }

    /// Takes one slot for a probe. `most` is the webhook's own maximum.
    pub(super) fn take(&self, tenant: &TenantId, webhook: WebhookId, most: Option<u32>) -> bool {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        if counts.backlog.contains_key(&key) {
            return false;
        }
        if self.room(&counts, &key, most) == 0 {
            counts.queue_first(key);
            return false;
        }
        counts.take(key, 1);
        true
    }

    /// Takes slots for a webhook, at most a fair share of the free ones among `sharers` webhooks; returns how many. If it
    /// gets none, the webhook has a backlog.
    pub(super) fn take_many(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        most: Option<u32>,
        sharers: usize,
    ) -> usize {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        let left = self.max_total.saturating_sub(counts.total);
        let share = left.div_ceil(sharers.max(1));
        let taken = share.min(self.room(&counts, &key, most));
        let waited = counts.backlog.contains_key(&key);
        if let Some(webhook) = counts.by_webhook.get_mut(&key) {
            let ended = take(&mut webhook.ended);
            webhook.turned_over = if waited { ended } else { Ended::default() };
        }
        if taken == 0 {
            counts.queue(key);
            return 0;
        }
        // It had its turn: what is left of its backlog waits behind the others.
        counts.backlog.remove(&key);
        counts.take(key, taken);
        taken
    }

    /// How many more slots this webhook may take.
    fn room(&self, counts: &Counts<T>, key: &Key, most: Option<u32>) -> usize {
        if counts.closed {
            return 0;
        }
        let left = self.max_total.saturating_sub(counts.total);
        let in_flight = counts.by_webhook.get(key).map_or(0, |one| one.in_flight);
        self.bound(left, most).saturating_sub(in_flight).min(left)
    }

    /// How many attempts a webhook may have in flight if so many slots are left.
    fn bound(&self, left: usize, most: Option<u32>) -> usize {
        let most = most.and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(usize::MAX).min(self.per_webhook);
        most.min((left / SHARE_OF_REST).max(1))
    }

    /// Returns unused slots.
    pub(super) fn give_back(&self, key: &Key, unused: usize) {
        let mut counts = self.counts.lock();
        for _ in 0..unused {
            counts.return_slot(key);
        }
        counts.forget_unused(key);
        self.tell_if_idle(&counts);
    }

    /// The webhook has due rows that only wait for a slot.
    pub(super) fn note_backlog(&self, key: &Key) {
        self.counts.lock().queue(key.clone());
    }

    /// Returns the slot of an attempt that has ended after this time, with a body of this length. The result says whether rows in
    /// the store wait for it.
    pub(super) fn finished(&self, key: &Key, bytes: usize, took: Millis) -> bool {
        let mut counts = self.counts.lock();
        counts.return_slot(key);
        if let Some(webhook) = counts.by_webhook.get_mut(key)
            && took <= MAX_WAIT
        {
            webhook.ended.count += 1;
            webhook.ended.bytes = webhook.ended.bytes.saturating_add(bytes);
        }
        counts.forget_unused(key);
        self.tell_if_idle(&counts);
        !counts.backlog.is_empty()
    }

    /// Whether a delivery may give its slot back before its result is written. If so, [`Self::written`] has to follow.
    pub(super) fn may_leave_unwritten(&self, bytes: usize) -> bool {
        let mut counts = self.counts.lock();
        let all_bytes = counts.unwritten_bytes.saturating_add(bytes);
        if counts.unwritten >= MAX_UNWRITTEN || all_bytes > MAX_UNWRITTEN_BYTES {
            return false;
        }
        counts.unwritten += 1;
        counts.unwritten_bytes = all_bytes;
        true
    }

    /// The result of a delivery without a slot is written, or given up.
    pub(super) fn written(&self, bytes: usize) {
        let mut counts = self.counts.lock();
        counts.unwritten = counts.unwritten.saturating_sub(1);
        counts.unwritten_bytes = counts.unwritten_bytes.saturating_sub(bytes);
        self.tell_if_idle(&counts);
    }

    fn tell_if_thin(&self, counts: &Counts<T>) {
        if counts.ready + counts.promised <= CROWDED {
            self.thinned.notify_one();
        }
    }

    fn tell_if_idle(&self, counts: &Counts<T>) {
        if counts.is_idle() {
            self.emptied.notify_waiters();
        }
    }

    /// The webhooks with due rows that wait for a slot, those that have waited longest first.
    pub(super) fn backlogs(&self) -> Vec<Key> {
        let counts = self.counts.lock();
        let mut waiting: Vec<_> = counts.backlog.iter().collect();
        waiting.sort_by_key(|(_, turn)| **turn);
        waiting.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// The webhook has no due row that could start.
    pub(super) fn clear_backlog(&self, key: &Key) {
        let mut counts = self.counts.lock();
        counts.backlog.remove(key);
        counts.forget_unused(key);
    }

    pub(super) fn has_backlog(&self) -> bool {
        !self.counts.lock().backlog.is_empty()
    }

    pub(super) fn close(&self) {
        self.counts.lock().closed = true;
    }

    pub(super) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.counts.lock().is_idle() {
                return;
            }
            emptied.await;
        }
    }
}

fn nothing_ready<T>(counts: &Counts<T>, key: &Key) -> bool {
    let webhook = counts.by_webhook.get(key);
    webhook.is_none_or(|webhook| webhook.ready.is_empty())
}

#[cfg(test)]
mod tests;
