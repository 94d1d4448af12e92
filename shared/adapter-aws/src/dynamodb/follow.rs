//! Writes what follows from changes in the table's stream, which reports every change at least once, and the changes of each
//! item in order. The publisher calls it twice per batch: for the health of webhooks, before it publishes notifications, and
//! for counters and live feed, once it knows which changes will not come again.

mod feed;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use postrider_domain::ids::TenantId;
use postrider_domain::notification::Notification;
use postrider_domain::time::Timestamp;
use postrider_ports::history::HourlyStats;
use postrider_ports::{Error, Result};
use tracing::warn;

use self::feed::Feed;
use super::DynamoStore;
use super::stream::{Change, Record, RowChange};

/// How many webhooks are processed concurrently.
const AT_ONCE: usize = 16;

pub struct Follower {
    store: Arc<DynamoStore>,
    feed: Feed,
}

/// A record being processed: its change, and its error, if any.
struct Work {
    change: Change,
    failed: Option<Error>,
}

impl Follower {
    #[must_use]
    pub fn of(store: Arc<DynamoStore>) -> Self {
        Self {
            feed: Feed::default(),
            store,
        }
    }

    /// Updates the health of webhooks, and returns the notifications to publish for each record, in order. A failed record
    /// must be processed again.
    pub async fn follow(
        &self,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Vec<Result<Vec<Notification>>> {
        let mut works: Vec<Work> = records.into_iter().map(Work::of).collect();
        self.update_health(&mut works).await;
        self.resume(&mut works, now).await;
        works.into_iter().map(Work::result).collect()
    }

    /// Adds records that will not come again to the counters and the live feed. What cannot be written is logged and left
    /// out: neither is worth stopping the stream for.
    pub async fn settle(&self, records: &[Record], now: Timestamp) {
        let changes = records.iter().cloned().map(Change::of);
        let changes: Vec<_> = changes.filter_map(Result::ok).collect();
        self.count(&changes).await;
        self.notify(&changes, now).await;
    }

    async fn update_health(&self, works: &mut [Work]) {
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, work) in works.iter().enumerate() {
            let row = work.change.row().filter(|row| row.was_attempted());
            if let Some(row) = row {
                groups.entry(row.webhook()).or_default().push(index);
            }
        }
        let mut acts = Vec::with_capacity(groups.len());
        for (webhook, indexes) in groups {
            let works = indexes.iter().filter_map(|index| works.get(*index));
            let rows: Vec<_> = works
                .filter_map(|work| work.change.row().cloned())
                .collect();
            acts.push(async move {
                let result = self.store.update_health(&webhook, &rows).await;
                (indexes, result)
            });
        }
        let results: Vec<_> = stream::iter(acts).buffer_unordered(AT_ONCE).collect().await;
        for (indexes, result) in results {
            let Err(error) = result else {
                continue;
            };
            for index in indexes {
                if let Some(work) = works.get_mut(index) {
                    work.failed = Some(error.clone());
                }
            }
        }
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

    async fn count(&self, changes: &[Change]) {
        let mut hours: BTreeMap<_, Vec<&RowChange>> = BTreeMap::new();
        for row in changes.iter().filter_map(Change::row) {
            if row.counted().is_some() {
                let hour = (row.webhook(), row.at.hour());
                hours.entry(hour).or_default().push(row);
            }
        }
        let mut acts: Vec<BoxFuture<'_, Result<()>>> = Vec::with_capacity(hours.len());
        for (((tenant, webhook), hour), rows) in hours {
            let mut more = HourlyStats::empty(webhook, hour);
            for row in rows {
                row.counted().into_iter().for_each(|delta| more.add(delta));
                let bytes = row.published_bytes.into_iter();
                bytes.for_each(|bytes| more.publish(bytes));
            }
            acts.push(async move { self.store.count(&tenant, &more).await }.boxed());
        }
        let results: Vec<_> = stream::iter(acts).buffer_unordered(AT_ONCE).collect().await;
        for reason in results.into_iter().filter_map(Result::err) {
            warn!(event = "changes.not_counted", %reason, "the counters of a webhook could not be increased");
        }
    }

    async fn notify(&self, changes: &[Change], now: Timestamp) {
        let mut tenants: BTreeMap<TenantId, Vec<Notification>> = BTreeMap::new();
        for notification in changes.iter().flat_map(Change::notifications) {
            let tenant = notification.tenant.clone();
            tenants.entry(tenant).or_default().push(notification);
        }
        for (tenant, notifications) in tenants {
            self.feed
                .add(&self.store, &tenant, &notifications, now)
                .await;
        }
    }
}

impl Work {
    fn of(record: Record) -> Self {
        match Change::of(record) {
            Ok(change) => Self {
                change,
                failed: None,
            },
            Err(error) => Self {
                change: Change::Nothing,
                failed: Some(error),
            },
        }
    }

    fn result(self) -> Result<Vec<Notification>> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.change.notifications()),
        }
    }
}
