//! Hourly counters: one item per webhook and hour, incremented by the publisher.

use futures_util::{StreamExt, TryStreamExt, stream};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::stats::KEPT_FOR;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::HourlyStats;

use super::calls::{Change, Condition, Order, Query, Table};
use super::item::{Item, n, s, seconds};
use super::keys::{Key, STATS_PREFIX, WEBHOOK_PREFIX};
use super::{DynamoStore, webhook_item};
use crate::fault::{self, readable, unreadable};

/// How many webhooks are read concurrently.
const AT_ONCE: usize = 16;

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

    /// The counters of all webhooks that the tenant has; those of deleted webhooks can only be read by id.
    pub(super) async fn hours_of_all(
        &self,
        tenant: &TenantId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        let query = Query::prefix(Table::Configs, tenant.as_str(), WEBHOOK_PREFIX);
        let items = self.query_all(query).await?;
        let webhooks = items.iter().map(webhook_item::id);
        let webhooks = webhooks.collect::<Result<Vec<_>>>()?;
        let hours = webhooks
            .into_iter()
            .map(|webhook| self.hours(tenant, webhook, from, to));
        let hours: Vec<_> = stream::iter(hours).buffered(AT_ONCE).try_collect().await?;
        Ok(hours.concat())
    }
}

fn counters(stats: &HourlyStats) -> Vec<(String, u64)> {
    let plain = [
        ("delivered", stats.delivered),
        ("dead", stats.dead),
        ("attempts", stats.attempts),
        ("retried", stats.retried),
        ("retries", stats.retries),
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
    for (bucket, latency) in stats.latency.iter_mut().enumerate() {
        *latency = count(&latency_name(bucket))?;
    }
    Ok(stats)
}
