//! The row of a delivery, its lifecycle and the rules of claiming it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::decide::Transition;
use crate::event::Label;
use crate::ids::{DeliveryId, TenantId};
use crate::pattern::EventType;
use crate::time::{Millis, Timestamp};

/// How much of an error is kept on the row, in bytes.
pub const ERROR_DETAIL_BYTES: usize = 160;

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not attempted since it was accepted or put back.
    Pending,
    /// The last attempt failed; another one will follow.
    Failed,
    /// The receiver has it.
    Delivered,
    /// Given up. Stays so until a person says otherwise.
    Dead,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Failed, Self::Delivered, Self::Dead];

    /// The name used in API and stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }

    /// Whether attempts are still to come.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Failed)
    }
}

/// A text that is no status.
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
    /// Its attempts are used up; the webhook goes on.
    Exhausted,
    /// Its attempts are used up, and the webhook fails with it.
    ExhaustedFailingWebhook,
    /// The answer was final.
    Rejected,
    /// The receiver said 410: it wants no more, the webhook is disabled.
    Gone,
    /// The receiver said not to send it again.
    Aborted,
    /// The receiver said to send nothing any more; the webhook is disabled.
    Declined,
    /// Egress rules forbid where it would go.
    #[serde(rename = "refused")]
    Blocked,
    /// It was still open when its time to be kept ran out.
    Expired,
    /// Its webhook was deleted.
    WebhookDeleted,
}

impl DeadCause {
    /// Every cause.
    pub const ALL: [Self; 9] = [
        Self::Exhausted,
        Self::ExhaustedFailingWebhook,
        Self::Rejected,
        Self::Gone,
        Self::Aborted,
        Self::Declined,
        Self::Blocked,
        Self::Expired,
        Self::WebhookDeleted,
    ];

    /// The name used in events and stores.
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
            Self::Expired => "expired",
            Self::WebhookDeleted => "webhook_deleted",
        }
    }
}

/// How far ahead a hint can be sent: the longest delay of an SQS message.
pub const MESSAGE_REACH: Millis = Millis::from_seconds(900);

/// How an open row is brought to a dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// A hint was sent for its `next_retry_at`.
    Queued,
    /// It is due further ahead than a hint can be sent; the poller will send one.
    Waiting,
    /// It waits for its webhook to be resumed, or for a turn.
    Parked,
}

/// Who holds a row: the process, and the claim within it. Drawn anew for each claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// The process, so that a lease can be told void when its process is gone.
    pub process: String,
    /// The claim.
    pub claim: u64,
}

/// One event for one webhook: the row of `webhook_deliveries`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Event and webhook.
    pub id: DeliveryId,
    /// The owner.
    pub tenant: TenantId,
    /// What is delivered, by type.
    pub event_type: EventType,
    /// The session it belongs to.
    pub session_id: Option<Label>,
    /// What the receiver is meant to do with it.
    pub intent: Option<Label>,
    /// The URL last used, or the webhook's when it was accepted.
    pub target_url: String,
    /// The `sha256=…` signature last used.
    pub signature: String,
    /// Where it stands.
    pub status: Status,
    /// Why it is dead, if it is.
    pub dead_cause: Option<DeadCause>,
    /// Attempts since the last reset, the delivered one included.
    pub attempt_count: u32,
    /// Attempts ever; the number of the last one.
    pub attempts_total: u32,
    /// How many attempts it is given; fixed at accept.
    pub max_attempts: u32,
    /// When the last attempt began.
    pub last_attempted_at: Option<Timestamp>,
    /// When the next one is due; none when there is none.
    pub next_retry_at: Option<Timestamp>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// What went wrong last, with the start of the response.
    pub error_detail: Option<String>,
    /// The status code of the last attempt, if one arrived.
    pub last_status: Option<u16>,
    /// The generation of the webhook's state at its last claim, or that its last attempt saw.
    pub generation: u32,
    /// Its turn was already set by the webhook's pace; it does not ask again.
    pub paced: bool,
    /// It waits for its webhook to be resumed, or for a turn that its pace has yet to give.
    pub parked: bool,
    /// Raised by each write; what fences a late one off.
    pub version: u64,
    /// Who is attempting it.
    pub lease_owner: Option<LeaseOwner>,
    /// Until when; zero is free.
    pub lease_until: Timestamp,
}

/// A row as its claimer holds it. Only a claim can make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    delivery: Delivery,
    owner: LeaseOwner,
}

/// What a claim wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who claims.
    pub owner: LeaseOwner,
    /// Until when the row shall be held.
    pub until: Timestamp,
}

/// Why a row cannot be claimed. Expected, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unclaimable {
    /// Delivered or dead.
    Closed,
    /// Its time has not come.
    NotDue(Timestamp),
    /// Somebody else is attempting it.
    Held,
    /// It waits for its webhook to be resumed.
    Parked,
}

