//! Open rows in the order of their time, for whoever sends hints.

use async_trait::async_trait;
use postrider_domain::delivery::Lane;
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::Cursor;
use crate::queue::AttemptMessage;

/// A stretch of time in one lane of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Which shard, from 0 to before [`Backlog::shards`].
    pub shard: u16,
    /// Which lane; parked rows are in nobody's backlog.
    pub lane: Lane,
    /// Due at or after.
    pub from: Timestamp,
    /// Due before.
    pub to: Timestamp,
}

/// Part of a stretch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// What was found, the longest due first.
    pub messages: Vec<AttemptMessage>,
    /// Where to go on; none at the end.
    pub next: Option<Cursor>,
}

/// Finds open rows of every tenant by the time they are due. Reads only. It may lag behind, and it may name a row that
/// somebody attempts just now: what it returns are hints, and the claim decides.
#[async_trait]
pub trait Backlog: Send + Sync {
    /// Over how many shards rows are spread.
    fn shards(&self) -> u16;

    /// Up to `limit` rows of a stretch, from where `after` ended.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`](crate::Error::InvalidCursor) for a cursor of another stretch.
    async fn rows_between(
        &self,
        stretch: Stretch,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows>;
}
