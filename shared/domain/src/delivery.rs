//! The row of a delivery, its lifecycle, and the rules for claiming it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::decide::Transition;
use crate::event::Label;
use crate::ids::{DeliveryId, TenantId};
use crate::pattern::EventType;
use crate::time::{Millis, Timestamp};

/// How much of an error the row stores, in bytes.
pub const ERROR_DETAIL_BYTES: usize = 160;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not attempted since it was accepted or requeued.
    Pending,
    /// The last attempt failed and will be retried.
    Failed,
    Delivered,
    /// Given up. Only an operator can requeue it.
    Dead,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Failed, Self::Delivered, Self::Dead];

    /// The name in the API and in stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }

    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Failed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of pending, failed, delivered, dead")]
pub struct StatusError;

impl FromStr for Status {
    type Err = StatusError;

    fn from_str(text: &str) -> Result<Self, StatusError> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(StatusError)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a delivery is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadCause {
    /// Its attempts are used up; the webhook stays active.
    Exhausted,
    /// Its attempts are used up, and the policy fails the webhook as well.
    ExhaustedFailingWebhook,
    /// The policy treats the response as permanent.
    Rejected,
    /// The receiver answered 410 Gone; the webhook is disabled.
    Gone,
    /// The receiver answered `webhook-delivery: abort-message`.
    Aborted,
    /// The receiver answered `webhook-delivery: disable`; the webhook is disabled.
    Declined,
    /// Egress rules block the target.
    #[serde(rename = "refused")]
    Blocked,
    /// The webhook's template could not be rendered.
    Unrendered,
    /// It was still open at the end of its retention.
    Expired,
    WebhookDeleted,
    /// Its event was no longer stored.
    EventExpired,
    /// Its event was erased.
    Erased,
}

impl DeadCause {
    pub const ALL: [Self; 12] = [
        Self::Exhausted,
        Self::ExhaustedFailingWebhook,
        Self::Rejected,
        Self::Gone,
        Self::Aborted,
        Self::Declined,
        Self::Blocked,
        Self::Unrendered,
        Self::Expired,
        Self::WebhookDeleted,
        Self::EventExpired,
        Self::Erased,
    ];

    /// The name in notifications and in stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::ExhaustedFailingWebhook => "exhausted_failing_webhook",
            Self::Rejected => "rejected",
            Self::Gone => "gone",
            Self::Aborted => "aborted",
            Self::Declined => "declined",
            Self::Blocked => "refused",
            Self::Unrendered => "unrendered",
            Self::Expired => "expired",
            Self::WebhookDeleted => "webhook_deleted",
            Self::EventExpired => "event_expired",
            Self::Erased => "erased",
        }
    }
}

/// How far ahead a queue message can be sent: the longest delay of an SQS message.
pub const MESSAGE_REACH: Millis = Millis::from_seconds(900);

/// How an open row reaches a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// A queue message was sent for its `next_retry_at`.
    Queued,
    /// It is due further ahead than a queue message can be delayed; the poller will send one.
    Waiting,
    /// It is in the backlog of its webhook.
    Backlog,
}

/// The holder of a row: the process and a random number per claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// Identifies the process, so that the leases of a dead process can be recognised as void.
    pub process: String,
    pub claim: u64,
}

/// One event for one webhook: the row of `webhook_deliveries`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: DeliveryId,
    pub tenant: TenantId,
    pub event_type: EventType,
    pub session_id: Option<Label>,
    /// What the receiver should do with it.
    pub intent: Option<Label>,
    /// The URL of the last attempt, or the webhook's URL when the event was accepted.
    pub target_url: String,
    /// The `sha256=…` signature of the last attempt.
    pub signature: String,
    pub status: Status,
    pub dead_cause: Option<DeadCause>,
    /// Attempts since the delivery was created or requeued, including a successful one.
    pub attempt_count: u32,
    /// All attempts; the number of the last one.
    pub attempts_total: u32,
    /// The maximum number of attempts, fixed when the event is accepted.
    pub max_attempts: u32,
    pub last_attempted_at: Option<Timestamp>,
    /// When the next attempt is due; `None` once it is closed.
    pub next_retry_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// The error of the last attempt, with the start of the response.
    pub error_detail: Option<String>,
    /// The status code of the last attempt, if a status line arrived.
    pub last_status: Option<u16>,
    /// The generation of the webhook's state at the last claim, or the one that the last attempt saw.
    pub generation: u32,
    /// On AWS: it is in the backlog of its webhook, where only a drainer claims it. Embedded stores do not use it.
    pub in_backlog: bool,
    /// Incremented by each write; fences off late writes.
    pub version: u64,
    pub lease_owner: Option<LeaseOwner>,
    /// The end of the lease; zero if the row is free.
    pub lease_until: Timestamp,
}

