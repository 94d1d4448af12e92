//! One cycle: which due rows begin now.

use std::collections::HashSet;
use std::sync::Arc;

use postrider_domain::delivery::Unclaimable;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, Seen, Wanted};
use postrider_ports::schedule::{Ask, DueRows};

use super::flows::Granted;
use super::slots::{Key, Room};
use super::{Cycle, EmbeddedWorker};
use crate::telemetry;

/// How many webhooks a page of the stored agenda has.
const PAGE: usize = 1000;
/// The rows of this many webhooks are claimed in one write.
const CLAIMED_TOGETHER: usize = 64;
/// When to look again at a webhook whose rows could not be read or claimed.
const AFTER_ERROR: Millis = Millis::from_seconds(1);

/// A row to claim.
struct Picked {
    wanted: Wanted,
    /// Its slot, or its place ahead.
    room: Room,
}

/// How the agenda is corrected by what is stored: whole at the start, then one page per poll interval.
#[derive(Debug, Default)]
pub(super) struct Refill {
    began: bool,
    next_at: Timestamp,
    after: Option<(TenantId, WebhookId)>,
}

impl EmbeddedWorker {
    /// Takes due rows as far as there is room and their webhooks' rates allow it: claims and starts them. An error with one
    /// webhook's rows is logged and does not stop the others.
    ///
    /// # Errors
    /// The agenda could not be read. Nothing is lost: the next cycle takes the rows.
    pub async fn cycle(self: &Arc<Self>) -> Result<Cycle> {
        let now = self.ports.clock.now();
        self.refill(now).await?;
        let due = self.take_due(now);
        let mut cycle = Cycle {
            started: 0,
            ended: 0,
            next_at: None,
        };
        let mut sharers = due.len();
        for keys in due.chunks(CLAIMED_TOGETHER) {
            let mut wanted = Vec::new();
            for key in keys {
                match self.pick(key, sharers).await {
                    Ok(picked) => wanted.extend(picked),
                    Err(error) => {
                        telemetry::cycle_failed(&error);
                        self.look_again(key);
                    }
                }
                sharers -= 1;
            }
            self.claim(wanted, &mut cycle).await;
        }
        // A delivery may have come to wait for slots that were given back since.
        self.start_ready(due.last());
        cycle.next_at = self.agenda.lock().next_at();
        Ok(cycle)
    }

    fn take_due(&self, now: Timestamp) -> Vec<Key> {
        let mut due = self.agenda.lock().take_due(now);
        let known: HashSet<Key> = due.iter().cloned().collect();
        let waiting = self.slots.backlogs().into_iter();
        due.extend(waiting.filter(|key| !known.contains(key)));
        due
    }

    /// Corrects the agenda by what is stored.
    async fn refill(&self, now: Timestamp) -> Result<()> {
        loop {
            let (began, after) = {
                let refill = self.refill.lock();
                let next_at = refill.next_at.not_after(now.plus(self.poll_interval));
                if refill.began && now < next_at {
                    return Ok(());
                }
                (refill.began, refill.after.clone())
            };
            let page = self.schedule.agenda(after.as_ref(), PAGE, now).await?;
            for entry in page.entries {
                let key = (entry.tenant, entry.webhook);
                self.flows.note_stored(&key, entry.due_at);
                self.agenda.lock().note(key, entry.due_at);
            }
            self.flows.forget_idle(now);
            let mut refill = self.refill.lock();
            refill.began = began || page.next.is_none();
            refill.after = page.next;
            refill.next_at = if refill.began {
                now.plus(self.poll_interval)
            } else {
                now
            };
        }
    }

    /// Takes slots and credit for the due rows of one webhook.
    async fn pick(&self, key: &Key, sharers: usize) -> Result<Vec<Picked>> {
        let (tenant, id) = key;
        let now = self.ports.clock.now();
        if let Some(ends_at) = self.breather.ends_at(key, now) {
            self.note(key.clone(), ends_at);
            return Ok(Vec::new());
        }
        let snapshot = self.webhook_cache.recent(tenant, now).await?;
        let known = snapshot.get(*id);
        if known.is_some_and(|webhook| webhook.health.status.is_stopped()) {
            // Its rows wait until it is resumed.
            self.slots.clear_backlog(key);
            return Ok(Vec::new());
        }
        let may_begin = known.is_none_or(|webhook| self.flows.is_row_due(webhook, now));
        let room = if may_begin {
            self.room(key, known, sharers, now)
        } else {
            Room::default()
        };
        if may_begin && room.all() == 0 && !self.must_step(known, now) {
            return Ok(Vec::new());
        }
        let granted = match known {
            Some(webhook) => self.grant(webhook, room, now).await,
            None => self.rows_of_unknown(key, room.slots, now).await,
        };
        let granted = granted.inspect_err(|_| self.return_room(key, room))?;
        self.return_room(key, room.without(granted.rows.len()));
        if granted.lacks_slots {
            self.slots.note_backlog(key);
        } else {
            self.slots.clear_backlog(key);
        }
        if let Some(change) = granted.change {
            telemetry::flow_changed(*id, change);
        }
        if let Some(at) = granted.next_at {
            self.note(key.clone(), at);
        }
        let timeout = known.map_or(Millis::ZERO, |webhook| webhook.settings.timeout);
        // The lease begins now: reading may have taken long.
        let now = self.ports.clock.now();
        let picked = granted.rows.into_iter().enumerate().map(|(n, row)| Picked {
            wanted: Wanted {
                tenant: row.tenant,
                id: row.id,
                lease: self.lease(timeout, now),
                seen: Seen::default(),
            },
            room: room.of_row(n),
        });
        Ok(picked.collect())
    }

