//! The feed: what was announced in the last day, for those who look at it live. The publisher writes one item for each
//! batch; an announcement's place is the item's millisecond and the place within it.
//!
//! Two publishers that write at the same moment may be read in either order, so that somebody who reads between them
//! misses one. Who must miss nothing subscribes to the topic.

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

/// How long the feed goes back.
const KEPT_FOR: Millis = Millis::from_seconds(86_400);
/// How many places an item has; more than it ever holds.
const PLACES: u64 = 1000;
/// How many announcements an item holds: some 300 KB of the 400 that one may have.
const PER_ITEM: usize = 200;
/// How many milliseconds are tried when the first ones are taken.
const TRIES: i64 = 500;
/// How many items are read at once.
const PER_READ: usize = 20;

#[derive(Serialize, Deserialize)]
struct Feed {
    events: Vec<Told>,
    expires_at: i64,
}

#[derive(Serialize, Deserialize)]
struct Told {
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
        let from = i64::try_from(seq / PLACES).unwrap_or(i64::MAX);
        let mut query = between(tenant, from);
        let mut announced = Vec::new();
        while announced.len() < limit {
            let found = self.query(query.clone()).await?;
            for item in found.items {
                announced.extend(read(item)?.into_iter().filter(|one| one.seq > seq));
            }
            match found.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        announced.truncate(limit);
        Ok(announced)
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
    /// Adds announcements to the tenant's feed, after everything that is there.
    pub(super) async fn tell(
        &self,
        tenant: &TenantId,
        notifications: &[&Notification],
        now: Timestamp,
    ) -> Result<()> {
        for chunk in notifications.chunks(PER_ITEM) {
            let events = chunk.iter().map(|notification| Told {
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

    /// Puts an item at the first millisecond that is free.
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
    // A colon comes after every digit.
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
    let first = ms.ok_or_else(|| unreadable("the key of a feed"))? * PLACES;
    let feed: Feed = from_item(item, "a feed")?;
    let told = (first..).zip(feed.events);
    let announced = told.map(|(seq, told)| StoredNotification {
        seq,
        kind: told.kind,
        event: told.event,
    });
    Ok(announced.collect())
}
