//! Writes what follows from row changes: the state of webhooks, the counters, the feed. The publisher runs this on the
//! table's stream, which reports every change at least once, and the changes of each item in order.
//!
//! States are written under a generation: processing a batch again changes neither `failed` nor `disabled`, and sends
//! notifications with the same ids. Counts can be added twice if a process ends after a write and before the stream
//! learns that its batch is done: the `failure_count` and hourly counters of that one batch, and its notifications in
//! the feed. A batch that the same process receives again is recognised.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::notification::Notification;
use postrider_domain::time::Timestamp;
use postrider_ports::history::HourlyStats;
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::done::{Done, Step};
use super::stream::{Change, Record, RowChange};
use crate::fault;

/// How many webhooks are processed concurrently.
const AT_ONCE: usize = 16;
/// How many times a state is read again after another writer was faster.
const ROUNDS: u32 = 10;

pub struct Follower {
    store: Arc<DynamoStore>,
    done: Mutex<Done>,
}

/// A record being processed: its change, and its error, if any.
struct Work {
    id: String,
    change: Change,
    notifications: Vec<Notification>,
    failed: Option<Error>,
}

impl Follower {
    #[must_use]
    pub fn of(store: Arc<DynamoStore>) -> Self {
        Self {
            store,
            done: Mutex::default(),
        }
    }

    /// Writes what follows from a batch, and returns the notifications to publish for each record, in order. A failed
    /// record must be processed again; the others are done.
    pub async fn follow(
        &self,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Vec<Result<Vec<Notification>>> {
        let mut works: Vec<Work> = records.into_iter().map(Work::of).collect();
        self.update_health(&mut works).await;
        self.resume(&mut works, now).await;
        self.count(&mut works).await;
        self.notify(&mut works, now).await;
        works.into_iter().map(Work::result).collect()
    }

    async fn update_health(&self, works: &mut [Work]) {
        let groups = self.groups(works, Step::HealthUpdated, |row| {
            row.was_attempted().then(|| row.webhook())
        });
        let update_health = |key, rows: Vec<RowChange>| {
            async move { self.store.update_health(&key, &rows).await }.boxed()
        };
        self.each(works, Step::HealthUpdated, groups, update_health)
            .await;
    }

    /// Resumes webhooks whose probes were answered. If repeated, it finds them active.
    async fn resume(&self, works: &mut [Work], now: Timestamp) {
        for work in works {
            if let Some(passed) = work.change.passed_probe()
                && let Err(error) = self.store.resume_probed(&passed, now).await
            {
                work.failed = Some(error);
            }
        }
    }

    async fn count(&self, works: &mut [Work]) {
        let groups = self.groups(works, Step::Counted, |row| {
            row.counted().map(|_| (row.webhook(), row.at.hour()))
        });
        let count = |((tenant, webhook), hour), rows: Vec<RowChange>| {
            let mut more = HourlyStats::empty(webhook, hour);
            let counted = rows.iter().filter_map(RowChange::counted);
            counted.for_each(|delta| more.add(delta));
            async move { self.store.count(&tenant, &more).await }.boxed()
        };
        self.each(works, Step::Counted, groups, count).await;
    }

    async fn notify(&self, works: &mut [Work], now: Timestamp) {
        let mut tenants: BTreeMap<TenantId, Vec<usize>> = BTreeMap::new();
        for (index, work) in works.iter().enumerate() {
            if let Some(notification) = work.notifications.first()
                && work.failed.is_none()
                && !self.done.lock().has(Step::Notified, &work.id)
            {
                let indexes = tenants.entry(notification.tenant.clone()).or_default();
                indexes.push(index);
            }
        }
        for (tenant, indexes) in tenants {
            let records = indexes.iter().filter_map(|index| works.get(*index));
            let notifications: Vec<_> = records.flat_map(|work| &work.notifications).collect();
            let result = self.store.add_to_feed(&tenant, &notifications, now).await;
            self.settle(works, Step::Notified, &indexes, &result);
        }
    }

    /// The indexes of the records that still need a step, grouped by what is processed together.
    fn groups<K: Ord>(
        &self,
        works: &[Work],
        step: Step,
        key: impl Fn(&RowChange) -> Option<K>,
    ) -> BTreeMap<K, Vec<usize>> {
        let done = self.done.lock();
        let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (index, work) in works.iter().enumerate() {
            let row = work.change.row().filter(|_| work.failed.is_none());
            if let Some(key) = row.and_then(&key)
                && !done.has(step, &work.id)
            {
                groups.entry(key).or_default().push(index);
            }
        }
        groups
    }

    /// Does a step for all groups, several concurrently, and records the results.
    async fn each<'a, K>(
        &'a self,
        works: &mut [Work],
        step: Step,
        groups: BTreeMap<K, Vec<usize>>,
        act: impl Fn(K, Vec<RowChange>) -> BoxFuture<'a, Result<()>>,
    ) {
        let mut acts = Vec::with_capacity(groups.len());
        for (key, indexes) in groups {
            let works = indexes.iter().filter_map(|index| works.get(*index));
            let rows = works.filter_map(|work| work.change.row().cloned());
            acts.push(act(key, rows.collect()).map(|result| (indexes, result)));
        }
        let results: Vec<_> = stream::iter(acts).buffer_unordered(AT_ONCE).collect().await;
        for (indexes, result) in results {
            self.settle(works, step, &indexes, &result);
        }
    }

    fn settle(&self, works: &mut [Work], step: Step, indexes: &[usize], result: &Result<()>) {
        let mut done = self.done.lock();
        for index in indexes {
            let Some(work) = works.get_mut(*index) else {
                continue;
            };
            match result {
                Ok(()) => done.note(step, &work.id),
                Err(error) => work.failed = Some(error.clone()),
            }
        }
    }
}

impl Work {
    fn of(record: Record) -> Self {
        let id = record.id.clone();
        let (change, failed) = match Change::of(record) {
            Ok(change) => (change, None),
            Err(error) => (Change::Nothing, Some(error)),
        };
        Self {
            id,
            notifications: change.notifications(),
            change,
            failed,
        }
    }

    fn result(self) -> Result<Vec<Notification>> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.notifications),
        }
    }
}

impl DynamoStore {
    /// Updates a webhook's state with the results of its attempts. A deleted webhook has no state.
    async fn update_health(
        &self,
        webhook: &(TenantId, WebhookId),
        rows: &[RowChange],
    ) -> Result<()> {
        let (tenant, id) = webhook;
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, *id).await? else {
                return Ok(());
            };
            let mut after = before.clone();
            for row in rows {
                after = after.counting(row);
                if let Some(health) = row.effects_on(&after.health).health {
                    (after.health, after.noted_at) = (health, row.at);
                }
            }
            if after == before {
                return Ok(());
            }
            let change = self.change_state_to(tenant, *id, &before, after);
            if change.await? {
                return Ok(());
            }
        }
        Err(fault::contended("the state of a webhook"))
    }
}