    /// Takes slots for a webhook. Of one that is known, rows may be claimed ahead as well.
    fn room(&self, key: &Key, known: Option<&Webhook>, sharers: usize, now: Timestamp) -> Room {
        let most = known.and_then(|webhook| webhook.settings.max_in_flight);
        let slots = self.slots.take_many(&key.0, key.1, most, sharers);
        let is_free = known.is_some_and(|webhook| self.flows.is_free(webhook, now));
        let (ahead, bytes_ahead) = if is_free {
            self.slots.promise_ahead(key, most)
        } else {
            (0, 0)
        };
        Room {
            slots,
            ahead,
            bytes_ahead,
        }
    }

    fn return_room(&self, key: &Key, unused: Room) {
        self.slots.give_back(key, unused.slots);
        for _ in 0..unused.ahead {
            self.slots.withdraw(key, unused.bytes_ahead);
        }
    }

    /// Whether a webhook without a slot has to be looked at all the same: its limit follows what its attempts in flight
    /// show. If not yet, the look is planned.
    fn must_step(&self, webhook: Option<&Webhook>, now: Timestamp) -> bool {
        let Some(webhook) = webhook else { return false };
        match self.flows.step_at(webhook, now) {
            Some(at) if at > now => {
                self.note((webhook.tenant.clone(), webhook.id), at);
                false
            }
            Some(_) => true,
            None => false,
        }
    }

    async fn grant(&self, webhook: &Webhook, room: Room, now: Timestamp) -> Result<Granted> {
        let Some(asks) = self.flows.asks(webhook, room, now) else {
            return Ok(self.flows.step(webhook, now));
        };
        let key = (webhook.tenant.clone(), webhook.id);
        let found = self.due(&key, &asks, now).await?;
        Ok(self.flows.grant(webhook, &asks, found, room, now))
    }

    /// Due rows, without those that are under way or cannot be read.
    async fn due(&self, key: &Key, asks: &[Ask], now: Timestamp) -> Result<Vec<DueRows>> {
        let skipped = self.spoiled.count(key, now) + self.under_way.lapsed(key, now);
        let wider: Vec<_> = asks
            .iter()
            .map(|ask| Ask {
                limit: ask.limit + skipped,
                ..*ask
            })
            .collect();
        let mut found = self.schedule.due(&key.0, key.1, &wider, now).await?;
        for (ask, due) in asks.iter().zip(&mut found) {
            due.rows.retain(|row| {
                !self.under_way.contains(key, row.id) && !self.spoiled.contains(key, row.id)
            });
            if let Some(next) = due.rows.get(ask.limit) {
                due.next_at = Some(next.next_retry_at);
                due.rows.truncate(ask.limit);
            }
        }
        Ok(found)
    }

    /// The rows of a webhook that was deleted, or is too new for the cache. The claim ends or starts them.
    async fn rows_of_unknown(&self, key: &Key, room: usize, now: Timestamp) -> Result<Granted> {
        use postrider_domain::flow::AttemptKind::{First, Retry};
        let asks = [Ask::all(Retry, room), Ask::all(First, room)];
        let found = self.due(key, &asks, now).await?;
        let mut granted = Granted::default();
        for mut rows in found {
            let room_left = room - granted.rows.len();
            granted.lacks_slots |= rows.rows.len() > room_left;
            rows.rows.truncate(room_left);
            granted.rows.extend(rows.rows);
            granted.lacks_slots |= rows.next_at.is_some_and(|at| at <= now);
            granted.plan_at(rows.next_at, now);
        }
        Ok(granted)
    }

    /// Claims rows, and starts those whose slots are taken or free by now.
    async fn claim(self: &Arc<Self>, picked: Vec<Picked>, cycle: &mut Cycle) {
        if picked.is_empty() {
            return;
        }
        let now = self.ports.clock.now();
        let (rows, wanted): (Vec<(Key, DeliveryId, Room)>, Vec<Wanted>) = picked
            .into_iter()
            .map(|Picked { wanted, room }| {
                let key = (wanted.tenant.clone(), wanted.id.webhook);
                ((key, wanted.id, room), wanted)
            })
            .unzip();
        let claims = self.ports.store.claim(wanted, now).await;
        for ((key, id, room), claim) in rows.iter().zip(claims) {
            match claim {
                Ok(Claim::Claimed(delivery)) => {
                    if room.slots > 0 {
                        self.under_way.add(delivery.claimed.delivery());
                        self.spawn(*delivery);
                    } else {
                        self.begin(*delivery, room.bytes_ahead);
                    }
                    cycle.started += 1;
                    continue;
                }
                Ok(Claim::WebhookDeleted) => cycle.ended += 1,
                // Its webhook was stopped since the cache was read.
                Ok(Claim::Unclaimable(Unclaimable::InBacklog)) => self.webhook_cache.forget(&key.0),
                // The row was due a moment ago: the clock was set, or another process holds it.
                Ok(
                    Claim::Unclaimable(Unclaimable::NotDue(_) | Unclaimable::Held)
                    | Claim::NotFresh,
                ) => self.look_again(key),
                Ok(Claim::Unclaimable(Unclaimable::Closed) | Claim::Missing) => {}
                Err(error) => {
                    telemetry::cycle_failed(&error);
                    if !error.is_transient() {
                        self.spoiled.add(key, *id, now);
                    }
                    self.look_again(key);
                }
            }
            self.return_room(key, *room);
        }
    }

    fn look_again(&self, key: &Key) {
        self.flows.forget_rows(key);
        self.note(key.clone(), self.ports.clock.now().plus(AFTER_ERROR));
    }
}
