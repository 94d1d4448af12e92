//! The flow to each webhook: how many attempts may begin now, and when the next ones may. In memory, so a restart forgets
//! it: a receiver that cannot keep up is found out again.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::flow::{AttemptKind, Change, Flow, FlowStatus, Limits, Observation, Waiting};
use postrider_domain::health::WebhookStatus;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::schedule::{Ask, DueRow, DueRows};

use super::slots::{Key, Room};

/// How often a limited webhook is looked at when none of its rows is due: its limit may end.
const STEP_EVERY: Millis = Millis::from_seconds(1);
/// How long the flow to a webhook without attempts is remembered.
const REMEMBERED_FOR: Millis = Millis::from_seconds(120);
const NEVER: Timestamp = Timestamp::from_millis(i64::MAX);

#[derive(Default)]
pub(super) struct Flows {
    by_webhook: Mutex<HashMap<Key, Entry>>,
}

struct Entry {
    flow: Flow,
    limits: Limits,
    /// The generation of the webhook's state when it was last looked at: a newer one means that it was resumed.
    generation: u32,
    /// When the next row is due, as far as is known.
    next_row_at: Timestamp,
    used_at: Timestamp,
    /// When the limiter was last asked to step.
    stepped_at: Timestamp,
}

/// What may begin, of the rows that were read.
#[derive(Debug, Default)]
pub(super) struct Granted {
    pub(super) rows: Vec<DueRow>,
    /// When to look at the webhook again.
    pub(super) next_at: Option<Timestamp>,
    /// Whether rows wait for nothing but a slot.
    pub(super) lacks_slots: bool,
    pub(super) change: Option<Change>,
}

impl Flows {
    /// Which rows to read, retries first, so that deliveries of a receiver that is down are exhausted and its owner is
    /// notified. They need credit, so they leave slots to the others; under a maximum of the webhook, [`Flows::grant`] decides
    /// by what was found. `None` if no row is due.
    pub(super) fn asks(&self, webhook: &Webhook, room: Room, now: Timestamp) -> Option<Vec<Ask>> {
        self.with(webhook, now, |entry| {
            if entry.next_row_at > now {
                return None;
            }
            // Rows that are stored from here on are noted while those before are read.
            entry.next_row_at = NEVER;
            let opened_at = entry.flow.limiter().opened_at;
            let mut asks = vec![Ask::all(AttemptKind::Retry, 0)];
            if entry.flow.limiter().limited || opened_at == Timestamp::ZERO {
                asks.push(Ask::all(AttemptKind::First, 0));
            } else {
                // Those that were due before the limit ended still need credit. Later ones must not wait behind them.
                let (old, new) = (
                    Ask::all(AttemptKind::First, 0),
                    Ask::all(AttemptKind::First, 0),
                );
                asks.push(Ask {
                    until: opened_at,
                    ..old
                });
                asks.push(Ask {
                    from: opened_at,
                    ..new
                });
            }
            for ask in &mut asks {
                let available =
                    entry
                        .flow
                        .available(ask.kind, sample_of(ask, now), &entry.limits, now);
                ask.limit = available.min(entry.space(ask, room, now));
            }
            Some(asks)
        })
    }

    /// Takes credit for the rows that were read, at most `room` of them.
    pub(super) fn grant(
        &self,
        webhook: &Webhook,
        asks: &[Ask],
        found: Vec<DueRows>,
        mut room: Room,
        now: Timestamp,
    ) -> Granted {
        self.with(webhook, now, |entry| {
            let (mut granted, mut waiting) = (Granted::default(), Waiting::default());
            let mut found: Vec<_> = asks.iter().zip(found).collect();
            if !entry.flow.retries_go_first(&entry.limits) {
                found.sort_by_key(|(_, found)| oldest(found));
            }
            for (ask, mut found) in found {
                let space = entry.space(ask, room, now);
                let fits = found.rows.len().min(space);
                // One more has a slot, and only lacks credit.
                let lacks_credit = space > fits && found.next_at.is_some_and(|at| at <= now);
                let wanted = fits + usize::from(lacks_credit);
                let due_at = sample_of(ask, now);
                let allowed = entry
                    .flow
                    .allow(ask.kind, due_at, wanted, &entry.limits, now);
                let left_at = found
                    .rows
                    .get(allowed.min(fits))
                    .map(|row| row.next_retry_at);
                let left_at = left_at.or(found.next_at);
                found.rows.truncate(allowed.min(fits));
                room = room.without(found.rows.len());
                granted.rows.extend(found.rows);
                let Some(left_at) = left_at else { continue };
                entry.next_row_at = entry.next_row_at.min(left_at);
                if left_at <= now {
                    note_waiting(&mut waiting, ask.kind, left_at);
                }
                let ready_at = entry.flow.ready_at(ask.kind, due_at, &entry.limits, now);
                let begins_at = left_at.max(ready_at);
                if begins_at <= now {
                    granted.lacks_slots = true;
                    // What is claimed ahead would take the next slots.
                    room.ahead = 0;
                }
                granted.plan(begins_at, now);
            }
            granted.change = entry.step(&waiting, now);
            if entry.flow.limiter().limited {
                granted.plan(now.plus(STEP_EVERY), now);
            }
            granted
        })
    }

