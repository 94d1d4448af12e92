//! Compares what is stored: events, rows, attempts and webhooks, and that something leads to each open row.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::{DeliveryId, EventId, WebhookId};
use postrider_domain::webhook::Webhook;
use postrider_ports::history::Filter;
use proptest::prelude::*;

use super::command::Command;
use super::tenancy::{EventState, Published};
use super::{Model, Tenancy};
use crate::store_suite::{FoundBy, WaitingRows};

/// A store on a network is asked for everything after this many commands.
pub(super) const EVERYTHING: usize = 8;

/// Events, rows and webhooks as the store had them when it was last asked.
#[derive(Default)]
pub(super) struct Compared {
    events: BTreeMap<EventId, EventState>,
    rows: BTreeMap<DeliveryId, Delivery>,
    webhooks: BTreeMap<WebhookId, Option<Webhook>>,
}

impl Model<'_> {
    /// Whether the store is asked for everything after this command.
    pub(super) fn compares_everything(&self, step: usize) -> bool {
        match self.handle().waiting_rows {
            WaitingRows::InBacklog => step.is_multiple_of(EVERYTHING),
            WaitingRows::Unmarked => true,
        }
    }

    /// Compares everything of one tenant.
    pub(super) async fn compare(&mut self, command: &Command) -> Result<(), TestCaseError> {
        self.look_at_version().await?;
        let rows: Vec<_> = self.ours.rows.keys().copied().collect();
        self.compare_rows(&rows).await?;
        let webhooks: Vec<_> = self.ours.webhooks.keys().copied().collect();
        self.compare_webhooks(&webhooks).await?;
        let is_embedded = self.handle().embedded.is_some();
        if !is_embedded || command.changes_attempts() {
            self.compare_attempts().await?;
        }
        if !is_embedded || command.changes_events() {
            let events: Vec<_> = self.ours.events.keys().copied().collect();
            self.compare_events(&events).await?;
        }
        self.compare_lists().await?;
        self.ours.unwatched = self.check_found(rows).await?;
        Ok(())
    }

    /// Compares what has changed since the last comparison.
    pub(super) async fn compare_changed(&mut self) -> Result<(), TestCaseError> {
        let Tenancy {
            compared, events, ..
        } = &self.ours;
        let states = events.iter().map(|(id, event)| (*id, event.state));
        let events = changed(&compared.events, &states.collect());
        self.compare_events(&events).await?;
        let rows = changed(&self.ours.compared.rows, &self.ours.rows);
        self.compare_rows(&rows).await?;
        let webhooks = changed(&self.ours.compared.webhooks, &self.ours.webhooks);
        self.compare_webhooks(&webhooks).await?;
        self.check_found(rows).await?;
        Ok(())
    }

    async fn compare_rows(&mut self, ids: &[DeliveryId]) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let stored = join_all(ids.iter().map(|id| store.delivery(tenant, *id))).await;
        for (id, stored) in ids.iter().zip(stored) {
            let stored = stored.unwrap();
            prop_assert_eq!(stored.as_ref(), self.ours.rows.get(id));
            self.ours.compared.rows.extend(stored.map(|row| (*id, row)));
        }
        Ok(())
    }

    async fn compare_webhooks(&mut self, ids: &[WebhookId]) -> Result<(), TestCaseError> {
        for id in ids {
            let stored = self.store().webhook(&self.ours.tenant, *id).await.unwrap();
            prop_assert_eq!(&stored, &self.ours.webhooks[id]);
            self.ours.compared.webhooks.insert(*id, stored);
        }
        Ok(())
    }

    async fn compare_attempts(&self) -> Result<(), TestCaseError> {
        for (id, attempts) in &self.ours.attempts {
            let stored = self.store().attempts(&self.ours.tenant, *id).await;
            let (mut stored, mut attempts) = (stored.unwrap(), attempts.clone());
            if let EventState::Erasing(_) = self.ours.events[&id.event].state {
                // Until it is done, a text may be left or not.
                remove_texts(&mut stored);
                remove_texts(&mut attempts);
            }
            prop_assert_eq!(stored, attempts);
        }
        Ok(())
    }

    async fn compare_events(&mut self, ids: &[EventId]) -> Result<(), TestCaseError> {
        for id in ids {
            let (store, tenant) = (self.store(), &self.ours.tenant);
            let Published { event, state, .. } = &self.ours.events[id];
            let stored = store.event(tenant, *id).await.unwrap();
            let expected = Some(event).filter(|_| *state == EventState::Stored);
            prop_assert_eq!(stored.as_ref(), expected);
            let erased_at = store.erased_at(tenant, *id).await;
            prop_assert_eq!(erased_at, Ok(state.erased_at()));
            let mut rows = store.rows_of(tenant, *id).await.unwrap();
            rows.sort_by_key(|row| row.id);
            prop_assert_eq!(rows, self.ours.rows_of(*id));
            let state = *state;
            self.ours.compared.events.insert(*id, state);
        }
        Ok(())
    }

    /// Lists take a store on a network longest: it is asked for the one with every row.
    async fn compare_lists(&self) -> Result<(), TestCaseError> {
        self.compare_list(Filter::default()).await?;
        if self.handle().waiting_rows == WaitingRows::InBacklog {
            return Ok(());
        }
        let last = self.ours.events.values().next_back();
        let session_id = last.and_then(|last| last.event.session_id.clone());
        let of_webhook = Filter {
            webhook_id: Some(self.ours.webhook_at(0)),
            ..Filter::default()
        };
        let dead = Filter {
            status: Some(Status::Dead),
            ..Filter::default()
        };
        let of_session = Filter {
            session_id,
            ..Filter::default()
        };
        for filter in [of_webhook, dead, of_session] {
            self.compare_list(filter).await?;
        }
        Ok(())
    }

    async fn compare_list(&self, filter: Filter) -> Result<(), TestCaseError> {
        let listed = self.store().list(&self.ours.tenant, &filter, 1000, None);
        let mut listed = listed.await.unwrap().items;
        listed.sort_by_key(|row| row.id);
        let rows = self.ours.rows.values();
        let expected: Vec<_> = rows.filter(|row| filter.matches(row)).collect();
        prop_assert_eq!(listed.iter().collect::<Vec<_>>(), expected, "{:?}", filter);
        Ok(())
    }

    /// An open row has a lane, or the record of its acceptance is ahead of the watch; a lane of a backlog has a registration.
    /// Returns the rows that the watch has not seen.
    async fn check_found(
        &self,
        mut rows: Vec<DeliveryId>,
    ) -> Result<BTreeSet<DeliveryId>, TestCaseError> {
        let Tenancy {
            tenant,
            rows: stored,
            ..
        } = &self.ours;
        rows.retain(|id| stored[id].status.is_open());
        let (mut in_backlog, mut unwatched) = (BTreeSet::new(), BTreeSet::new());
        for (id, found_by) in rows.iter().zip(self.fixture.found_by(tenant, &rows).await) {
            match found_by {
                FoundBy::Poller => {}
                FoundBy::Watch => {
                    unwatched.insert(*id);
                }
                FoundBy::Drainer => {
                    in_backlog.insert(id.webhook);
                }
                FoundBy::Nothing => prop_assert!(false, "nothing leads to {}", id),
            }
        }
        // The rows of a deleted webhook are ended by a chore.
        in_backlog.retain(|webhook| self.ours.status_of(*webhook).is_some());
        for webhook in in_backlog {
            let registration = self.store().registration(tenant, webhook);
            prop_assert!(registration.await.unwrap().is_some());
        }
        Ok(unwatched)
    }
}

impl Command {
    /// Those after which an embedded store is asked for all attempts.
    const fn changes_attempts(&self) -> bool {
        matches!(
            self,
            Self::Apply { .. } | Self::Erase { .. } | Self::Confuse { .. } | Self::Reopen
        )
    }

    /// Those after which an embedded store is asked for all events.
    const fn changes_events(&self) -> bool {
        matches!(
            self,
            Self::Accept { .. }
                | Self::Repeat { .. }
                | Self::Add { .. }
                | Self::Erase { .. }
                | Self::Expire { .. }
                | Self::Confuse { .. }
                | Self::Reopen
        )
    }
}

fn remove_texts(attempts: &mut [Attempt]) {
    for attempt in attempts {
        attempt.error = None;
        attempt.response_body = None;
    }
}

/// The keys whose values differ from what was compared.
fn changed<K: Copy + Ord, V: PartialEq>(compared: &BTreeMap<K, V>, now: &BTreeMap<K, V>) -> Vec<K> {
    let changed = now
        .iter()
        .filter(|(key, value)| compared.get(key) != Some(value));
    changed.map(|(key, _)| *key).collect()
}
