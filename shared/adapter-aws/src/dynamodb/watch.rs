//! Fresh rows: accepted without a lane, so that the many that are delivered at once cost no entry in the index of due rows.
//! Those that stay open get one from their first record in the stream, or from a sweep.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::flow::AttemptKind;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::history::{Cursor, Page};
use postrider_ports::limiters::Stored;
use postrider_ports::watch::{AcceptedRow, PeriodSweep, SweptRange, Watch};
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Consistency, Order, Query, Table};
use super::item::{Item, instant, ms, s};
use super::keys::{self, CHORES, DELIVERY_PREFIX, Key};
use super::row;
use super::stream::Record;
use super::tables::Index;
use crate::fault::{readable, readable_only, unreadable};

/// How many rows one call reads, and how many such calls run at the same time.
const READ_AT_ONCE: usize = 100;
const CALLS_AT_ONCE: usize = 8;
const LANE: &str = "lane";
/// The attribute and the sort key of the last sweep.
const SWEEP: &str = "sweep";

impl Record {
    /// The row that this record shows as it was accepted, unless it has a lane.
    pub fn accepted_without_lane(&self) -> Result<Option<AcceptedRow>> {
        let Some(image) = &self.after else {
            return Ok(None);
        };
        let key = Key::of(image)?;
        if !key.sk.starts_with(DELIVERY_PREFIX) || image.contains_key(LANE) {
            return Ok(None);
        }
        let is_fresh = image.get("version").and_then(|it| it.as_n().ok()) == Some(&"0".to_owned());
        let status = image.get("status").and_then(|it| it.as_s().ok());
        if !is_fresh || status.map(String::as_str) != Some(Status::Pending.as_str()) {
            return Ok(None);
        }
        let (tenant, id) = key.as_delivery()?;
        let created_at = instant(image, "created_at").ok_or_else(|| unreadable("created_at"))?;
        Ok(Some(AcceptedRow {
            tenant,
            id,
            created_at,
        }))
    }
}

#[async_trait]
impl Watch for DynamoStore {
    async fn open_without_lane(&self, rows: Vec<AcceptedRow>) -> Result<Vec<Delivery>> {
        let reads: Vec<_> = rows
            .chunks(READ_AT_ONCE)
            .map(|rows| self.unsettled(rows))
            .collect();
        let unsettled: Vec<AcceptedRow> = stream::iter(reads)
            .buffer_unordered(CALLS_AT_ONCE)
            .try_concat()
            .await?;
        let reads: Vec<_> = unsettled
            .chunks(READ_AT_ONCE)
            .map(|rows| self.read_open_without_lane(rows))
            .collect();
        stream::iter(reads)
            .buffer_unordered(CALLS_AT_ONCE)
            .try_concat()
            .await
    }

    async fn give_lanes(&self, rows: Vec<Delivery>, now: Timestamp) -> Result<usize> {
        let writes: Vec<_> = rows.iter().map(|row| self.give_lane(row, now)).collect();
        let writes = stream::iter(writes).buffer_unordered(READ_AT_ONCE.min(CALLS_AT_ONCE * 2));
        // Wait for all of them: those that succeed need not be repeated.
        let given: Vec<Result<bool>> = writes.collect().await;
        let mut count = 0;
        for given in given {
            count += usize::from(given?);
        }
        Ok(count)
    }

    async fn accepted_between(
        &self,
        range: &SweptRange,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<AcceptedRow>> {
        if range.from >= range.to {
            return Ok(Page {
                items: Vec::new(),
                next: None,
            });
        }
        let hash = keys::recent(&range.tenant, range.shard);
        let keys = Condition::new("#recent = :hash AND #created_at BETWEEN :from AND :last")
            .with("hash", s(&hash))
            .with("from", ms(range.from))
            .with("last", ms(range.to.minus(Millis::new(1))));
        let after = after.map(|cursor| start_after(cursor, &hash));
        let found = self
            .query(Query {
                table: Table::Deliveries,
                index: Some(Index::Recent),
                keys,
                order: Order::Ascending,
                limit: Some(limit),
                after: after.transpose()?,
            })
            .await?;
        Ok(Page {
            items: readable_only(found.items.iter().map(entry))?,
            next: found.next.as_ref().map(cursor).transpose()?,
        })
    }

    async fn sweep(&self) -> Result<Option<PeriodSweep>> {
        let item = self.get(Table::Deliveries, &sweep_key()).await?;
        let text = item.as_ref().and_then(|item| item.get(SWEEP)?.as_s().ok());
        let sweep = text.map(|text| serde_json::from_str(text));
        sweep.transpose().map_err(|_| unreadable("a sweep"))
    }

    async fn begin_sweep(&self, sweep: &PeriodSweep) -> Result<()> {
        self.put(Table::Deliveries, sweep_item(sweep)?, None)
            .await?;
        Ok(())
    }

    async fn store_sweep(&self, sweep: &PeriodSweep) -> Result<Stored> {
        let is_same = Condition::new("#sweep_id = :same").with("same", s(sweep_id(sweep)));
        let item = sweep_item(sweep)?;
        Ok(if self.put(Table::Deliveries, item, Some(is_same)).await? {
            Stored::Done
        } else {
            Stored::Outdated
        })
    }
}

impl DynamoStore {
    /// The rows for which an eventually consistent read does not show that the watch is done with them. A row that was closed
    /// or had a lane since it was accepted never becomes open without one, so even an outdated read proves it.
    async fn unsettled(&self, rows: &[AcceptedRow]) -> Result<Vec<AcceptedRow>> {
        let key_of = |row: &AcceptedRow| Key::delivery(&row.tenant, row.id);
        let keys: HashSet<Key> = rows.iter().map(key_of).collect();
        let wanted = keys.into_iter().map(|key| (Table::Deliveries, key));
        let found = self.get_all_with(Consistency::Eventual, wanted.collect());
        let mut settled = HashMap::new();
        for (_, item) in found.await? {
            let status = item.get("status").and_then(|it| it.as_s().ok());
            let status = status.and_then(|status| status.parse().ok());
            let is_closed = status.is_some_and(|status: Status| !status.is_open());
            if is_closed || item.contains_key(LANE) {
                settled.insert(Key::of(&item)?, instant(&item, "created_at"));
            }
        }
        let is_open = |row: &&AcceptedRow| settled.get(&key_of(row)) != Some(&Some(row.created_at));
        Ok(rows.iter().filter(is_open).cloned().collect())
    }