    /// Whether a row is due, as far as is known.
    pub(super) fn is_row_due(&self, webhook: &Webhook, now: Timestamp) -> bool {
        self.with(webhook, now, |entry| entry.next_row_at <= now)
    }

    /// Whether first attempts that are due now need no credit.
    pub(super) fn is_free(&self, webhook: &Webhook, now: Timestamp) -> bool {
        self.with(webhook, now, |entry| {
            !entry
                .flow
                .needs_credit(AttemptKind::First, now, &entry.limits)
        })
    }

    /// When the limiter should be asked to step; `None` if the webhook is not limited.
    pub(super) fn step_at(&self, webhook: &Webhook, now: Timestamp) -> Option<Timestamp> {
        self.with(webhook, now, |entry| {
            let step_at = entry.stepped_at.not_after(now).plus(STEP_EVERY);
            entry.flow.limiter().limited.then_some(step_at)
        })
    }

    /// Steps the limiter of a webhook without due rows.
    pub(super) fn step(&self, webhook: &Webhook, now: Timestamp) -> Granted {
        self.with(webhook, now, |entry| {
            let mut granted = Granted {
                change: entry.step(&Waiting::default(), now),
                ..Granted::default()
            };
            if entry.flow.limiter().limited {
                granted.plan(now.plus(STEP_EVERY), now);
            }
            if entry.next_row_at < NEVER {
                granted.plan(entry.next_row_at, now);
            }
            granted
        })
    }

    /// Whether a new row may begin at once, without being read by the loop. Takes the credit that it needs.
    pub(super) fn may_begin(&self, webhook: &Webhook, now: Timestamp) -> bool {
        self.with(webhook, now, |entry| {
            let limits = entry.limits;
            // Its attempt begins when it is stored, which may take long: credit of `max_rate` would be taken too early.
            let has_to_wait = entry.flow.limiter().limited || limits.max_rate.is_some();
            !has_to_wait && entry.flow.allow(AttemptKind::First, now, 1, &limits, now) == 1
        })
    }

