//! Hourly counters: one item per webhook and hour, incremented by the publisher.

use futures_util::{StreamExt, TryStreamExt, stream};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::stats::KEPT_FOR;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::HourlyStats;

use super::calls::{Change, Condition, Order, Query, Step, Table};
use super::item::{Item, n, s, seconds};
use super::keys::{DELETED_PREFIX, Key, STATS_PREFIX, WEBHOOK_PREFIX};
use super::{DynamoStore, webhook_item};
use crate::fault::{self, readable, unreadable};

/// How many webhooks are read concurrently.
const AT_ONCE: usize = 16;
/// How many deleted webhooks a report includes.
const MAX_DELETED: usize = 200;

impl DynamoStore {
    /// Adds to the counters of a webhook's hour. Not idempotent: repeating it counts twice.
    pub(super) async fn count(&self, tenant: &TenantId, more: &HourlyStats) -> Result<()> {
        let key = || Key::stats(tenant, more.webhook, more.hour);
        let expires_at = || seconds(more.hour.plus(KEPT_FOR));
        let change = Change::of(Table::Deliveries, key()).set("expires_at", expires_at());
        let counters = || counters(more).into_iter().filter(|(_, count)| *count > 0);
        let change = counters().fold(change, |change, (name, count)| change.add(&name, n(count)));
        match self.change(change).await {
            Ok(_) => Ok(()),
            // Counters that cannot be added to start again: they must not stop the stream.
            Err(error) if fault::is_misfit(&error) => {
                fault::left_aside(&error.to_string());
                let mut item = key().item();
                item.insert("expires_at".to_owned(), expires_at());
                item.extend(counters().map(|(name, count)| (name, n(count))));
                self.put(Table::Deliveries, item, None).await?;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The counters of one webhook for the hours from `from` to before `to`.
    pub(super) async fn hours(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        let last = Timestamp::from_millis(to.as_millis().saturating_sub(1));
        let (from, last) = (from.max(Timestamp::ZERO), last);
        if last < from {
            return Ok(Vec::new());
        }
        let (first, last) = (
            Key::stats(tenant, webhook, from),
            Key::stats(tenant, webhook, last),
        );
        let keys = Condition::new("#pk = :pk AND #sk BETWEEN :first AND :last")
            .with("pk", s(first.pk))
            .with("first", s(first.sk))
            .with("last", s(last.sk));
        let query = Query {
            table: Table::Deliveries,
            index: None,
            keys,
            order: Order::Ascending,
            limit: None,
            after: None,
        };
        let items = self.query_all(query).await?;
        let hours = items.iter().map(|item| readable(read(item, webhook)));
        let hours = hours.collect::<Result<Vec<_>>>()?;
        Ok(hours.into_iter().flatten().collect())
    }

    /// The counters of all webhooks that the tenant has, and of the last ones that were deleted.
    pub(super) async fn hours_of_all(
        &self,
        tenant: &TenantId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        let query = Query::prefix(Table::Configs, tenant.as_str(), WEBHOOK_PREFIX);
        let items = self.query_all(query).await?;
        let webhooks = items.iter().map(webhook_item::id);
        let mut webhooks = webhooks.collect::<Result<Vec<_>>>()?;
        webhooks.extend(self.last_deleted(tenant).await?);
        // One that was deleted may have been imported again.
        webhooks.sort_unstable();
        webhooks.dedup();
        let hours = webhooks
            .into_iter()
            .map(|webhook| self.hours(tenant, webhook, from, to));
        let hours: Vec<_> = stream::iter(hours).buffered(AT_ONCE).try_collect().await?;
        Ok(hours.concat())
    }
}

impl DynamoStore {
    /// The youngest of the webhooks that were deleted while their counters are kept.
    async fn last_deleted(&self, tenant: &TenantId) -> Result<Vec<WebhookId>> {
        let query = Query {
            order: Order::Descending,
            limit: Some(MAX_DELETED),
            ..Query::prefix(Table::Configs, tenant.as_str(), DELETED_PREFIX)
        };
        let id = |item: &Item| {
            let key = Key::of(item)?;
            let id = key.sk.strip_prefix(DELETED_PREFIX);
            let id = id.and_then(|id| id.parse().ok());
            id.ok_or_else(|| unreadable("a deleted webhook"))
        };
        self.query(query).await?.items.iter().map(id).collect()
    }
}

/// Remembers a deleted webhook for as long as its counters are kept.
pub(super) fn remembered(tenant: &TenantId, webhook: WebhookId, now: Timestamp) -> Step {
    let mut item = Key::deleted_webhook(tenant, webhook).item();
    item.insert("expires_at".to_owned(), seconds(now.plus(KEPT_FOR)));
    Step::Put(Table::Configs, item, None)
}

fn counters(stats: &HourlyStats) -> Vec<(String, u64)> {
    let plain = [
        ("delivered", stats.delivered),
        ("dead", stats.dead),
        ("attempts", stats.attempts),
        ("retried", stats.retried),
        ("retries", stats.retries),
        ("published", stats.published),
        ("bytes", stats.bytes),
    ];
    let plain = plain.map(|(name, count)| (name.to_owned(), count));
    let latency = stats.latency.iter().enumerate();
    let latency = latency.map(|(bucket, count)| (latency_name(bucket), *count));
    plain.into_iter().chain(latency).collect()
}

/// Each bucket is a separate attribute, because only attributes can be incremented without being read.
fn latency_name(bucket: usize) -> String {
    format!("latency_{bucket}")
}

fn read(item: &Item, webhook: WebhookId) -> Result<HourlyStats> {
    let key = Key::of(item)?;
    let hour = key.sk.strip_prefix(STATS_PREFIX);
    let hour = hour.and_then(|text| text.parse().ok());
    let hour = Timestamp::from_millis(hour.ok_or_else(|| unreadable("an hour's key"))?);
    let count = |name: &str| match item.get(name).map(|value| value.as_n()) {
        None => Ok(0),
        Some(Ok(text)) => text.parse().map_err(|_| unreadable(name)),
        Some(Err(_)) => Err(unreadable(name)),
    };
    let mut stats = HourlyStats::empty(webhook, hour);
    stats.delivered = count("delivered")?;
    stats.dead = count("dead")?;
    stats.attempts = count("attempts")?;
    stats.retried = count("retried")?;
    stats.retries = count("retries")?;
    stats.published = count("published")?;
    stats.bytes = count("bytes")?;
    for (bucket, latency) in stats.latency.iter_mut().enumerate() {
        *latency = count(&latency_name(bucket))?;
    }
    Ok(stats)
}
