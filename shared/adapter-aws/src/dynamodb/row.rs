//! The row of a delivery as an item.
//!
//! Every write of a row is billed by the size of the whole item, so it stays below 1 KB: the session is read back from
//! the index key, a signature is stored as bytes, and the details of an attempt are in a separate item. With a target
//! URL of more than about 120 characters, or more than about ten attempts, it may exceed that, and a write costs one
//! unit more.

use postrider_domain::delivery::{DeadCause, Delivery, LeaseOwner, Status};
use postrider_domain::event::Label;
use postrider_domain::flow::AttemptKind;
use postrider_domain::pattern::EventType;
use postrider_domain::retention::Retention;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::calls::{Change, Condition, Table};
use super::item::{Item, from_item, n, s, to_item};
use super::keys::{self, Key};
use super::signature::Signature;
use crate::fault::unreadable;

/// The length of the event's body, on the first of its rows.
pub(super) const PUBLISHED_BYTES: &str = "bytes";

/// The attributes that may change. The only list index key among them is `trouble`.
const CHANGING: [&str; 19] = [
    "target_url",
    "signature",
    "status",
    "dead_cause",
    "attempt_count",
    "attempts_total",
    "last_attempted_at",
    "next_retry_at",
    "error_detail",
    "last_status",
    "generation",
    "version",
    "lease_owner",
    "lease_until",
    "lane",
    "trouble",
    "expires_at",
    "changed_at",
    "max_attempts",
];

#[derive(Serialize, Deserialize)]
struct Stored {
    pk: String,
    sk: String,
    event_type: EventType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent: Option<Label>,
    // An empty text is left out: it carries no information, and older emulators reject it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    target_url: String,
    #[serde(default, skip_serializing_if = "Signature::is_empty")]
    signature: Signature,
    status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dead_cause: Option<DeadCause>,
    attempt_count: u32,
    attempts_total: u32,
    max_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_attempted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_retry_at: Option<Timestamp>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_status: Option<u16>,
    generation: u32,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_owner: Option<String>,
    // Always present: without it a row could never be claimed.
    lease_until: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    recent: String,
    by_webhook: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by_session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    expires_at: i64,
    changed_at: Timestamp,
}

/// The context for writing a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    pub(super) retention: Retention,
    pub(super) now: Timestamp,
}

/// The complete item, for a put.
pub(super) fn item(row: &Delivery, around: Surroundings) -> Result<Item> {
    let key = Key::delivery(&row.tenant, row.id);
    let shard = keys::shard_of(row.id);
    let (tenant, webhook) = (&row.tenant, row.id.webhook);
    let session = row.session_id.as_ref();
    to_item(&Stored {
        pk: key.pk,
        sk: key.sk,
        event_type: row.event_type.clone(),
        intent: row.intent.clone(),
        target_url: row.target_url.clone(),
        signature: Signature(row.signature.clone()),
        status: row.status,
        dead_cause: row.dead_cause,
        attempt_count: row.attempt_count,
        attempts_total: row.attempts_total,
        max_attempts: row.max_attempts,
        last_attempted_at: row.last_attempted_at,
        next_retry_at: row.next_retry_at,
        created_at: row.created_at,
        error_detail: row.error_detail.clone(),
        last_status: row.last_status,
        generation: row.generation,
        version: row.version,
        lease_owner: row.lease_owner.as_ref().map(owner),
        lease_until: row.lease_until,
        lane: row
            .lane(around.now)
            .map(|lane| keys::lane(lane, webhook, AttemptKind::of(row), shard)),
        recent: keys::recent(tenant, shard),
        by_webhook: keys::by_webhook(tenant, webhook, shard),
        by_session: session.map(|session| keys::by_session(tenant, session, shard)),
        trouble: keys::trouble(tenant, row.status, shard),
        expires_at: around.retention.expires_at(row).as_seconds(),
        changed_at: around.now,
    })
}

/// The item of a row that is accepted: without a lane. Most rows are delivered at once, and would need it for nothing; the
/// watch gives one to those that stay open. Every other write of an open row sets its lane.
pub(super) fn accepted_item(row: &Delivery, around: Surroundings) -> Result<Item> {
    let mut item = item(row, around)?;
    item.remove("lane");
    Ok(item)
}

