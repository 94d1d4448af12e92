//! Ends the open deliveries of a deleted webhook, walk by walk.

use std::collections::HashMap;

use postrider_domain::delivery::Delivery;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Table};
use super::chores::{Marker, Position};
use super::item::{Item, from_item, ms, s};
use super::keys::{self, Key};
use super::row;
use super::tables::Index;
use crate::fault::{readable, readable_only};

/// How many rows one step of a walk reads.
const STEP: usize = 100;

/// How many steps one call takes at most; the marker stores the position. A webhook with very many closed rows is
/// walked in several calls.
const STEPS: usize = 100;

impl DynamoStore {
    /// Continues the walk through the rows of a deleted webhook and ends up to `limit` that are open and free.
    pub(super) async fn end_some_deliveries(
        &self,
        mut marker: Marker,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let mut ended = 0;
        if !marker.progress.is_under_way(now) {
            return Ok(ended);
        }
        for _ in 0..STEPS {
            if marker.progress.shard >= keys::SHARDS {
                self.end_walk(marker, now).await?;
                return Ok(ended);
            }
            let (rows, next) = self.rows_from(&marker).await?;
            for (position, row) in rows {
                if row.status.is_open() {
                    if ended == limit {
                        self.note(&marker).await?;
                        return Ok(ended);
                    }
                    let done = !row.is_held(now) && self.end_delivery(&row, now).await?;
                    ended += usize::from(done);
                    marker.progress.left |= !done;
                }
                marker.progress.after = Some(position);
            }
            // Past rows that cannot be read, too: they would hold up the walk for ever.
            if next.is_none() {
                marker.progress.shard += 1;
            }
            marker.progress.after = next;
        }
        self.note(&marker).await?;
        Ok(ended)
    }

    /// The next rows of the walk in index order, as far as they can be read, and where those after them begin; `None` at the
    /// end of the shard.
    async fn rows_from(
        &self,
        marker: &Marker,
    ) -> Result<(Vec<(Position, Delivery)>, Option<Position>)> {
        let of = keys::by_webhook(&marker.tenant, marker.webhook, marker.progress.shard);
        let found = self
            .query(Query {
                table: Table::Deliveries,
                index: Some(Index::ByWebhook),
                keys: Condition::new("#by_webhook = :of").with("of", s(&of)),
                order: Order::Ascending,
                limit: Some(STEP),
                after: marker
                    .progress
                    .after
                    .as_ref()
                    .map(|position| end(position, &of)),
            })
            .await?;
        let position = |entry| from_item::<Position>(entry, "an index");
        let next = found.next.map(position).transpose()?;
        let positions = readable_only(found.items.into_iter().map(position))?;
        let key = |position: &Position| (Table::Deliveries, Key::new(&position.pk, &position.sk));
        let items = self.get_all(positions.iter().map(key).collect()).await?;
        let mut rows = HashMap::with_capacity(items.len());
        for (_, item) in items {
            let key = Key::of(&item)?;
            rows.extend(readable(row::delivery(item))?.map(|row| (key, row)));
        }
        let row = |position: Position| {
            let row = rows.remove(&Key::new(&position.pk, &position.sk))?;
            Some((position, row))
        };
        Ok((positions.into_iter().filter_map(row).collect(), next))
    }

    /// If nothing is left and nothing more can arrive, the work is done. Otherwise it starts over.
    async fn end_walk(&self, mut marker: Marker, now: Timestamp) -> Result<()> {
        if marker.progress.is_done() {
            return self.unmark(&marker).await;
        }
        marker.progress = marker.progress.again(now);
        self.note(&marker).await
    }
}

/// The exclusive start key for the index.
fn end(position: &Position, by_webhook: &str) -> Item {
    let mut end = Key::new(&position.pk, &position.sk).item();
    end.insert("by_webhook".to_owned(), s(by_webhook));
    end.insert("created_at".to_owned(), ms(position.created_at));
    end
}
