//! The life of a delivery: accepted, claimed, renewed, applied.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Lease, Unclaimable};
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{DeliveryId, EventId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::queue::AttemptMessage;

/// An event and the rows it shall become, planned with the webhooks of `config_version`.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// What is accepted.
    pub event: Arc<Event>,
    /// Tells a repeated call from another one under the same key.
    pub request_hash: RequestHash,
    /// One row per webhook, pending, free and due now.
    pub rows: Vec<Delivery>,
    /// The version of the tenant's webhooks that the plan was made with.
    pub config_version: u64,
}

/// The result of an acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accepted {
    /// Stored, and all its rows with it.
    New,
    /// The same request was accepted before.
    Duplicate {
        /// The first one's event.
        event: EventId,
        /// The first one's rows.
        deliveries: Vec<DeliveryId>,
        /// Those of them that an interrupted first call had not stored; they are stored now, and nobody was told.
        completed: Vec<AttemptMessage>,
    },
    /// Another request was accepted under this key.
    Conflict,
    /// The webhooks have changed: plan again.
    Outdated,
}

/// A claimed row with what it carries.
#[derive(Clone, Debug)]
pub struct ClaimedDelivery {
    /// The row, held.
    pub claimed: Claimed,
    /// What is delivered.
    pub event: Arc<Event>,
}

/// A row that somebody wants to attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wanted {
    /// Whose it is.
    pub tenant: TenantId,
    /// Which row.
    pub id: DeliveryId,
    /// How it shall be held.
    pub lease: Lease,
}

/// What became of a claim.
#[derive(Clone, Debug)]
pub enum Claim {
    /// It is ours until the lease ends.
    Claimed(Box<ClaimedDelivery>),
    /// It cannot be attempted now. `Parked` also when the store parked it just now, because its webhook is paused,
    /// failed or disabled.
    Unclaimable(Unclaimable),
    /// There is no such row.
    Missing,
    /// Its webhook was deleted; the row is dead now.
    WebhookDeleted,
}

/// What became of an apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Applied {
    /// Written, with all that follows from it. Also when an earlier call wrote it and its answer was lost.
    Done(Box<Delivery>),
    /// Somebody else has the row by now; nothing was written.
    Stale,
}

/// Whether a lease could be prolonged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Renewed {
    /// It is still ours.
    Held,
    /// Somebody else has the row by now.
    Lost,
}

/// A row to be moved to the turn its webhook's pace gave it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Move {
    /// Whose it is.
    pub tenant: TenantId,
    /// Which row.
    pub id: DeliveryId,
    /// The `next_retry_at` it was seen with; another one means that somebody changed it.
    pub seen: Timestamp,
    /// Its turn.
    pub to: Timestamp,
}

/// Accepts events and moves their rows through their lives.
///
/// Batch verbs return one result per item, in order; one item's failure says nothing of the others. Each item is all
/// or nothing. Concurrent callers are serialised per row: of any number of claimers of one row exactly one wins, and
/// an apply or renew counts only while `version` and owner are those of the claim.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Stores events with their rows. On `Ok(New)` everything is durable. A duplicate completes what an interrupted
    /// first call left undone before it is reported. Rows of a paused, failed or disabled webhook are parked.
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>>;

    /// Claims rows by the rules of [`Delivery::claim`]; a lease whose process is gone counts as free. A claimed row carries
    /// the generation that its webhook's state had then.
    async fn claim(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>>;

    /// Prolongs a lease.
    async fn renew(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed>;

    /// Writes what an attempt came to: the row, the attempt's record, the webhook's health and counters and the
    /// announcements, all or none. Idempotent by the claim's version.
    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        now: Timestamp,
    ) -> Result<Applied>;

    /// Moves free open rows to their turns and marks them as paced. A row that is held or was changed since is left.
    async fn postpone(&self, moves: Vec<Move>, now: Timestamp) -> Result<()>;

    /// Parks free open rows of an active webhook whose turn would be too far ahead to be given now. They are
    /// [released](crate::interventions::Interventions::release) by and by. A row that is held or was changed since its
    /// hint is left.
    async fn set_aside(&self, rows: Vec<AttemptMessage>, now: Timestamp) -> Result<()>;
}
