//! Open rows by due time, one shard and lane at a time.

use async_trait::async_trait;
use postrider_domain::delivery::Lane;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::backlog::{Backlog, Rows, Stretch};
use postrider_ports::history::Cursor;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Table};
use super::item::{Item, ms, s};
use super::keys::{self, Key};
use super::tables::Index;
use crate::fault::{readable_only, unreadable};

#[async_trait]
impl Backlog for DynamoStore {
    fn shards(&self) -> u16 {
        keys::SHARDS
    }

    async fn rows_between(
        &self,
        stretch: Stretch,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        let nothing = stretch.lane == Lane::Backlog || stretch.from >= stretch.to || limit == 0;
        if nothing {
            return Ok(Rows {
                messages: Vec::new(),
                next: None,
            });
        }
        // Rows in the backlog of a webhook are read by its drainer.
        let no_webhook = WebhookId::from_bytes([0; 16]);
        let lane = keys::lane(stretch.lane, no_webhook, AttemptKind::First, stretch.shard);
        let after = after.map(|cursor| Position::read(cursor, &lane, stretch));
        let found = self
            .query(Query {
                table: Table::Deliveries,
                index: Some(Index::Due),
                keys: due_between(&lane, stretch.from, stretch.to),
                order: Order::Ascending,
                limit: Some(limit),
                after: after.transpose()?,
            })
            .await?;
        let position = |end: &Item| Position::cursor(end, &lane, stretch);
        Ok(Rows {
            messages: readable_only(found.items.iter().map(message))?,
            next: found.next.as_ref().map(position).transpose()?,
        })
    }
}

/// The rows of one lane that are due from `from` to before `to`.
pub(super) fn due_between(lane: &str, from: Timestamp, to: Timestamp) -> Condition {
    Condition::new("#lane = :lane AND #next_retry_at BETWEEN :from AND :last")
        .with("lane", s(lane))
        .with("from", ms(from))
        .with("last", ms(to.minus(Millis::new(1))))
}

/// The queue message for an index entry.
pub(super) fn message(entry: &Item) -> Result<AttemptMessage> {
    let (tenant, id) = Key::of(entry)?.as_delivery()?;
    Ok(AttemptMessage {
        tenant,
        id,
        next_retry_at: due_at(entry)?,
        fresh: false,
    })
}

pub(super) fn due_at(entry: &Item) -> Result<Timestamp> {
    let text = entry.get("next_retry_at").and_then(|due| due.as_n().ok());
    let ms = text.and_then(|text| text.parse().ok());
    ms.map(Timestamp::from_millis)
        .ok_or_else(|| unreadable("next_retry_at"))
}

/// The end of a page, bound to its lane and time range.
#[derive(Serialize, Deserialize)]
struct Position(String, Timestamp, Timestamp, String, String, Timestamp);

impl Position {
    fn cursor(end: &Item, lane: &str, stretch: Stretch) -> Result<Cursor> {
        let Key { pk, sk } = Key::of(end)?;
        let position = Self(
            lane.to_owned(),
            stretch.from,
            stretch.to,
            pk,
            sk,
            due_at(end)?,
        );
        let text = serde_json::to_string(&position);
        text.map(Cursor)
            .map_err(|error| Error::Broken(error.to_string()))
    }

    fn read(cursor: &Cursor, lane: &str, stretch: Stretch) -> Result<Item> {
        let position = serde_json::from_str(&cursor.0).map_err(|_| Error::InvalidCursor)?;
        let Self(of, from, to, pk, sk, due_at) = position;
        if of != lane || (from, to) != (stretch.from, stretch.to) {
            return Err(Error::InvalidCursor);
        }
        let mut end = Key::new(pk, sk).item();
        end.insert("lane".to_owned(), s(lane));
        end.insert("next_retry_at".to_owned(), ms(due_at));
        Ok(end)
    }
}
