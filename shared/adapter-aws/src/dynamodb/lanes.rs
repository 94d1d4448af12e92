//! The rows of a webhook's backlog: two lanes of the index of due rows, because retries go first.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::backlog::Rows;
use postrider_ports::drains::{BacklogPart, BacklogSize, COUNTED_UP_TO, Postponed};
use postrider_ports::history::Cursor;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::backlog::{due_at, message};
use super::calls::{Change, Condition, Order, Query, Table};
use super::item::{Item, ms, n, s};
use super::keys::{self, Key};
use super::row;
use super::tables::Index;
use crate::fault::readable_only;

/// How many rows one call moves concurrently, and how many lanes it counts.
const AT_ONCE: usize = 16;
/// How many entries one read counts at most.
const COUNTED_AT_ONCE: usize = 2000;

/// The end of a page, bound to its lane.
#[derive(Serialize, Deserialize)]
struct Position(String, String, String, Timestamp);

impl DynamoStore {
    pub(super) async fn move_rows(&self, rows: Vec<Postponed>, now: Timestamp) -> Vec<Result<()>> {
        let moves: Vec<_> = rows.iter().map(|row| self.move_row(row, now)).collect();
        stream::iter(moves).buffered(AT_ONCE).collect().await
    }

    async fn move_row(&self, row: &Postponed, now: Timestamp) -> Result<()> {
        let unmoved =
            row::is_free("#next_retry_at = :seen", now).with("seen", ms(row.next_retry_at));
        let shard = keys::shard_of(row.id);
        let lane = keys::backlog(row.id.webhook, row.kind, shard);
        let change = Change::of(Table::Deliveries, Key::delivery(&row.tenant, row.id))
            .set("lane", s(lane))
            .set("changed_at", ms(now))
            .set("lease_until", n(0))
            .remove("lease_owner")
            .add("version", n(1));
        let moved = async {
            let needed_until = row.next_retry_at.plus(self.retention.dead);
            self.keep_event(&row.tenant, row.id.event, needed_until, None, now)
                .await?;
            self.change(change.only_if(unmoved)).await
        };
        match moved.await {
            Ok(_) => Ok(()),
            // The row is still in its lane of queued rows, and the poller finds it there. Thousands of messages that come
            // back would only make it worse.
            Err(error) if error.is_transient() => {
                tracing::warn!(event = "store.move_skipped", delivery_id = %row.id, %error, "a delivery was not moved to its backlog");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn rows_in(
        &self,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        let lane = keys::backlog(part.webhook, part.kind, part.shard);
        let after = after.map(|cursor| start_after(cursor, &lane)).transpose()?;
        let found = self
            .query(Query {
                limit: Some(limit),
                after,
                ..in_lane(&lane)
            })
            .await?;
        let next = found.next.as_ref().map(|end| cursor(end, &lane));
        Ok(Rows {
            messages: readable_only(found.items.iter().map(message))?,
            next: next.transpose()?,
        })
    }

    pub(super) async fn size_of(&self, webhook: WebhookId, now: Timestamp) -> Result<BacklogSize> {
        let lanes = [AttemptKind::First, AttemptKind::Retry]
            .into_iter()
            .flat_map(|kind| {
                (0..keys::SHARDS).map(move |shard| keys::backlog(webhook, kind, shard))
            });
        let sum = AtomicU64::new(0);
        let counts = lanes.map(|lane| self.count_due(lane, now, &sum));
        let mut counts = stream::iter(counts.collect::<Vec<_>>()).buffer_unordered(AT_ONCE);
        while let Some(counted) = counts.next().await {
            counted?;
        }
        Ok(BacklogSize::of(sum.load(Ordering::Relaxed)))
    }

    /// Adds what is due in one lane to the sum of all lanes, which ends the count when it is large enough.
    async fn count_due(&self, lane: String, now: Timestamp, sum: &AtomicU64) -> Result<()> {
        let due = Condition::new("#lane = :lane AND #next_retry_at <= :now");
        let mut query = Query {
            keys: due.with("lane", s(&lane)).with("now", ms(now)),
            limit: Some(COUNTED_AT_ONCE),
            ..in_lane(&lane)
        };
        while sum.load(Ordering::Relaxed) <= COUNTED_UP_TO {
            let (count, next) = self.count_page(query.clone()).await?;
            sum.fetch_add(count, Ordering::Relaxed);
            if next.is_none() {
                break;
            }
            query.after = next;
        }
        Ok(())
    }

    /// Whether a row that is written now goes to its webhook's backlog.
    pub(super) async fn is_limited(&self, tenant: &TenantId, webhook: WebhookId) -> Result<bool> {
        let flow = self.flow(tenant, webhook).await?;
        Ok(flow.is_some_and(|flow| flow.is_limited()))
    }
}

fn in_lane(lane: &str) -> Query {
    Query {
        table: Table::Deliveries,
        index: Some(Index::Due),
        keys: Condition::new("#lane = :lane").with("lane", s(lane)),
        order: Order::Ascending,
        limit: None,
        after: None,
    }
}

fn cursor(end: &Item, lane: &str) -> Result<Cursor> {
    let Key { pk, sk } = Key::of(end)?;
    let position = Position(lane.to_owned(), pk, sk, due_at(end)?);
    let text = serde_json::to_string(&position);
    text.map(Cursor)
        .map_err(|error| Error::Broken(error.to_string()))
}

fn start_after(cursor: &Cursor, lane: &str) -> Result<Item> {
    let position = serde_json::from_str(&cursor.0).map_err(|_| Error::InvalidCursor)?;
    let Position(of, pk, sk, due_at) = position;
    if of != lane {
        return Err(Error::InvalidCursor);
    }
    let mut end = Key::new(pk, sk).item();
    end.insert("lane".to_owned(), s(lane));
    end.insert("next_retry_at".to_owned(), ms(due_at));
    Ok(end)
}
