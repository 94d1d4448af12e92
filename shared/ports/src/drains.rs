//! The backlogs of webhooks on AWS: what is due and may not go yet, and who drains it.
//!
//! A row that cannot go at once is written into the backlog of its webhook. Only the holder of the webhook's drain lease
//! attempts rows of a backlog. A registration says that a webhook may have a backlog; it exists before the first row of
//! the backlog does.

use std::collections::BTreeMap;

use async_trait::async_trait;
use postrider_domain::flow::{AttemptKind, Limiter};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::backlog::Rows;
use crate::deliveries::{Claim, Wanted};
use crate::history::{Cursor, Page};
use crate::limiters::{Stored, WebhookFlow};

/// How long a drain lease is valid.
const LEASE: Millis = Millis::from_seconds(60);
/// How far clocks may differ. A lease that was taken later than this from now was taken by a clock that ran ahead.
const CLOCK_SKEW: Millis = Millis::from_seconds(5);
/// A `drain` message that should have arrived this long ago may still be waiting in its queue.
const ARRIVES_WITHIN: Millis = Millis::from_seconds(60);
/// A `drain` message that arrives this soon need not be sent again.
const SOON: Millis = Millis::from_seconds(2);
/// How long after a registration a row may still be written into the backlog and appear in its index: a function runs for
/// up to a minute, and an index may lag by minutes.
const SETTLES_IN: Millis = Millis::from_seconds(600);
/// The size of a backlog is counted up to here.
pub const COUNTED_UP_TO: u64 = 10_000;

/// The right to drain one webhook's backlog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainLease {
    /// The process and a random number.
    pub owner: String,
    pub taken_at: Timestamp,
}

impl DrainLease {
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.taken_at >= now.minus(LEASE) && self.taken_at <= now.plus(CLOCK_SKEW)
    }

    /// The times of taking at which a stored lease is live.
    #[must_use]
    pub const fn live_between(now: Timestamp) -> (Timestamp, Timestamp) {
        (now.minus(LEASE), now.plus(CLOCK_SKEW))
    }
}

/// What is known about the draining of a webhook's backlog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainState {
    pub lease: Option<DrainLease>,
    /// When the last `drain` message was to arrive.
    pub asked_for: Option<Timestamp>,
    pub looked: Option<Looked>,
}

/// What a drainer found at its last look through the whole backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// When the look began.
    pub at: Timestamp,
    /// When the row that was due first was or will be due; `None` if there was no row.
    pub first_due_at: Option<Timestamp>,
}

impl DrainState {
    #[must_use]
    pub fn is_leased(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_live(now))
    }

    /// Whether to send a `drain` message for a row that has just been written: none is running or about to arrive.
    #[must_use]
    pub fn needs_message(&self, now: Timestamp) -> bool {
        !self.is_leased(now) && !self.is_expected(now, ARRIVES_WITHIN, SOON)
    }

    /// Whether a `drain` message is on its way that is at most this late, or arrives this soon.
    #[must_use]
    pub fn is_expected(&self, now: Timestamp, late: Millis, soon: Millis) -> bool {
        let expected = |at: Timestamp| at >= now.minus(late) && at <= now.plus(soon);
        self.asked_for.is_some_and(expected)
    }
}

/// A webhook that may have a backlog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    pub tenant: TenantId,
    pub webhook: WebhookId,
    pub touched_at: Timestamp,
}

impl Registration {
    /// Whether a look that began at this time sees everything that was written for this registration.
    #[must_use]
    pub fn is_settled(&self, looked_at: Timestamp) -> bool {
        // A registration of a clock that ran ahead is touched again before it is relied on.
        looked_at.since(self.touched_at) > SETTLES_IN
    }
}

/// A part of a webhook's backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogPart {
    pub webhook: WebhookId,
    pub kind: AttemptKind,
    /// From 0 to below [`Backlog::shards`](crate::backlog::Backlog::shards).
    pub shard: u16,
}

/// A due row to be moved to the backlog of its webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postponed {
    pub tenant: TenantId,
    pub id: DeliveryId,
    pub kind: AttemptKind,
    /// The `next_retry_at` that the caller saw; a different one means that the row was changed since.
    pub next_retry_at: Timestamp,
}

/// How many rows a backlog has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BacklogSize {
    Exactly(u64),
    MoreThan(u64),
}

impl BacklogSize {
    #[must_use]
    pub const fn of(counted: u64) -> Self {
        if counted > COUNTED_UP_TO {
            Self::MoreThan(COUNTED_UP_TO)
        } else {
            Self::Exactly(counted)
        }
    }

