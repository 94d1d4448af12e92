//! Compares what is stored: rows, attempts and webhooks, and that something leads to each open row.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use postrider_domain::delivery::Delivery;
use postrider_domain::health::Health;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_ports::history::Filter;
use proptest::prelude::*;

use super::{Command, Model};
use crate::store_suite::{Fixture, FoundBy, WaitingRows};

/// A store on a network is asked for everything after this many commands.
pub(super) const EVERYTHING: usize = 8;

/// Rows and webhooks as the store had them when it was last asked.
#[derive(Default)]
pub(super) struct Contents {
    rows: BTreeMap<DeliveryId, Delivery>,
    webhooks: BTreeMap<WebhookId, Option<Health>>,
}

impl Model {
    /// Whether the store is asked for everything after this command.
    pub(super) fn compares_everything(&self, step: usize) -> bool {
        match self.handle.waiting_rows {
            WaitingRows::InBacklog => step.is_multiple_of(EVERYTHING),
            WaitingRows::Unmarked => true,
        }
    }

    pub(super) async fn compare(
        &mut self,
        fixture: &impl Fixture,
        command: &Command,
    ) -> Result<(), TestCaseError> {
        let rows: Vec<_> = self.rows.keys().copied().collect();
        self.compare_rows(&rows, command).await?;
        let webhooks: Vec<_> = self.webhooks.keys().copied().collect();
        self.compare_webhooks(&webhooks, command).await?;
        let store = &self.handle.store;
        let is_local = self.handle.embedded.is_some();
        if !is_local || matches!(command, Command::Apply { .. } | Command::Reopen) {
            for (id, attempts) in &self.attempts {
                let stored = store.attempts(&self.tenant, *id).await.unwrap();
                prop_assert_eq!(&stored, attempts, "after {:?}", command);
            }
        }
        let filter = Filter::default();
        let listed = store.list(&self.tenant, &filter, 1000, None).await.unwrap();
        prop_assert_eq!(listed.items.len(), self.rows.len());
        self.unwatched = self.check_found(fixture, rows, command).await?;
        Ok(())
    }

    /// Compares what has changed since the last comparison.
    pub(super) async fn compare_changed(
        &mut self,
        fixture: &impl Fixture,
        command: &Command,
    ) -> Result<(), TestCaseError> {
        let rows = changed(&self.compared.rows, &self.rows);
        self.compare_rows(&rows, command).await?;
        let webhooks = changed(&self.compared.webhooks, &self.webhooks);
        self.compare_webhooks(&webhooks, command).await?;
        self.check_found(fixture, rows, command).await?;
        Ok(())
    }

    async fn compare_rows(
        &mut self,
        ids: &[DeliveryId],
        command: &Command,
    ) -> Result<(), TestCaseError> {
        let store = &self.handle.store;
        let stored = join_all(ids.iter().map(|id| store.delivery(&self.tenant, *id))).await;
        for (id, stored) in ids.iter().zip(stored) {
            let stored = stored.unwrap();
            prop_assert_eq!(stored.as_ref(), self.rows.get(id), "after {:?}", command);
            self.compared.rows.extend(stored.map(|row| (*id, row)));
        }
        Ok(())
    }

    async fn compare_webhooks(
        &mut self,
        ids: &[WebhookId],
        command: &Command,
    ) -> Result<(), TestCaseError> {
        for id in ids {
            let stored = self.handle.store.webhook(&self.tenant, *id).await.unwrap();
            let stored = stored.map(|webhook| webhook.health);
            prop_assert_eq!(&stored, &self.webhooks[id], "after {:?}", command);
            self.compared.webhooks.insert(*id, stored);
        }
        Ok(())
    }

    /// An open row has a lane, or the record of its acceptance is ahead of the watch; a lane of a backlog has a registration.
    /// Returns the rows that the watch has not seen.
    async fn check_found(
        &self,
        fixture: &impl Fixture,
        mut rows: Vec<DeliveryId>,
        command: &Command,
    ) -> Result<BTreeSet<DeliveryId>, TestCaseError> {
        rows.retain(|id| self.rows[id].status.is_open());
        let (mut in_backlog, mut unwatched) = (BTreeSet::new(), BTreeSet::new());
        for (id, found_by) in rows.iter().zip(fixture.found_by(&self.tenant, &rows).await) {
            match found_by {
                FoundBy::Poller => {}
                FoundBy::Watch => {
                    unwatched.insert(*id);
                }
                FoundBy::Drainer => {
                    in_backlog.insert(id.webhook);
                }
                FoundBy::Nothing => prop_assert!(false, "{} after {:?}", id, command),
            }
        }
        // The rows of a deleted webhook are ended by a chore.
        in_backlog.retain(|webhook| self.status_of(*webhook).is_some());
        for webhook in in_backlog {
            let registration = self.handle.store.registration(&self.tenant, webhook);
            let registration = registration.await.unwrap();
            prop_assert!(registration.is_some(), "after {:?}", command);
        }
        Ok(unwatched)
    }
}

/// The keys whose values differ from what was compared.
fn changed<K: Copy + Ord, V: PartialEq>(compared: &BTreeMap<K, V>, now: &BTreeMap<K, V>) -> Vec<K> {
    let changed = now
        .iter()
        .filter(|(key, value)| compared.get(key) != Some(value));
    changed.map(|(key, _)| *key).collect()
}
