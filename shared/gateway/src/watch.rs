//! The watch over fresh rows on AWS: gives those a lane that are still open when their first record arrives from the stream,
//! so that the poller finds them if their message was lost. It sends nothing itself.

use std::sync::Arc;

use postrider_domain::delivery::Delivery;
use postrider_domain::time::Millis;
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::watch::{AcceptedRow, Watch};

/// A row that is younger is probably being delivered.
const YOUNG: Millis = Millis::from_seconds(20);
/// One part in this many of a batch may be young without waiting for it.
const FEW: usize = 10;

pub struct Watcher {
    store: Arc<dyn Watch>,
    clock: Arc<dyn Clock>,
}

/// What a batch showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The rows that were accepted without a lane.
    pub rows: usize,
    /// Those of them that were given one.
    pub recovered: usize,
}

impl Watcher {
    #[must_use]
    pub fn new(store: Arc<dyn Watch>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Handles the rows of a batch of first records.
    ///
    /// # Errors
    /// If a row could not be read or written. Then the whole batch has to come again: a row is safe only when the watch has seen
    /// it closed or with a lane.
    pub async fn watch(&self, rows: Vec<AcceptedRow>) -> Result<Watched> {
        let count = rows.len();
        let open = self.store.open_without_lane(rows).await?;
        let open = self.wait_for_young(open, count).await?;
        let recovered = self.store.give_lanes(open, self.clock.now()).await?;
        Ok(Watched {
            rows: count,
            recovered,
        })
    }

    /// A busy shard fills its batches in seconds. Then many rows are open only because they were accepted just now, and a lane
    /// for each would cost more than it saves.
    async fn wait_for_young(&self, open: Vec<Delivery>, of: usize) -> Result<Vec<Delivery>> {
        let now = self.clock.now();
        let is_young = |row: &Delivery| row.created_at.plus(YOUNG) > now;
        let (young, mut open): (Vec<_>, Vec<_>) = open.into_iter().partition(is_young);
        let Some(youngest) = young.iter().map(|row| row.created_at).max() else {
            return Ok(open);
        };
        if young.len().saturating_mul(FEW) < of {
            open.extend(young);
            return Ok(open);
        }
        // The clock that dated the row may be ahead.
        let until = youngest.not_after(now).plus(YOUNG);
        self.clock.sleep_until(until).await;
        let young = young.into_iter().map(|row| AcceptedRow {
            tenant: row.tenant,
            id: row.id,
            created_at: row.created_at,
        });
        open.extend(self.store.open_without_lane(young.collect()).await?);
        Ok(open)
    }
}
