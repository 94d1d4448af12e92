//! One cycle: which due rows go out now, and which get a later turn.

use std::sync::Arc;

use postrider_domain::delivery::Unclaimable;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Millis;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, Wanted};
use postrider_ports::schedule::{AgendaEntry, DueRow};

use super::{Cycle, EmbeddedWorker};
use crate::pacing::{Paced, paced};
use crate::telemetry;

impl EmbeddedWorker {
    /// Takes due rows while slots are free: claims and starts each, or moves it to the turn that its webhook's rate allows.
    /// An error with one webhook's rows is logged and does not stop the others.
    ///
    /// # Errors
    /// The agenda could not be read. Nothing is lost: the next cycle takes the rows.
    pub async fn cycle(self: &Arc<Self>) -> Result<Cycle> {
        let now = self.ports.clock.now();
        let agenda = self.schedule.agenda(now).await?;
        let (due, later): (Vec<_>, Vec<_>) =
            agenda.into_iter().partition(|entry| entry.due_at <= now);
        self.slots.keep_backlogs_of(
            &due.iter()
                .map(|entry| (entry.tenant.clone(), entry.webhook))
                .collect(),
        );
        let mut cycle = Cycle {
            started: 0,
            postponed: 0,
            set_aside: 0,
            next_due_at: later.iter().map(|entry| entry.due_at).min(),
        };
        let count = due.len();
        for (n, entry) in due.into_iter().enumerate() {
            if let Err(error) = self.take_turn(&entry, count - n, &mut cycle).await {
                telemetry::cycle_failed(&error);
            }
        }
        Ok(cycle)
    }

    async fn take_turn(
        self: &Arc<Self>,
        entry: &AgendaEntry,
        sharers: usize,
        cycle: &mut Cycle,
    ) -> Result<()> {
        let AgendaEntry {
            tenant, webhook, ..
        } = entry;
        let (key, now) = ((tenant.clone(), *webhook), self.ports.clock.now());
        if let Some(ends_at) = self.breather.ends_at(&key, now) {
            cycle.next_due_at = Some(cycle.next_due_at.map_or(ends_at, |at| at.min(ends_at)));
            return Ok(());
        }
        let room = self.slots.take_many(tenant, *webhook, sharers);
        if room == 0 {
            return Ok(());
        }
        match self.start_due(tenant, *webhook, room).await {
            Ok(turn) => {
                self.slots
                    .settle(tenant, *webhook, room - turn.started, turn.drained);
                cycle.started += turn.started;
                cycle.postponed += turn.postponed;
                cycle.set_aside += turn.set_aside;
                Ok(())
            }
            Err(error) => {
                self.slots.settle(tenant, *webhook, room, true);
                Err(error)
            }
        }
    }

    async fn start_due(
        self: &Arc<Self>,
        tenant: &TenantId,
        webhook: WebhookId,
        room: usize,
    ) -> Result<Turn> {
        let now = self.ports.clock.now();
        // Reading one more than there is room for shows whether rows are left waiting.
        let mut rows = self.schedule.due(tenant, webhook, now, room + 1).await?;
        let drained = rows.len() <= room;
        rows.truncate(room);
        rows.retain(|row| !self.is_under_way(row));
        let snapshot = self.webhook_cache.recent(tenant, now).await?;
        let known = snapshot.get(webhook);
        let store = &*self.ports.store;
        let Paced {
            ready,
            moves,
            aside,
        } = paced(store, known, rows, self.turns, now).await?;
        let (postponed, set_aside) = (moves.len(), aside.len());
        if !moves.is_empty() {
            let steps = moves.into_iter().map(|moved| moved.step).collect();
            store.postpone(steps, now).await?;
        }
        if !aside.is_empty() {
            store.set_aside(aside, now).await?;
        }
        let timeout = known.map_or(Millis::ZERO, |webhook| webhook.settings.timeout);
        // The lease begins now: the steps above may have taken long.
        let now = self.ports.clock.now();
        let speeds: Vec<_> = ready.iter().map(|(_, speed)| *speed).collect();
        let wanted: Vec<_> = ready
            .into_iter()
            .map(|(row, _)| Wanted {
                tenant: row.tenant,
                id: row.id,
                lease: self.lease(timeout, now),
            })
            .collect();
        let mut turn = Turn {
            started: 0,
            postponed,
            set_aside,
            drained,
        };
        for (claim, speed) in store.claim(wanted, now).await.into_iter().zip(speeds) {
            match claim {
                Ok(Claim::Claimed(delivery)) => {
                    self.spawn(*delivery, speed);
                    turn.started += 1;
                }
                Ok(Claim::WebhookDeleted | Claim::Unclaimable(Unclaimable::Parked)) => {
                    turn.set_aside += 1;
                }
                Ok(Claim::Unclaimable(_) | Claim::Missing) => {}
                Err(error) => telemetry::cycle_failed(&error),
            }
        }
        Ok(turn)
    }

    fn is_under_way(&self, row: &DueRow) -> bool {
        self.under_way
            .lock()
            .contains(&(row.tenant.clone(), row.id))
    }
}

struct Turn {
    started: usize,
    postponed: usize,
    set_aside: usize,
    drained: bool,
}