    async fn read_open_without_lane(&self, rows: &[AcceptedRow]) -> Result<Vec<Delivery>> {
        let accepted: HashMap<Key, Timestamp> = rows
            .iter()
            .map(|row| (Key::delivery(&row.tenant, row.id), row.created_at))
            .collect();
        let wanted = accepted.keys().cloned().map(|key| (Table::Deliveries, key));
        let mut open = Vec::new();
        for (_, item) in self.get_all(wanted.collect()).await? {
            let created_at = accepted.get(&Key::of(&item)?).copied();
            if item.contains_key(LANE) || instant(&item, "created_at") != created_at {
                continue;
            }
            let row = readable(row::delivery(item))?;
            open.extend(row.filter(|row| row.status.is_open()));
        }
        Ok(open)
    }

    async fn give_lane(&self, row: &Delivery, now: Timestamp) -> Result<bool> {
        let Some(lane) = row.lane(now) else {
            return Ok(false);
        };
        let shard = keys::shard_of(row.id);
        let lane = keys::lane(lane, row.id.webhook, AttemptKind::of(row), shard);
        let condition = "#status IN (:pending, :failed) AND attribute_not_exists(#lane) AND #created_at = :created_at";
        let condition = Condition::new(condition)
            .with("pending", s(Status::Pending.as_str()))
            .with("failed", s(Status::Failed.as_str()))
            .with("created_at", ms(row.created_at));
        let change = Change::of(Table::Deliveries, Key::delivery(&row.tenant, row.id));
        self.alter(change.set(LANE, s(lane)).only_if(condition))
            .await
    }
}

/// The end of a page, bound to its partition.
#[derive(Serialize, Deserialize)]
struct Position(String, String, String, Timestamp);

fn entry(item: &Item) -> Result<AcceptedRow> {
    let (tenant, id) = Key::of(item)?.as_delivery()?;
    let created_at = instant(item, "created_at").ok_or_else(|| unreadable("created_at"))?;
    Ok(AcceptedRow {
        tenant,
        id,
        created_at,
    })
}

fn cursor(end: &Item) -> Result<Cursor> {
    let Key { pk, sk } = Key::of(end)?;
    let hash = end.get(Index::Recent.hash()).and_then(|it| it.as_s().ok());
    let hash = hash.cloned().ok_or_else(|| unreadable("recent"))?;
    let created_at = instant(end, "created_at").ok_or_else(|| unreadable("created_at"))?;
    text(&Position(hash, pk, sk, created_at)).map(Cursor)
}

fn start_after(cursor: &Cursor, hash: &str) -> Result<Item> {
    let position = serde_json::from_str(&cursor.0).map_err(|_| Error::InvalidCursor)?;
    let Position(of, pk, sk, created_at) = position;
    if of != hash {
        return Err(Error::InvalidCursor);
    }
    let mut end = Key::new(pk, sk).item();
    end.insert(Index::Recent.hash().to_owned(), s(hash));
    end.insert(Index::Recent.range().to_owned(), ms(created_at));
    Ok(end)
}

fn sweep_item(sweep: &PeriodSweep) -> Result<Item> {
    let mut item = sweep_key().item();
    item.insert(SWEEP.to_owned(), s(text(sweep)?));
    item.insert("sweep_id".to_owned(), s(sweep_id(sweep)));
    Ok(item)
}

/// Tells sweeps apart, however far they have come.
fn sweep_id(sweep: &PeriodSweep) -> String {
    let [from, to, started_at] = [sweep.from, sweep.to, sweep.started_at].map(Timestamp::as_millis);
    format!("{from}/{to}/{started_at}")
}

fn sweep_key() -> Key {
    Key::new(CHORES, SWEEP)
}

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Broken(error.to_string()))
}
