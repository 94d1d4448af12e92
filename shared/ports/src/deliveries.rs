//! The life of a delivery: accept, claim, renew, apply.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Lease, Unclaimable};
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{DeliveryId, EventId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::queue::AttemptMessage;

/// An event and its planned rows.
#[derive(Clone, Debug)]
pub struct Acceptance {
    pub event: Arc<Event>,
    /// Distinguishes a repeated call from a different one under the same idempotency key.
    pub request_hash: RequestHash,
    /// One row per webhook, pending, free and due now.
    pub rows: Vec<Delivery>,
    /// The version of the tenant's webhooks that the plan is based on.
    pub config_version: u64,
    pub event_id: EventIdFrom,
}

/// Where the id of an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventIdFrom {
    /// A repeated call has the same key, and so the same id.
    Key,
    /// Random: a stored event with this id can only be the one of this call, whose first answer was lost.
    Chance,
}

/// The result of an acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accepted {
    /// Stored, with all its rows.
    New,
    /// The same request was accepted before.
    Duplicate {
        event: EventId,
        deliveries: Vec<DeliveryId>,
        /// Rows that an interrupted first call had not stored. They are stored now, but no queue message was sent for them.
        completed: Vec<AttemptMessage>,
    },
    /// A different request was accepted under this key.
    Conflict,
    /// The webhooks have changed; plan again.
    Outdated,
}

/// A claimed row with its event.
#[derive(Clone, Debug)]
pub struct ClaimedDelivery {
    pub claimed: Claimed,
    pub event: Arc<Event>,
}

/// A row to claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wanted {
    pub tenant: TenantId,
    pub id: DeliveryId,
    pub lease: Lease,
    pub seen: Seen,
}

/// What the caller of a claim knows already. Each fact saves a store with billed reads one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The generation of the webhook's state, if it has just been read and is active.
    pub generation: Option<u32>,
    pub row: SeenRow,
}

impl Wanted {
    /// Whether the caller expected a fresh row, and this one was written since it was accepted.
    #[must_use]
    pub fn is_written_since(&self, row: &Delivery) -> bool {
        let is_as_expected = row.is_fresh() || row.is_claimed_by(&self.lease.owner);
        self.seen.row == SeenRow::Accepted && !is_as_expected
    }
}

/// What the caller knows about the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeenRow {
    #[default]
    Read,
    /// Nothing but that it was accepted. It is claimed only if it is still [fresh](Delivery::is_fresh): another one may need
    /// credit.
    Accepted,
}

/// The result of a claim.
#[derive(Clone, Debug)]
pub enum Claim {
    /// The caller holds it until the lease ends.
    Claimed(Box<ClaimedDelivery>),
    /// It cannot be attempted now. `InBacklog` includes rows that the store moved there during this call, because their webhook is
    /// paused, failed or disabled.
    Unclaimable(Unclaimable),
    Missing,
    /// The caller expected a fresh row. It has to read the row before it claims it.
    NotFresh,
    /// Its webhook was deleted; the row is now dead.
    WebhookDeleted,
}

/// The result of an apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Applied {
    /// Written, by this call or by an earlier one whose response was lost.
    Done(Box<Delivery>),
    /// Another worker holds the row by now; nothing was written.
    Stale,
}

/// The result of renewing a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Renewed {
    /// The caller still holds the row.
    Held,
    /// Another worker holds the row by now.
    Lost,
}

/// Accepts events and takes their rows from acceptance to the end.
///
/// Batch methods return one result per item, in order; an error for one item says nothing about the others. Each item is
/// atomic. Concurrent callers are serialised per row: of any number of claimers of one row exactly one wins, and an
/// apply, renew or give-back counts only while `version` and owner are those of the claim.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Stores events with their rows. On `Ok(New)` everything is durable. A duplicate first completes what an interrupted
    /// call left undone. What a webhook's rows wait for is not looked at: the worker that finds one that may not go yet moves it to
    /// the backlog. SQLite stores an event with its rows in one transaction; DynamoDB writes the event first and then its rows,
    /// and only a repeated call completes an interrupted one. A plan is outdated if the version of its tenant is higher.
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>>;

    /// Claims rows by the rules of [`Delivery::claim`]. A claimed row carries the generation of its webhook's state at that
    /// time. On SQLite the lease of a dead process counts as free; on DynamoDB it has to run out.
    async fn claim(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>>;

    async fn renew(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed>;

    /// Undoes a claim whose row was not attempted, in one conditional write: the row is free and due as before, and nothing
    /// is counted. If another worker holds the row by now, nothing is written.
    async fn give_back(&self, claimed: &Claimed, now: Timestamp) -> Result<()>;

    /// Writes the result of an attempt. Idempotent by the claim's version. On SQLite one transaction writes the row, the
    /// attempt, the webhook's state, the stats and the notifications. On DynamoDB the row and the attempt are written now;
    /// the state, the stats and the notifications follow from the table's stream, at least once.
    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        now: Timestamp,
    ) -> Result<Applied>;
}
