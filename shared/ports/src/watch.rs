//! Fresh rows on AWS, which are accepted without an entry in the index of due rows.

use std::collections::BTreeMap;

use async_trait::async_trait;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::{Cursor, Page};
use crate::limiters::Stored;

/// A row as it was accepted. A later row with the same id has another time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedRow {
    pub tenant: TenantId,
    pub id: DeliveryId,
    pub created_at: Timestamp,
}

/// A time range of one shard of a tenant's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptRange {
    pub tenant: TenantId,
    /// From 0 to below [`Backlog::shards`](crate::backlog::Backlog::shards).
    pub shard: u16,
    /// Accepted at or after this time.
    pub from: Timestamp,
    /// Accepted before this time.
    pub to: Timestamp,
}

/// A sweep: which rows it looks at, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodSweep {
    pub from: Timestamp,
    pub to: Timestamp,
    pub started_at: Timestamp,
    /// `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The tenant being swept. Those before it, by name, are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The shards of this tenant that are left, and the position in each; `None` is its beginning.
    #[serde(default)]
    pub left: BTreeMap<u16, Option<Cursor>>,
    /// How many rows it has looked at.
    #[serde(default)]
    pub rows: u64,
    /// How many of them it gave a lane.
    #[serde(default)]
    pub recovered: u64,
}

/// Makes sure that the poller finds every open row. A row is accepted without a lane, every other write of an open row sets
/// one, and only closing a row removes it. So an open row has a lane, or the record of its acceptance has not been watched
/// yet.
#[async_trait]
pub trait Watch: Send + Sync {
    /// Those of these rows that are open and have no lane, strongly consistent. One that cannot be read is logged and left out.
    async fn open_without_lane(&self, rows: Vec<AcceptedRow>) -> Result<Vec<Delivery>>;

    /// Gives these rows a lane, from which the poller sends their messages, and returns how many got one. A row that was
    /// closed, got a lane or was accepted again since stays as it is. The version stays the same, so that a worker that
    /// holds the row can still write its result.
    async fn give_lanes(&self, rows: Vec<Delivery>, now: Timestamp) -> Result<usize>;

    /// A page of the rows that were accepted in a time range, oldest first. May lag behind.
    async fn accepted_between(
        &self,
        range: &SweptRange,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<AcceptedRow>>;

    /// The last sweep; `None` if there was none.
    async fn sweep(&self) -> Result<Option<PeriodSweep>>;

    /// Stores a sweep that begins, in place of any other.
    async fn begin_sweep(&self, sweep: &PeriodSweep) -> Result<()>;

    /// Stores how far a sweep has come, unless another one began meanwhile.
    async fn store_sweep(&self, sweep: &PeriodSweep) -> Result<Stored>;
}
