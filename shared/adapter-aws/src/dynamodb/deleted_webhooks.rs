//! Ending the open rows of a deleted webhook, walk by walk.

use std::collections::HashMap;

use postrider_domain::delivery::Delivery;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Table};
use super::chores::{Marker, Place};
use super::item::{Item, from_item, ms, s};
use super::keys::{self, Key};
use super::row;
use super::tables::Index;

/// How many rows one step of a walk reads.
const STEP: usize = 100;

/// How many steps one call takes at the most; the marker remembers where it ended. A webhook with very many closed rows
/// is walked in several calls.
const STEPS: usize = 100;

impl DynamoStore {
    /// Goes on with the walk through the rows of a deleted webhook and ends up to `limit` that are open and free.
    pub(super) async fn end_some_deliveries(
        &self,
        mut marker: Marker,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let mut ended = 0;
        for _ in 0..STEPS {
            if marker.progress.shard >= self.shards {
                self.end_walk(marker, now).await?;
                return Ok(ended);
            }
            let (rows, is_last) = self.rows_from(&marker).await?;
            for (place, row) in rows {
                if row.status.is_open() {
                    if ended == limit {
                        self.note(&marker).await?;
                        return Ok(ended);
                    }
                    let done = !row.is_held(now) && self.end_delivery(&row, now).await?;
                    ended += usize::from(done);
                    marker.progress.left |= !done;
                }
                marker.progress.after = Some(place);
            }
            if is_last {
                marker.progress.shard += 1;
                marker.progress.after = None;
            }
        }
        self.note(&marker).await?;
        Ok(ended)
    }

    /// The next rows of the walk, in the order of the index, and whether they are the last of their shard.
    async fn rows_from(&self, marker: &Marker) -> Result<(Vec<(Place, Delivery)>, bool)> {
        let of = keys::by_webhook(&marker.tenant, marker.webhook, marker.progress.shard);
        let found = self
            .query(Query {
                table: Table::Deliveries,
                index: Some(Index::ByWebhook),
                keys: Condition::new("#by_webhook = :of").with("of", s(&of)),
                order: Order::Ascending,
                limit: Some(STEP),
                after: marker.progress.after.as_ref().map(|place| end(place, &of)),
            })
            .await?;
        let is_last = found.next.is_none();
        let places = found.items.into_iter();
        let places = places.map(|entry| from_item::<Place>(entry, "an index"));
        let places = places.collect::<Result<Vec<_>>>()?;
        let key = |place: &Place| (Table::Deliveries, Key::new(&place.pk, &place.sk));
        let items = self.get_all(places.iter().map(key).collect()).await?;
        let mut rows = HashMap::with_capacity(items.len());
        for (_, item) in items {
            rows.insert(Key::of(&item)?, row::delivery(item)?);
        }
        let row = |place: Place| {
            let row = rows.remove(&Key::new(&place.pk, &place.sk))?;
            Some((place, row))
        };
        Ok((places.into_iter().filter_map(row).collect(), is_last))
    }

    /// Nothing left and nothing more to come: the work is done. Else it begins again.
    async fn end_walk(&self, mut marker: Marker, now: Timestamp) -> Result<()> {
        if marker.is_settled(now) && !marker.progress.left {
            return self.unmark(&marker).await;
        }
        marker.progress = marker.progress.again();
        self.note(&marker).await
    }
}

/// Where the index goes on.
fn end(place: &Place, by_webhook: &str) -> Item {
    let mut end = Key::new(&place.pk, &place.sk).item();
    end.insert("by_webhook".to_owned(), s(by_webhook));
    end.insert("created_at".to_owned(), ms(place.created_at));
    end
}
