//! Compares what waits: which rows are due and when the next ones will be, and what is in the backlogs.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use postrider_domain::delivery::{Delivery, Lane, Status};
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::EmbeddedStore;
use postrider_ports::backlog::Stretch;
use postrider_ports::drains::BacklogPart;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::schedule::{AgendaEntry, Ask, DueRows};
use proptest::prelude::*;

use super::Model;
use super::contents::EVERYTHING;
use crate::store_suite::WaitingRows;

const KINDS: [AttemptKind; 2] = [AttemptKind::First, AttemptKind::Retry];
const PAGE: usize = 1000;
const ALWAYS: (Timestamp, Timestamp) = (
    Timestamp::from_millis(0),
    Timestamp::from_millis(i64::MAX / 2),
);

/// Rows with their due times.
type Due = BTreeSet<(DeliveryId, Timestamp)>;

/// What a store lists of all tenants.
struct OfAll {
    agenda: Vec<AgendaEntry>,
    general_lanes: Vec<AttemptMessage>,
}

impl Model<'_> {
    /// A store with shards needs some seventy reads for each webhook, so it is asked for one at a time. A row in a wrong place
    /// stays there, and all are compared in the end.
    pub(super) async fn compare_waiting(&mut self, step: usize) -> Result<(), TestCaseError> {
        let chosen = match self.handle().waiting_rows {
            WaitingRows::InBacklog => Some(step / EVERYTHING),
            WaitingRows::Unmarked => None,
        };
        let all = self.list_all().await;
        for tenant in 0..2 {
            let ids = self.ours.webhooks.keys().copied().enumerate();
            let is_chosen = |n| chosen.is_none_or(|chosen| chosen % 4 == 2 * n + tenant);
            let chosen = ids.filter(|(n, _)| is_chosen(*n)).map(|(_, id)| id);
            self.compare_waiting_of(&chosen.collect::<Vec<_>>(), &all)
                .await?;
            self.turn_to_other_tenant();
        }
        Ok(())
    }

    pub(super) async fn compare_all_waiting(&mut self) -> Result<(), TestCaseError> {
        let all = self.list_all().await;
        for _ in 0..2 {
            let webhooks: Vec<_> = self.ours.webhooks.keys().copied().collect();
            self.compare_waiting_of(&webhooks, &all).await?;
            self.turn_to_other_tenant();
        }
        Ok(())
    }

    async fn list_all(&self) -> OfAll {
        let agenda = match &self.handle().embedded {
            Some(embedded) => self.agenda(&**embedded).await,
            None => Vec::new(),
        };
        OfAll {
            agenda,
            general_lanes: self.general_lanes().await,
        }
    }

    async fn compare_waiting_of(
        &self,
        webhooks: &[WebhookId],
        all: &OfAll,
    ) -> Result<(), TestCaseError> {
        if let Some(embedded) = self.handle().embedded.clone() {
            self.compare_agenda(&all.agenda)?;
            self.compare_due(&*embedded).await?;
        }
        self.compare_backlogs(webhooks).await?;
        self.compare_general_lanes(&all.general_lanes)
    }

    fn open(&self) -> impl Iterator<Item = &Delivery> {
        self.ours.rows.values().filter(|row| row.status.is_open())
    }

    async fn agenda(&self, store: &dyn EmbeddedStore) -> Vec<AgendaEntry> {
        let (mut entries, mut after) = (Vec::new(), None);
        loop {
            let page = store.agenda(after.as_ref(), PAGE, self.now).await.unwrap();
            entries.extend(page.entries);
            after = page.next;
            if after.is_none() {
                return entries;
            }
        }
    }

    fn compare_agenda(&self, agenda: &[AgendaEntry]) -> Result<(), TestCaseError> {
        let mut expected: BTreeMap<WebhookId, Timestamp> = BTreeMap::new();
        for row in self.open() {
            let at = match row.lease_owner {
                Some(_) if !self.has_void_lease(row) => row.lease_until.plus(Millis::new(1)),
                Some(_) | None => due_at(row),
            };
            let first = expected.entry(row.id.webhook).or_insert(at);
            *first = at.min(*first);
        }
        let mut stored = BTreeMap::new();
        for entry in agenda.iter().filter(|it| it.tenant == self.ours.tenant) {
            let first = stored.entry(entry.webhook).or_insert(entry.due_at);
            *first = entry.due_at.min(*first);
        }
        prop_assert_eq!(stored, expected, "the agenda");
        Ok(())
    }

    async fn compare_due(&self, store: &dyn EmbeddedStore) -> Result<(), TestCaseError> {
        let later = self.begun_at.plus(Millis::from_seconds(10));
        let asks = KINDS.map(|kind| {
            let until = Ask {
                until: later,
                ..Ask::all(kind, PAGE)
            };
            let from = Ask {
                from: later,
                ..Ask::all(kind, PAGE)
            };
            [Ask::all(kind, 0), Ask::all(kind, 1), until, from]
        });
        let asks = asks.concat();
        for webhook in self.ours.webhooks.keys() {
            let found = store
                .due(&self.ours.tenant, *webhook, &asks, self.now)
                .await;
            for (ask, found) in asks.iter().zip(found.unwrap()) {
                self.compare_answer(*webhook, ask, &found)?;
            }
        }
        Ok(())
    }

    fn compare_answer(
        &self,
        webhook: WebhookId,
        ask: &Ask,
        found: &DueRows,
    ) -> Result<(), TestCaseError> {
        let asked_for = |row: &&Delivery| {
            let is_free = match row.lease_owner {
                Some(_) => !row.is_held(self.now) || self.has_void_lease(row),
                None => true,
            };
            row.id.webhook == webhook
                && AttemptKind::of(row) == ask.kind
                && is_free
                && (ask.from..ask.until).contains(&due_at(row))
        };
        let mut free: Vec<_> = self.open().filter(asked_for).map(due_at).collect();
        free.sort();
        let due = free.partition_point(|at| *at <= self.now);
        let taken = due.min(ask.limit);
        prop_assert_eq!(found.rows.len(), taken, "{:?}", ask);
        prop_assert!(found.rows.is_sorted_by_key(|row| row.next_retry_at));
        for row in &found.rows {
            let stored = &self.ours.rows[&row.id];
            prop_assert!(asked_for(&stored), "{:?} of {:?}", row, ask);
            prop_assert_eq!(row.next_retry_at, due_at(stored));
            prop_assert!(row.next_retry_at <= self.now);
            prop_assert_eq!(row.is_retry, stored.is_retry());
        }
        let ids: BTreeSet<_> = found.rows.iter().map(|row| row.id).collect();
        prop_assert_eq!(ids.len(), taken, "each row once");
        // Of more rows than were asked for, any may be named next.
        let next_at = found.next_at.filter(|_| due <= ask.limit);
        let expected = free.get(taken).copied().filter(|_| due <= ask.limit);
        prop_assert_eq!(next_at, expected, "{:?}", ask);
        let is_more = found.next_at.is_some_and(|at| at <= self.now);
        prop_assert_eq!(is_more, due > ask.limit, "{:?}", ask);
        Ok(())
    }

    /// The backlog of a webhook that an embedded store has no marks for is everything that is open.
    async fn compare_backlogs(&self, webhooks: &[WebhookId]) -> Result<(), TestCaseError> {
        let store = self.store();
        let marks = self.handle().waiting_rows == WaitingRows::InBacklog;
        for webhook in webhooks {
            for kind in KINDS {
                let parts = (0..store.shards()).map(|shard| BacklogPart {
                    webhook: *webhook,
                    kind,
                    shard,
                });
                let found = join_all(parts.map(|part| self.backlog_part(part))).await;
                let belongs = |row: &&Delivery| {
                    let is_there = row.in_backlog || !marks;
                    row.id.webhook == *webhook && AttemptKind::of(row) == kind && is_there
                };
                let expected: Due = self.open().filter(belongs).map(position).collect();
                prop_assert_eq!(
                    self.of_tenant(found.iter().flatten()),
                    expected,
                    "the backlog of {:?}",
                    kind
                );
            }
            let is_due = |row: &&Delivery| {
                let is_due = row.next_retry_at.is_some_and(|at| at <= self.now);
                row.id.webhook == *webhook && is_due
            };
            // An embedded store counts a row as free when its lease is given back, or its process is gone. The other one
            // counts from its index, which does not show leases.
            let [least, most] = if marks {
                let waiting = || self.open().filter(is_due).filter(|row| row.in_backlog);
                let free = waiting().filter(|row| !row.is_held(self.now)).count();
                [free, waiting().count()]
            } else {
                let free = self.open().filter(is_due);
                [free.filter(|row| row.lease_owner.is_none()).count(); 2]
            };
            let counted = store
                .backlog_size(&self.ours.tenant, *webhook, self.now)
                .await;
            let counted = usize::try_from(counted.unwrap().rows()).unwrap();
            prop_assert!(
                (least..=most).contains(&counted),
                "{counted} of {least} to {most}"
            );
        }
        Ok(())
    }

    async fn general_lanes(&self) -> Vec<AttemptMessage> {
        let lanes = [Lane::Queued, Lane::Waiting];
        let shards = 0..self.store().shards();
        let stretches = shards.flat_map(|shard| {
            lanes.map(|lane| Stretch {
                shard,
                lane,
                from: ALWAYS.0,
                to: ALWAYS.1,
            })
        });
        let found = join_all(stretches.map(|stretch| self.stretch(stretch))).await;
        found.into_iter().flatten().collect()
    }

    /// What the poller finds: open rows that are in no backlog. An embedded store leaves out those of stopped
    /// webhooks that no process holds.
    fn compare_general_lanes(&self, found: &[AttemptMessage]) -> Result<(), TestCaseError> {
        let belongs = |row: &&Delivery| {
            let status = self.ours.status_of(row.id.webhook);
            let is_stopped = status.is_some_and(WebhookStatus::is_stopped);
            match self.handle().waiting_rows {
                WaitingRows::InBacklog => !row.in_backlog && !self.ours.unwatched.contains(&row.id),
                WaitingRows::Unmarked => !is_stopped || row.lease_owner.is_some(),
            }
        };
        let expected: Due = self.open().filter(belongs).map(position).collect();
        let mut found = self.of_tenant(found);
        if self.handle().waiting_rows == WaitingRows::InBacklog {
            // A row that has not failed yet may have no lane: until it has one, the watch finds it.
            let fresh = self.open().filter(belongs);
            let fresh = fresh.filter(|row| row.status == Status::Pending);
            found.extend(fresh.map(position));
        }
        prop_assert_eq!(found, expected, "the general lanes");
        Ok(())
    }

    async fn backlog_part(&self, part: BacklogPart) -> Vec<AttemptMessage> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self
                .store()
                .backlog_rows(&self.ours.tenant, part, PAGE, after.as_ref());
            let page = page.await.unwrap();
            found.extend(page.messages);
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    }

    async fn stretch(&self, stretch: Stretch) -> Vec<AttemptMessage> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.store().rows_between(stretch, PAGE, after.as_ref());
            let page = page.await.unwrap();
            found.extend(page.messages);
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    }

    fn of_tenant<'a>(&self, found: impl IntoIterator<Item = &'a AttemptMessage>) -> Due {
        let found = found.into_iter();
        let of_tenant = found.filter(|message| message.tenant == self.ours.tenant);
        let place = |message: &AttemptMessage| (message.id, message.next_retry_at);
        of_tenant.map(place).collect()
    }
}

fn due_at(row: &Delivery) -> Timestamp {
    row.next_retry_at.unwrap_or(row.created_at)
}

fn position(row: &Delivery) -> (DeliveryId, Timestamp) {
    (row.id, due_at(row))
}