impl Delivery {
    /// Whether anybody holds it at `now`. Strictly after the lease's last instant it is free: with `<=` two could
    /// hold it at once.
    #[must_use]
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.lease_until >= now && self.lease_until != Timestamp::ZERO
    }

    /// The row as claimed. A claim repeated by its own owner has succeeded.
    ///
    /// # Errors
    /// Why not, when it cannot be claimed.
    pub fn claim(mut self, lease: &Lease, now: Timestamp) -> Result<Claimed, Unclaimable> {
        if !self.status.is_open() {
            return Err(Unclaimable::Closed);
        }
        if self.lease_owner.as_ref() == Some(&lease.owner) {
            return Ok(Claimed {
                owner: lease.owner.clone(),
                delivery: self,
            });
        }
        if self.parked {
            return Err(Unclaimable::Parked);
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
                    delivery: self,
                    owner: lease.owner.clone(),
                })
            }
        }
    }

    /// How it comes to a dispatcher, seen from `now`; none when it is closed.
    #[must_use]
    pub fn lane(&self, now: Timestamp) -> Option<Lane> {
        if !self.status.is_open() {
            return None;
        }
        let due_at = self.next_retry_at.unwrap_or(self.created_at);
        Some(if self.parked {
            Lane::Parked
        } else if due_at > now.plus(MESSAGE_REACH) {
            Lane::Waiting
        } else {
            Lane::Queued
        })
    }

    /// Whether it may only go out at its webhook's `retry_rate`: a retry, or what a person put back.
    #[must_use]
    pub const fn is_retry(&self) -> bool {
        self.attempts_total > 0
    }

    /// The row after its attempt.
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
        after.paced = false;
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

    /// The row given up without an attempt.
    #[must_use]
    pub fn died(&self, cause: DeadCause, detail: &str) -> Self {
        let mut after = self.clone();
        after.status = Status::Dead;
        after.dead_cause = Some(cause);
        after.next_retry_at = None;
        after.error_detail = Some(detail.to_owned());
        after.last_status = None;
        after.released()
    }

    /// The row put back by a person: as new, due now, but the history stays and attempt numbers go on.
    #[must_use]
    pub fn requeued(&self, now: Timestamp) -> Self {
        let mut after = self.clone();
        after.status = Status::Pending;
        after.dead_cause = None;
        after.attempt_count = 0;
        after.next_retry_at = Some(now);
        after.error_detail = None;
        after.last_status = None;
        after.paced = false;
        after.released()
    }

    /// The row moved to the turn that its webhook's pace gave it.
    #[must_use]
    pub fn moved(&self, to: Timestamp) -> Self {
        let mut after = self.clone();
        after.next_retry_at = Some(to);
        after.paced = true;
        after.released()
    }

    /// The row set aside until its webhook is resumed, or a turn is free.
    #[must_use]
    pub fn park(&self) -> Self {
        Self {
            parked: true,
            ..self.clone()
        }
        .released()
    }

    /// The row back among those that may be claimed, at the turn that its webhook's pace gave it.
    #[must_use]
    pub fn unpark_at(&self, turn: Timestamp) -> Self {
        let due_at = self.next_retry_at.unwrap_or(self.created_at);
        Self {
            next_retry_at: Some(due_at.max(turn)),
            paced: true,
            parked: false,
            ..self.clone()
        }
        .released()
    }

    /// The row back among those that may be claimed, due when it was due. A turn that it had is past.
    #[must_use]
    pub fn unpark(&self) -> Self {
        Self {
            parked: false,
            paced: false,
            ..self.clone()
        }
        .released()
    }

    fn released(mut self) -> Self {
        self.lease_owner = None;
        self.lease_until = Timestamp::ZERO;
        self.version += 1;
        self
    }
}

impl Claimed {
    /// The claim, made while the webhook's state had this generation.
    #[must_use]
    pub const fn in_generation(mut self, generation: u32) -> Self {
        self.delivery.generation = generation;
        self
    }

    /// The row.
    #[must_use]
    pub const fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Who holds it.
    #[must_use]
    pub const fn owner(&self) -> &LeaseOwner {
        &self.owner
    }

    /// The version at claim: the fence, and the id of the attempt.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.delivery.version
    }

    /// Whether the stored row is still the claimed one.
    #[must_use]
    pub fn still_holds(&self, stored: &Delivery) -> bool {
        self.is_still(stored.version, stored.lease_owner.as_ref())
    }

    /// The same, of a row of which only these are known. If so, the stored row is the claimed one but for how long it
    /// is held: every other write raises the version.
    #[must_use]
    pub fn is_still(&self, version: u64, owner: Option<&LeaseOwner>) -> bool {
        version == self.delivery.version && owner == Some(&self.owner)
    }
}

/// What an attempt came to, to be applied in one conditional write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// What happened.
    pub attempt: Attempt,
    /// What follows from it.
    pub transition: Transition,
    /// The URL used.
    pub target_url: String,
    /// The signature used.
    pub signature: String,
    /// The generation of the webhook's state that was seen.
    pub generation: u32,
}

/// Whether a person may put a row back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// It may go back.
    Allowed,
    /// It is being attempted right now.
    InFlight,
    /// It was delivered; only with `force`.
    Delivered,
    /// It is pending already: there is nothing to put back.
    Pending,
}

/// How insistent the person is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// Dead and failed rows only.
    #[default]
    No,
    /// Delivered rows too.
    Delivered,
}

impl Delivery {
    /// Whether *Retry now* may put this row back.
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
