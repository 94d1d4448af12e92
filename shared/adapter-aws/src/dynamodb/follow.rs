//! What follows from changes of rows, written after them: the state of webhooks, the counters, the feed. The publisher
//! runs it on the table's stream, which tells every change at least once and each item's changes in order.
//!
//! What is set, is set under a generation: a batch that is told again changes neither `failed` nor `disabled`, and
//! announces under the same ids. What is counted can be counted twice, when a process ends after a write and before the
//! stream hears that its batch is done: `failure_count` and the hourly counters of that one batch, and its announcements
//! in the feed. A batch that is told again to the same process is recognised.

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

/// How many webhooks are looked after at once.
const AT_ONCE: usize = 16;
/// How often a state is read again when somebody else was faster.
const ROUNDS: u32 = 10;

/// Follows the stream of a store's table.
pub struct Follower {
    store: Arc<DynamoStore>,
    done: Mutex<Done>,
}

/// A record under way: what it says, and what has gone wrong so far.
struct Work {
    id: String,
    change: Change,
    notifications: Vec<Notification>,
    failed: Option<Error>,
}

impl Follower {
    /// A follower of this store.
    #[must_use]
    pub fn of(store: Arc<DynamoStore>) -> Self {
        Self {
            store,
            done: Mutex::default(),
        }
    }

    /// Writes what follows from a batch, and returns for each record what is to be announced to the world, in order. A
    /// record that failed is to be told again; the others are done.
    pub async fn follow(
        &self,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Vec<Result<Vec<Notification>>> {
        let mut works: Vec<Work> = records.into_iter().map(Work::of).collect();
        self.judge(&mut works).await;
        self.resume(&mut works, now).await;
        self.count(&mut works).await;
        self.tell(&mut works, now).await;
        works.into_iter().map(Work::result).collect()
    }

    async fn judge(&self, works: &mut [Work]) {
        let groups = self.groups(works, Step::Judged, |row| {
            row.was_attempted().then(|| row.webhook())
        });
        let judge =
            |key, rows: Vec<RowChange>| async move { self.store.judge(&key, &rows).await }.boxed();
        self.each(works, Step::Judged, groups, judge).await;
    }

    /// Resumes webhooks whose tests were answered. Told again, it finds them active.
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
        let groups = self.groups(works, Step::CountedStats, |row| {
            row.counted().map(|_| (row.webhook(), row.at.hour()))
        });
        let count = |((tenant, webhook), hour), rows: Vec<RowChange>| {
            let mut more = HourlyStats::empty(webhook, hour);
            let counted = rows.iter().filter_map(RowChange::counted);
            counted.for_each(|delta| more.add(delta));
            async move { self.store.count(&tenant, &more).await }.boxed()
        };
        self.each(works, Step::CountedStats, groups, count).await;
    }

    async fn tell(&self, works: &mut [Work], now: Timestamp) {
        let mut tenants: BTreeMap<TenantId, Vec<usize>> = BTreeMap::new();
        for (place, work) in works.iter().enumerate() {
            if let Some(notification) = work.notifications.first()
                && work.failed.is_none()
                && !self.done.lock().has(Step::Told, &work.id)
            {
                let places = tenants.entry(notification.tenant.clone()).or_default();
                places.push(place);
            }
        }
        for (tenant, places) in tenants {
            let told = places.iter().filter_map(|place| works.get(*place));
            let notifications: Vec<_> = told.flat_map(|work| &work.notifications).collect();
            let result = self.store.tell(&tenant, &notifications, now).await;
            self.settle(works, Step::Told, &places, &result);
        }
    }

    /// The places of the records that a step is still to be done for, by what they are done together with.
    fn groups<K: Ord>(
        &self,
        works: &[Work],
        step: Step,
        key: impl Fn(&RowChange) -> Option<K>,
    ) -> BTreeMap<K, Vec<usize>> {
        let done = self.done.lock();
        let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (place, work) in works.iter().enumerate() {
            let row = work.change.row().filter(|_| work.failed.is_none());
            if let Some(key) = row.and_then(&key)
                && !done.has(step, &work.id)
            {
                groups.entry(key).or_default().push(place);
            }
        }
        groups
    }

    /// Does a step for all groups, several at once, and notes what became of it.
    async fn each<'a, K>(
        &'a self,
        works: &mut [Work],
        step: Step,
        groups: BTreeMap<K, Vec<usize>>,
        act: impl Fn(K, Vec<RowChange>) -> BoxFuture<'a, Result<()>>,
    ) {
        let mut acts = Vec::with_capacity(groups.len());
        for (key, places) in groups {
            let works = places.iter().filter_map(|place| works.get(*place));
            let rows = works.filter_map(|work| work.change.row().cloned());
            acts.push(act(key, rows.collect()).map(|result| (places, result)));
        }
        let results: Vec<_> = stream::iter(acts).buffer_unordered(AT_ONCE).collect().await;
        for (places, result) in results {
            self.settle(works, step, &places, &result);
        }
    }

    fn settle(&self, works: &mut [Work], step: Step, places: &[usize], result: &Result<()>) {
        let mut done = self.done.lock();
        for place in places {
            let Some(work) = works.get_mut(*place) else {
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
    /// Lets a webhook's state see what became of its rows' attempts. A deleted one has none.
    async fn judge(&self, webhook: &(TenantId, WebhookId), rows: &[RowChange]) -> Result<()> {
        let (tenant, id) = webhook;
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, *id).await? else {
                return Ok(());
            };
            let mut health = before.health.clone();
            let mut changed_at = before.noted_at;
            for row in rows {
                if let Some(next) = row.effects_on(&health).health {
                    (health, changed_at) = (next, row.at);
                }
            }
            if health == before.health {
                return Ok(());
            }
            let change = self.change_state(tenant, *id, &before, health, changed_at);
            if change.await? {
                return Ok(());
            }
        }
        Err(fault::contended("the state of a webhook"))
    }
}
