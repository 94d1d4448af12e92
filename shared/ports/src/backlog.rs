//! Open rows in the order in which they are due, for the poller.

use async_trait::async_trait;
use postrider_domain::delivery::Lane;
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::Cursor;
use crate::queue::AttemptMessage;

/// A time range in one lane of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// From 0 to below [`Backlog::shards`].
    pub shard: u16,
    /// Rows in the backlog of a webhook are in none of these lanes.
    pub lane: Lane,
    /// Inclusive.
    pub from: Timestamp,
    /// Exclusive.
    pub to: Timestamp,
}

/// A page of a time range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// The most overdue first.
    pub messages: Vec<AttemptMessage>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
}

/// Finds open rows of all tenants by due time. Read-only. It may lag behind and may return a row that is being attempted:
/// the claim decides.
#[async_trait]
pub trait Backlog: Send + Sync {
    fn shards(&self) -> u16;

    /// Up to `limit` rows of a range, continuing after `after`.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`](crate::Error::InvalidCursor) for a cursor of another range.
    async fn rows_between(
        &self,
        stretch: Stretch,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows>;
}