/// A row as its claimer holds it. Only a claim can create one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Shared, because a claim is passed from the store to the attempt and back.
    delivery: Arc<Delivery>,
    owner: LeaseOwner,
    event_expires_at: Option<Timestamp>,
}

/// The lease that a claim asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub owner: LeaseOwner,
    pub until: Timestamp,
}

/// Why a row cannot be claimed. This is expected, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unclaimable {
    /// It is delivered or dead.
    Closed,
    NotDue(Timestamp),
    /// Another worker is attempting it.
    Held,
    /// It waits in the backlog of its webhook.
    InBacklog,
}

impl Delivery {
    /// Whether a worker holds it at `now`. It is free strictly after the last instant of the lease: with `<=` two workers
    /// could hold it at the same time.
    #[must_use]
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.lease_until >= now && self.lease_until != Timestamp::ZERO
    }

    /// Whether it is as it was accepted: never claimed, moved or requeued.
    #[must_use]
    pub const fn is_fresh(&self) -> bool {
        self.version == 0
    }

    /// Whether this owner was the last to claim it.
    #[must_use]
    pub fn is_claimed_by(&self, owner: &LeaseOwner) -> bool {
        self.lease_owner.as_ref() == Some(owner)
    }

    /// Claims the row. A claim that its own owner repeats succeeds.
    ///
    /// # Errors
    /// Returns the reason if it cannot be claimed.
    pub fn claim(self, lease: &Lease, now: Timestamp) -> Result<Claimed, Unclaimable> {
        if self.status.is_open() && self.in_backlog && !self.is_claimed_by(&lease.owner) {
            return Err(Unclaimable::InBacklog);
        }
        self.claim_from_backlog(lease, now)
    }

    /// Claims the row for the process that drains its webhook's backlog.
    ///
    /// # Errors
    /// Returns the reason if it cannot be claimed.
    pub fn claim_from_backlog(
        mut self,
        lease: &Lease,
        now: Timestamp,
    ) -> Result<Claimed, Unclaimable> {
        if !self.status.is_open() {
            return Err(Unclaimable::Closed);
        }
        if self.is_claimed_by(&lease.owner) {
            return Ok(Claimed {
                owner: lease.owner.clone(),
                delivery: Arc::new(self),
                event_expires_at: None,
            });
        }
        if self.is_held(now) {
            return Err(Unclaimable::Held);
        }
        match self.next_retry_at {
            Some(due_at) if due_at > now => Err(Unclaimable::NotDue(due_at)),
            _ => {
                self.lease_owner = Some(lease.owner.clone());
                self.lease_until = lease.until;
                self.version += 1;
                Ok(Claimed {
                    delivery: Arc::new(self),
                    owner: lease.owner.clone(),
                    event_expires_at: None,
                })
            }
        }
    }

    /// How it reaches a worker, as of `now`; `None` if it is closed.
    #[must_use]
    pub fn lane(&self, now: Timestamp) -> Option<Lane> {
        if !self.status.is_open() {
            return None;
        }
        let due_at = self.next_retry_at.unwrap_or(self.created_at);
        Some(if self.in_backlog {
            Lane::Backlog
        } else if due_at > now.plus(MESSAGE_REACH) {
            Lane::Waiting
        } else {
            Lane::Queued
        })
    }

    /// Whether it is subject to its webhook's `retry_rate`: a retry, or a requeued delivery.
    #[must_use]
    pub const fn is_retry(&self) -> bool {
        self.attempts_total > 0
    }

    #[must_use]
    pub fn completed(&self, done: &Completion) -> Self {
        let mut after = self.clone();
        after.attempt_count = self.attempt_count.saturating_add(1);
        after.attempts_total = self.attempts_total.saturating_add(1);
        after.last_attempted_at = Some(done.attempt.at);
        after.target_url.clone_from(&done.target_url);
        after.signature.clone_from(&done.signature);
        after.generation = done.generation;
        after.error_detail = done.attempt.error_detail();
        after.last_status = done.attempt.status_code;
        match done.transition {
            Transition::Deliver => {
                after.status = Status::Delivered;
                after.next_retry_at = None;
            }
            Transition::Retry { next_retry_at } => {
                after.status = Status::Failed;
                after.next_retry_at = Some(next_retry_at);
            }
            Transition::Die { cause } => {
                after.status = Status::Dead;
                after.dead_cause = Some(cause);
                after.next_retry_at = None;
            }
        }
        after.released()
    }

    /// The row after its webhook was deleted.
    #[must_use]
    pub fn webhook_deleted(&self) -> Self {
        self.died(DeadCause::WebhookDeleted, "the webhook was deleted")
    }

    /// The row after its retention ended while it was still open.
    #[must_use]
    pub fn expired(&self) -> Self {
        self.died(DeadCause::Expired, "expired")
    }

    /// The row after its event was found to be gone: there is nothing left to send.
    #[must_use]
    pub fn event_expired(&self) -> Self {
        self.died(DeadCause::EventExpired, "the event is no longer stored")
    }

    /// The row after its event was erased: what it says about the event's content and the receiver's responses is gone. An
    /// open row is dead.
    #[must_use]
    pub fn erased(&self) -> Self {
        let ended = if self.status.is_open() {
            self.died(DeadCause::Erased, "")
        } else {
            self.clone().released()
        };
        // A template may have put a part of the payload there.
        let target_url = self.target_url.split('?').next();
        Self {
            session_id: None,
            intent: None,
            target_url: target_url.unwrap_or_default().to_owned(),
            signature: String::new(),
            error_detail: None,
            ..ended
        }
    }

    /// Whether [`Delivery::erased`] has nothing left to remove.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        let Self {
            session_id,
            intent,
            target_url,
            signature,
            error_detail,
            ..
        } = self;
        !self.status.is_open()
            && session_id.is_none()
            && intent.is_none()
            && !target_url.contains('?')
            && signature.is_empty()
            && error_detail.is_none()
    }

    fn died(&self, cause: DeadCause, detail: &str) -> Self {
        let mut after = self.clone();
        after.status = Status::Dead;
        after.dead_cause = Some(cause);
        after.next_retry_at = None;
        after.error_detail = Some(detail.to_owned());
        after.last_status = None;
        after.released()
    }

    /// The row requeued by an operator: like a new one and due now, but its history stays and attempt numbers continue.
    #[must_use]
    pub fn requeued(&self, now: Timestamp) -> Self {
        let mut after = self.clone();
        after.status = Status::Pending;
        after.dead_cause = None;
        after.attempt_count = 0;
        after.next_retry_at = Some(now);
        after.error_detail = None;
        after.last_status = None;
        after.released()
    }

    /// The row after a claim without an attempt: free, and due as before.
    #[must_use]
    pub fn given_back(&self) -> Self {
        self.clone().released()
    }

    /// The row in the backlog of its webhook.
    #[must_use]
    pub fn moved_to_backlog(&self) -> Self {
        Self {
            in_backlog: true,
            ..self.clone()
        }
        .released()
    }

    fn released(mut self) -> Self {
        self.in_backlog &= self.status.is_open();
        self.lease_owner = None;
        self.lease_until = Timestamp::ZERO;
        self.version += 1;
        self
    }
}