    /// When a row that is due at `due_at` may begin.
    pub(super) fn note_row(
        &self,
        key: &Key,
        kind: AttemptKind,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Timestamp {
        let mut by_webhook = self.by_webhook.lock();
        let Some(entry) = by_webhook.get_mut(key) else {
            return due_at;
        };
        entry.next_row_at = entry.next_row_at.min(due_at);
        let at = due_at.max(now);
        at.max(entry.flow.ready_at(kind, at, &entry.limits, now))
    }

    /// A stored row is due at this time.
    pub(super) fn note_stored(&self, key: &Key, due_at: Timestamp) {
        if let Some(entry) = self.by_webhook.lock().get_mut(key) {
            entry.next_row_at = entry.next_row_at.min(due_at);
        }
    }

    /// The webhook has rows, perhaps unknown ones: the next look reads them.
    pub(super) fn forget_rows(&self, key: &Key) {
        if let Some(entry) = self.by_webhook.lock().get_mut(key) {
            entry.next_row_at = Timestamp::ZERO;
        }
    }

    pub(super) fn observe(
        &self,
        key: &Key,
        observation: Observation,
        now: Timestamp,
    ) -> Option<Change> {
        let mut by_webhook = self.by_webhook.lock();
        let entry = by_webhook.get_mut(key)?;
        entry.used_at = now;
        entry.flow.observe(observation, &entry.limits, now)
    }

    pub(super) fn status(&self, webhook: &Webhook) -> FlowStatus {
        let (key, limits) = (
            (webhook.tenant.clone(), webhook.id),
            webhook.settings.limits(),
        );
        let by_webhook = self.by_webhook.lock();
        match by_webhook.get(&key) {
            Some(entry) if entry.generation < webhook.health.generation => {
                FlowStatus::resumed(&limits)
            }
            Some(entry) if entry.limits == limits => FlowStatus::of(entry.flow.limiter(), &limits),
            Some(_) | None => FlowStatus::unlimited(&limits),
        }
    }

    /// Forgets webhooks that were not called for a while.
    pub(super) fn forget_idle(&self, now: Timestamp) {
        self.by_webhook.lock().retain(|_, entry| {
            // A limited webhook is looked at each second, unless it was stopped or deleted.
            let used_at = entry.used_at.not_after(now);
            now.since(used_at) < REMEMBERED_FOR
        });
    }

    fn with<T>(&self, webhook: &Webhook, now: Timestamp, act: impl FnOnce(&mut Entry) -> T) -> T {
        let key = (webhook.tenant.clone(), webhook.id);
        let (limits, generation) = (webhook.settings.limits(), webhook.health.generation);
        let mut by_webhook = self.by_webhook.lock();
        let entry = by_webhook.entry(key).or_insert_with(|| {
            let mut flow = Flow::new(&limits, now);
            if was_just_resumed(webhook, now) {
                flow.resumed(now);
            }
            Entry {
                flow,
                limits,
                generation,
                next_row_at: Timestamp::ZERO,
                used_at: now,
                stepped_at: now,
            }
        });
        if entry.generation < generation {
            entry.generation = generation;
            entry.flow.resumed(now);
        }
        if entry.limits != limits {
            entry.limits = limits;
            if !entry.flow.limiter().limited {
                entry.flow = Flow::new(&limits, now);
            }
        }
        entry.used_at = now;
        act(entry)
    }
}

impl Entry {
    /// How many rows of an ask may be claimed. Those that need credit are not claimed ahead: they have to begin when they get it.
    fn space(&self, ask: &Ask, room: Room, now: Timestamp) -> usize {
        let due_at = sample_of(ask, now);
        if self.flow.needs_credit(ask.kind, due_at, &self.limits) {
            room.slots
        } else {
            room.all()
        }
    }

    fn step(&mut self, waiting: &Waiting, now: Timestamp) -> Option<Change> {
        self.stepped_at = now;
        self.flow.step(waiting, &self.limits, now)
    }
}

impl Granted {
    pub(super) fn plan_at(&mut self, at: Option<Timestamp>, now: Timestamp) {
        if let Some(at) = at {
            self.plan(at, now);
        }
    }

    fn plan(&mut self, at: Timestamp, now: Timestamp) {
        // What is due already waits for a slot, and a returned slot wakes the loop.
        if at > now {
            self.next_at = Some(self.next_at.map_or(at, |planned| planned.min(at)));
        }
    }
}

/// Whether the webhook became active so recently that its receiver has not shown yet what it takes. The cache may be
/// outdated about what attempts change, but not about a change of status.
fn was_just_resumed(webhook: &Webhook, now: Timestamp) -> bool {
    let changed_at = webhook.health.changed_at;
    let is_recent = |at: Timestamp| at <= now && now.since(at) < REMEMBERED_FOR;
    webhook.health.status == WebhookStatus::Active && changed_at.is_some_and(is_recent)
}

/// When the most overdue of them was due.
fn oldest(found: &DueRows) -> Timestamp {
    let first = found.rows.first().map(|row| row.next_retry_at);
    first.or(found.next_at).unwrap_or(NEVER)
}

/// A due time of the rows that an ask describes: whether they need credit depends on it.
fn sample_of(ask: &Ask, now: Timestamp) -> Timestamp {
    ask.until.minus(Millis::new(1)).min(now).max(ask.from)
}

fn note_waiting(waiting: &mut Waiting, kind: AttemptKind, due_at: Timestamp) {
    let oldest = match kind {
        AttemptKind::First => &mut waiting.first_due_at,
        AttemptKind::Retry => &mut waiting.retry_due_at,
    };
    *oldest = Some(oldest.map_or(due_at, |known| known.min(due_at)));
}

#[cfg(test)]
mod tests;