    /// As far as they are counted.
    #[must_use]
    pub const fn rows(self) -> u64 {
        match self {
            Self::Exactly(rows) | Self::MoreThan(rows) => rows,
        }
    }
}

/// How far a round through all registrations has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The shards that are left, and the position in each; `None` is its beginning.
    pub left: BTreeMap<u16, Option<Cursor>>,
    /// When the most overdue row was due that the round has seen so far.
    pub oldest_due_at: Option<Timestamp>,
}

/// How a drain ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainEnd {
    pub at: Timestamp,
    pub limiter: Limiter,
    /// The epoch of the limiter that the drainer knew.
    pub seen_epoch: u64,
    /// When the next `drain` message will arrive, if the drainer sends one.
    pub asked_for: Option<Timestamp>,
    pub looked: Option<Looked>,
}

/// Registers, reads and drains backlogs.
#[async_trait]
pub trait Drains: Send + Sync {
    /// Registers the backlog of a webhook, or renews its registration.
    async fn register_backlog(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<()>;

    /// Moves free open rows to the backlogs of their webhooks, which the caller has registered. Rows that are held or were
    /// changed since are left alone, and so are rows that the store is too busy to move: the poller finds them overdue.
    async fn move_to_backlog(&self, rows: Vec<Postponed>, now: Timestamp) -> Vec<Result<()>>;

    /// Notes that a `drain` message will be sent, to arrive at `at`, if `seen` is still what was last noted. Of any number
    /// of callers one is told to send it.
    async fn ask_for_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored>;

    /// Takes the drain lease; `None` if another process holds it or the webhook does not exist. The credit that other
    /// workers could take is gone.
    async fn take_drain_lease(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: DrainLease,
    ) -> Result<Option<WebhookFlow>>;

    /// Stores the limiter after a step, if the lease is still held and the limiter still in `seen_epoch`. A limiter that
    /// opens the webhook renews the registration first.
    async fn store_limiter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: Limiter,
    ) -> Result<Stored>;

    /// Gives the lease back, unless it was lost. The limiter is stored only if it is still in `seen_epoch`. Other workers
    /// start without credit.
    async fn end_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        end: DrainEnd,
    ) -> Result<()>;

    /// A page of a part of a backlog, due or not, the most overdue first. It may lag, and may contain rows that are being
    /// attempted: the claim decides.
    async fn backlog_rows(
        &self,
        tenant: &TenantId,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows>;

    /// Claims rows of backlogs, like [`Deliveries::claim`](crate::deliveries::Deliveries::claim). A row of a webhook that is
    /// not active is left as it is.
    async fn claim_from_backlog(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>>;

    /// A page of the registrations of one shard, of all tenants. One that cannot be read is left out.
    async fn registrations(
        &self,
        shard: u16,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Registration>>;

    async fn registration(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<Registration>>;

    /// Removes a registration, unless it was renewed since.
    async fn unregister_backlog(&self, registration: &Registration) -> Result<()>;

    /// The round that the last look did not finish; empty if it did.
    async fn round(&self) -> Result<Round>;

    async fn store_round(&self, round: &Round) -> Result<()>;

    /// How many rows of a webhook are due and not being attempted, counted up to [`COUNTED_UP_TO`]. It may lag, and on DynamoDB
    /// it includes rows that a drainer is attempting: a claim does not touch the index.
    async fn backlog_size(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<BacklogSize>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn after(seconds: u64) -> Timestamp {
        NOW.plus(Millis::from_seconds(seconds))
    }

    fn lease(taken_at: Timestamp) -> DrainLease {
        DrainLease {
            owner: "p/1".to_owned(),
            taken_at,
        }
    }

    #[test]
    fn a_lease_is_live_for_a_minute() {
        assert!(lease(NOW).is_live(NOW) && lease(NOW).is_live(after(60)));
        assert!(!lease(NOW).is_live(after(61)));
    }

    #[test]
    fn a_lease_of_a_clock_that_runs_ahead_is_void() {
        assert!(lease(after(5)).is_live(NOW));
        assert!(!lease(after(6)).is_live(NOW));
    }

    #[test]
    fn a_message_is_needed_unless_one_is_about_to_arrive() {
        let asked = |at| DrainState {
            asked_for: Some(at),
            ..DrainState::default()
        };
        assert!(DrainState::default().needs_message(NOW));
        assert!(!asked(NOW).needs_message(after(60)));
        assert!(asked(NOW).needs_message(after(61)));
        assert!(!asked(after(2)).needs_message(NOW));
        assert!(asked(after(600)).needs_message(NOW));
        let running = DrainState {
            lease: Some(lease(NOW)),
            ..DrainState::default()
        };
        assert!(!running.needs_message(after(1)));
    }
}