impl Claimed {
    #[must_use]
    pub fn in_generation(mut self, generation: u32) -> Self {
        Arc::make_mut(&mut self.delivery).generation = generation;
        self
    }

    /// For stores whose events expire on their own: saves the writer of the result a read.
    #[must_use]
    pub const fn with_event_expiring(mut self, at: Timestamp) -> Self {
        self.event_expires_at = Some(at);
        self
    }

    /// When the event expired as of the claim, if the store says so.
    #[must_use]
    pub const fn event_expires_at(&self) -> Option<Timestamp> {
        self.event_expires_at
    }

    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    #[must_use]
    pub const fn owner(&self) -> &LeaseOwner {
        &self.owner
    }

    /// The version at the claim: fences writes and identifies the attempt.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.delivery.version
    }

    /// Whether the stored row is still the claimed one. If true, the two differ at most in the end of the lease: every other
    /// write increments the version.
    #[must_use]
    pub fn still_holds(&self, stored: &Delivery) -> bool {
        stored.version == self.delivery.version && stored.lease_owner.as_ref() == Some(&self.owner)
    }
}

/// The result of an attempt, applied in one conditional write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub attempt: Attempt,
    pub transition: Transition,
    pub target_url: String,
    pub signature: String,
    /// The generation of the webhook's state that the attempt saw.
    pub generation: u32,
}

/// Whether an operator may requeue a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    Allowed,
    InFlight,
    /// It was delivered; requeueing it needs `force`.
    Delivered,
    /// It is already pending.
    Pending,
}

/// Which rows an operator wants to requeue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// Dead and failed rows only.
    #[default]
    No,
    /// Delivered rows as well.
    Delivered,
}

impl Delivery {
    /// Whether *Retry now* may requeue this row.
    #[must_use]
    pub fn requeue(&self, force: Force, now: Timestamp) -> Requeue {
        match (self.status, force) {
            _ if self.status.is_open() && self.is_held(now) => Requeue::InFlight,
            (Status::Delivered, Force::No) => Requeue::Delivered,
            (Status::Pending, _) => Requeue::Pending,
            (Status::Failed | Status::Dead, _) | (Status::Delivered, Force::Delivered) => {
                Requeue::Allowed
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
