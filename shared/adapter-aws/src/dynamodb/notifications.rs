//! The feed: the notifications of the last day, for live views. The publisher writes one item per batch; a
//! notification's sequence number consists of the item's millisecond and the index within the item.
//!
//! Two publishers that write at the same moment may be read in either order, so a client that reads between them misses
//! one. A client that must not miss any subscribes to the topic.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::notification::Notification;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::notifications::{Notifications, StoredNotification};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Table};
use super::item::{Item, from_item, s, to_item};
use super::keys::{FEED_PREFIX, Key};
use crate::fault::{self, unreadable};

/// How far back the feed goes.
const KEPT_FOR: Millis = Millis::from_seconds(86_400);
/// How many sequence numbers an item spans; more than it ever holds.
const SEQS_PER_ITEM: u64 = 1000;
/// How many notifications an item holds: about 300 KB of the 400 KB limit.
const PER_ITEM: usize = 200;
/// How many milliseconds are tried when the first ones are taken.
const TRIES: i64 = 500;
/// How many items are read at once.
const PER_READ: usize = 20;

#[derive(Serialize, Deserialize)]
struct Feed {
    events: Vec<Entry>,
    expires_at: i64,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    kind: String,
    event: String,
}

#[async_trait]
impl Notifications for DynamoStore {
    async fn notifications_after(
        &self,
        tenant: &TenantId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredNotification>> {
        let from = i64::try_from(seq / SEQS_PER_ITEM).unwrap_or(i64::MAX);
        let mut query = between(tenant, from);
        let mut notifications = Vec::new();
        while notifications.len() < limit {
            let found = self.query(query.clone()).await?;
            for item in found.items {
                notifications.extend(read(item)?.into_iter().filter(|one| one.seq > seq));
            }
            match found.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        notifications.truncate(limit);
        Ok(notifications)
    }

    async fn newest_notification(&self, tenant: &TenantId) -> Result<u64> {
        let newest = Query {
            order: Order::Descending,
            limit: Some(1),
            ..between(tenant, 0)
        };
        let newest = self.query(newest).await?.items.pop();
        let newest = newest.map(read).transpose()?.unwrap_or_default();
        Ok(newest.last().map_or(0, |one| one.seq))
    }
}

impl DynamoStore {
    /// Appends notifications to the tenant's feed.
    pub(super) async fn add_to_feed(
        &self,
        tenant: &TenantId,
        notifications: &[&Notification],
        now: Timestamp,
    ) -> Result<()> {
        for chunk in notifications.chunks(PER_ITEM) {
            let events = chunk.iter().map(|notification| Entry {
                kind: notification.kind.as_str().to_owned(),
                event: notification.to_cloud_event().to_string(),
            });
            let feed = to_item(&Feed {
                events: events.collect(),
                expires_at: now.plus(KEPT_FOR).as_seconds(),
            })?;
            self.append(tenant, feed, now.as_millis()).await?;
        }
        Ok(())
    }

    /// Puts an item at the first free millisecond.
    async fn append(&self, tenant: &TenantId, feed: Item, from: i64) -> Result<()> {
        for ms in from..from.saturating_add(TRIES) {
            let mut item = feed.clone();
            item.extend(Key::feed(tenant, ms).item());
            let free = Condition::new("attribute_not_exists(#pk)");
            if self.put(Table::Deliveries, item, Some(free)).await? {
                return Ok(());
            }
        }
        Err(fault::contended("the feed"))
    }
}

/// The feed from this millisecond on.
fn between(tenant: &TenantId, from: i64) -> Query {
    let first = Key::feed(tenant, from);
    // A colon sorts after every digit.
    let keys = Condition::new("#pk = :pk AND #sk BETWEEN :first AND :last")
        .with("pk", s(first.pk))
        .with("first", s(first.sk))
        .with("last", s(format!("{FEED_PREFIX}:")));
    Query {
        table: Table::Deliveries,
        index: None,
        keys,
        order: Order::Ascending,
        limit: Some(PER_READ),
        after: None,
    }
}

fn read(item: Item) -> Result<Vec<StoredNotification>> {
    let key = Key::of(&item)?;
    let ms = key.sk.strip_prefix(FEED_PREFIX);
    let ms: Option<u64> = ms.and_then(|text| text.parse().ok());
    let first = ms.ok_or_else(|| unreadable("the key of a feed"))? * SEQS_PER_ITEM;
    let feed: Feed = from_item(item, "a feed")?;
    let entries = (first..).zip(feed.events);
    let notifications = entries.map(|(seq, entry)| StoredNotification {
        seq,
        kind: entry.kind,
        event: entry.event,
    });
    Ok(notifications.collect())
}
