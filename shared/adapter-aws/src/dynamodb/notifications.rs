//! The feed: the notifications of the last day, for live views. The publisher writes one item per batch, and only while a
//! listener reads the tenant's feed. A notification's sequence number consists of the item's millisecond and the index
//! within the item. Where notifications are missing, the feed has a gap: a listener that reads it must not rely on the feed
//! for what came before.
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
use super::calls::{Change, Condition, Consistency, Order, Query, Table};
use super::item::{Item, from_item, instant, ms, n, s, seconds, to_item};
use super::keys::{FEED_PREFIX, Key};
use crate::fault::{self, unreadable};

/// How far back the feed goes.
const KEPT_FOR: Millis = Millis::from_seconds(86_400);
/// How many notifications a second all publishers together write to the feed of a tenant.
pub(super) const PER_SECOND: usize = 100;
/// How many sequence numbers an item spans; more than it ever holds.
const SEQS_PER_ITEM: u64 = 1000;
/// How many notifications an item holds: about 300 KB of the 400 KB limit.
const PER_ITEM: usize = 200;
/// How many milliseconds are tried when the first ones are taken. A failed try costs as much as a write.
const TRIES: i64 = 5;
/// How long after its last sign of life a listener counts. It gives one every 30 seconds.
const HEARD_FOR: Millis = Millis::from_seconds(60);
/// The kind of the entry that stands for missing notifications.
const GAP: &str = "gap";
/// How many items are read at once.
const PER_READ: usize = 20;

#[derive(Serialize, Deserialize)]
struct Feed {
    events: Vec<Entry>,
    expires_at: i64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    kind: String,
    event: String,
}

impl Entry {
    pub(super) fn of(notification: &Notification) -> Self {
        Self {
            kind: notification.kind.as_str().to_owned(),
            event: notification.to_cloud_event().to_string(),
        }
    }

    pub(super) fn gap() -> Self {
        Self {
            kind: GAP.to_owned(),
            event: "{}".to_owned(),
        }
    }
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

    async fn listening(&self, tenant: &TenantId, now: Timestamp) -> Result<()> {
        let expires_at = seconds(now.plus(KEPT_FOR));
        let is_heard = Condition::new("#at >= :since").with("since", ms(now.minus(HEARD_FOR)));
        let renewed = Change::of(Table::Deliveries, listening(tenant))
            .set("at", ms(now))
            .set("expires_at", expires_at.clone())
            .only_if(is_heard);
        if self.change(renewed).await?.is_some() {
            return Ok(());
        }
        let mut item = listening(tenant).item();
        item.extend([
            ("at".to_owned(), ms(now)),
            ("expires_at".to_owned(), expires_at),
        ]);
        self.put(Table::Deliveries, item, None).await?;
        // Nothing was written while there was no listener.
        self.add_to_feed(tenant, vec![Entry::gap()], now).await
    }
}

/// The item that says that a listener reads the tenant's feed.
fn listening(tenant: &TenantId) -> Key {
    Key::new(tenant.as_str(), "listening".to_owned())
}

impl DynamoStore {
    /// Whether a listener reads the tenant's feed.
    pub(super) async fn is_heard(&self, tenant: &TenantId, now: Timestamp) -> Result<bool> {
        // A listener that came a moment ago may be missed: it is told of a gap.
        let (eventual, key) = (Consistency::Eventual, listening(tenant));
        let found = self.get_with(eventual, Table::Deliveries, &key).await?;
        let at = found.and_then(|item| instant(&item, "at"));
        Ok(at.is_some_and(|at| at >= now.minus(HEARD_FOR)))
    }

    /// Reserves room for notifications in this second of the tenant's feed. Returns false if there is not enough left: its
    /// one partition also serves other requests of the tenant.
    pub(super) async fn reserve_in_feed(
        &self,
        tenant: &TenantId,
        count: usize,
        now: Timestamp,
    ) -> Result<bool> {
        let most = PER_SECOND.saturating_sub(count);
        let fits = Condition::new("attribute_not_exists(#reserved) OR #reserved <= :most")
            .with("most", n(most));
        let reserved = Change::of(Table::Deliveries, Key::feed_second(tenant, now))
            .add("reserved", n(count))
            .set("expires_at", seconds(now.plus(KEPT_FOR)))
            .only_if(fits);
        self.alter(reserved).await
    }

    /// Appends entries to the tenant's feed.
    pub(super) async fn add_to_feed(
        &self,
        tenant: &TenantId,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<()> {
        for chunk in entries.chunks(PER_ITEM) {
            let feed = to_item(&Feed {
                events: chunk.to_vec(),
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
