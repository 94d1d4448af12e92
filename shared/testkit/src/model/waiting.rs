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
use postrider_ports::schedule::{Ask, DueRows};
use proptest::prelude::*;

use super::contents::EVERYTHING;
use super::{Command, Model};
use crate::builders::NOW;
use crate::store_suite::WaitingRows;

const KINDS: [AttemptKind; 2] = [AttemptKind::First, AttemptKind::Retry];
const PAGE: usize = 1000;
const ALWAYS: (Timestamp, Timestamp) = (
    Timestamp::from_millis(0),
    Timestamp::from_millis(i64::MAX / 2),
);

/// Rows with their due times.
type Due = BTreeSet<(DeliveryId, Timestamp)>;

impl Model {
    /// A store with shards needs some seventy reads for each webhook, so it is asked for one at a time. A row in a wrong place
    /// stays there, and all are compared in the end.
    pub(super) async fn compare_waiting(
        &self,
        step: usize,
        command: &Command,
    ) -> Result<(), TestCaseError> {
        let webhooks = match self.handle.waiting_rows {
            WaitingRows::InBacklog => vec![self.webhook_at(step / EVERYTHING)],
            WaitingRows::Unmarked => self.webhooks.keys().copied().collect(),
        };
        let compared = self.compare_waiting_of(&webhooks).await;
        compared.map_err(|error| TestCaseError::fail(format!("{error} after {command:?}")))
    }

    pub(super) async fn compare_all_waiting(&self) -> Result<(), TestCaseError> {
        let webhooks: Vec<_> = self.webhooks.keys().copied().collect();
        self.compare_waiting_of(&webhooks).await
    }

    async fn compare_waiting_of(&self, webhooks: &[WebhookId]) -> Result<(), TestCaseError> {
        if let Some(embedded) = self.handle.embedded.clone() {
            self.compare_agenda(&*embedded).await?;
            self.compare_due(&*embedded).await?;
        }
        self.compare_backlogs(webhooks).await?;
        self.compare_general_lanes().await
    }

    fn open(&self) -> impl Iterator<Item = &Delivery> {
        self.rows.values().filter(|row| row.status.is_open())
    }

    async fn compare_agenda(&self, store: &dyn EmbeddedStore) -> Result<(), TestCaseError> {
        let mut expected: BTreeMap<WebhookId, Timestamp> = BTreeMap::new();
        for row in self.open() {
            let at = match row.lease_owner {
                Some(_) if !self.has_void_lease(row) => row.lease_until.plus(Millis::new(1)),
                Some(_) | None => due_at(row),
            };
            let first = expected.entry(row.id.webhook).or_insert(at);
            *first = at.min(*first);
        }
        let (mut stored, mut after) = (BTreeMap::new(), None);
        loop {
            let page = store.agenda(after.as_ref(), PAGE, self.now).await.unwrap();
            for entry in page.entries {
                if entry.tenant == self.tenant {
                    let first = stored.entry(entry.webhook).or_insert(entry.due_at);
                    *first = entry.due_at.min(*first);
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        prop_assert_eq!(stored, expected, "the agenda");
        Ok(())
    }

    async fn compare_due(&self, store: &dyn EmbeddedStore) -> Result<(), TestCaseError> {
        let later = NOW.plus(Millis::from_seconds(10));
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
        for webhook in self.webhooks.keys() {
            let found = store.due(&self.tenant, *webhook, &asks, self.now).await;
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
            let stored = &self.rows[&row.id];
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
        let store = &self.handle.store;
        let marks = self.handle.waiting_rows == WaitingRows::InBacklog;
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
                prop_assert_eq!(self.ours(found), expected, "the backlog of {:?}", kind);
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
            let counted = store.backlog_size(&self.tenant, *webhook, self.now).await;
            let counted = usize::try_from(counted.unwrap().rows()).unwrap();
            prop_assert!(
                (least..=most).contains(&counted),
                "{counted} of {least} to {most}"
            );
        }
        Ok(())
    }

    /// What the poller finds: open rows that are in no backlog. An embedded store leaves out those of stopped
    /// webhooks that no process holds.
    async fn compare_general_lanes(&self) -> Result<(), TestCaseError> {
        let lanes = [Lane::Queued, Lane::Waiting];
        let shards = 0..self.handle.store.shards();
        let stretches = shards.flat_map(|shard| {
            lanes.map(|lane| Stretch {
                shard,
                lane,
                from: ALWAYS.0,
                to: ALWAYS.1,
            })
        });
        let found = join_all(stretches.map(|stretch| self.stretch(stretch))).await;
        let belongs = |row: &&Delivery| {
            let status = self.status_of(row.id.webhook);
            let is_stopped = status.is_some_and(WebhookStatus::is_stopped);
            match self.handle.waiting_rows {
                WaitingRows::InBacklog => !row.in_backlog && !self.unwatched.contains(&row.id),
                WaitingRows::Unmarked => !is_stopped || row.lease_owner.is_some(),
            }
        };
        let expected: Due = self.open().filter(belongs).map(position).collect();
        let mut found = self.ours(found);
        if self.handle.waiting_rows == WaitingRows::InBacklog {
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
                .handle
                .store
                .backlog_rows(&self.tenant, part, PAGE, after.as_ref());
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
            let page = self
                .handle
                .store
                .rows_between(stretch, PAGE, after.as_ref());
            let page = page.await.unwrap();
            found.extend(page.messages);
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    }

    fn ours(&self, found: Vec<Vec<AttemptMessage>>) -> Due {
        let ours = found
            .into_iter()
            .flatten()
            .filter(|message| message.tenant == self.tenant);
        ours.map(|message| (message.id, message.next_retry_at))
            .collect()
    }
}

fn due_at(row: &Delivery) -> Timestamp {
    row.next_retry_at.unwrap_or(row.created_at)
}

fn position(row: &Delivery) -> (DeliveryId, Timestamp) {
    (row.id, due_at(row))
}