/// Replaces a stored row; the index of a list is touched only if `trouble` changes.
pub(super) fn replace(row: &Delivery, around: Surroundings) -> Result<Change> {
    let mut item = item(row, around)?;
    let change = Change::of(Table::Deliveries, Key::delivery(&row.tenant, row.id));
    Ok(CHANGING.into_iter().fold(change, |change, name| {
        change.set_or_remove(name, item.remove(name))
    }))
}

/// Reads an item, or the image in a stream record.
pub(super) fn delivery(item: Item) -> Result<Delivery> {
    let stored: Stored = from_item(item, "a row")?;
    let (tenant, id) = Key::new(stored.pk, stored.sk).as_delivery()?;
    let lease_owner = stored.lease_owner.as_deref();
    Ok(Delivery {
        id,
        tenant,
        event_type: stored.event_type,
        session_id: stored.by_session.as_deref().map(session).transpose()?,
        intent: stored.intent,
        target_url: stored.target_url,
        signature: stored.signature.0,
        status: stored.status,
        dead_cause: stored.dead_cause,
        attempt_count: stored.attempt_count,
        attempts_total: stored.attempts_total,
        max_attempts: stored.max_attempts,
        last_attempted_at: stored.last_attempted_at,
        next_retry_at: stored.next_retry_at,
        created_at: stored.created_at,
        error_detail: stored.error_detail,
        last_status: stored.last_status,
        generation: stored.generation,
        in_backlog: stored
            .lane
            .is_some_and(|lane| lane.starts_with(keys::BACKLOG_PREFIX)),
        version: stored.version,
        lease_owner: lease_owner.map(read_owner).transpose()?,
        lease_until: stored.lease_until,
    })
}

/// The owner of a lease as text.
pub(super) fn owner(owner: &LeaseOwner) -> String {
    format!("{}/{}", owner.process, owner.claim)
}

fn read_owner(text: &str) -> Result<LeaseOwner> {
    let parts = || {
        let (process, claim) = text.rsplit_once('/')?;
        Some(LeaseOwner {
            process: process.to_owned(),
            claim: claim.parse().ok()?,
        })
    };
    parts().ok_or_else(|| unreadable("lease_owner"))
}

/// The session in `<tenant>#<session>#<shard>`; a tenant's name contains no `#`.
fn session(by_session: &str) -> Result<Label> {
    let parts = || {
        let (_, rest) = by_session.split_once('#')?;
        let (session, _) = rest.rsplit_once('#')?;
        session.parse().ok()
    };
    parts().ok_or_else(|| unreadable("by_session"))
}

/// Holds if no other writer changed it since.
pub(super) fn unchanged(row: &Delivery) -> Condition {
    Condition::new("#version = :version").with("version", n(row.version))
}

/// Holds if it is as it was accepted.
pub(super) fn is_fresh(and: &str, now: Timestamp) -> Condition {
    Condition::new(&format!("#version = :accepted AND {and}"))
        .with("accepted", n(0))
        .with("now", n(now.as_millis()))
}

/// Holds if it is open, free at `now` and not in a backlog.
pub(super) fn is_free(and: &str, now: Timestamp) -> Condition {
    let elsewhere = "(attribute_not_exists(#lane) OR NOT begins_with(#lane, :backlog))";
    free_and(&format!("{elsewhere} AND {and}"), now)
}

/// Holds if it is open, free at `now` and in a backlog.
pub(super) fn is_free_in_backlog(and: &str, now: Timestamp) -> Condition {
    free_and(&format!("begins_with(#lane, :backlog) AND {and}"), now)
}

fn free_and(and: &str, now: Timestamp) -> Condition {
    // Strictly before: with `<=`, two owners could hold a row at once.
    let free = "#status IN (:pending, :failed) AND #lease_until < :now";
    Condition::new(&format!("{free} AND {and}"))
        .with("pending", s(Status::Pending.as_str()))
        .with("failed", s(Status::Failed.as_str()))
        .with("now", n(now.as_millis()))
        .with("backlog", s(keys::BACKLOG_PREFIX))
}
