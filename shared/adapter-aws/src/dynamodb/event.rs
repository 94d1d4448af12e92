//! The event as an item: stored once with its plan; only its expiry changes later.

use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, Label, Origin, RequestHash};
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::pattern::EventType;
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::Acceptance;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::item::{Item, from_item, n, seconds, to_item};
use super::keys::Key;
use crate::fault::unreadable;

/// How much longer an event is kept than a row that finished immediately. For a row attempted later than this after its
/// event, the event's expiry is [extended](DynamoStore::keep_event).
const LONGER: Millis = Millis::from_seconds(7 * 86_400);

const BODY: &str = "body";
const HASH: &str = "request_hash";
/// Marks an event that came from another gateway.
const ADOPTED: &str = "adopted";

#[derive(Serialize, Deserialize)]
struct Stored {
    event_type: EventType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<Label>,
    content_type: Label,
    origin: Origin,
    created_at: Timestamp,
    expires_at: i64,
    /// JSON: a list of [`Planned`], kept small because the body and the plan for a thousand webhooks must fit into one
    /// item.
    plan: String,
}

/// Rows of the plan that share these values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<Label>,
    pub(super) max_attempts: u32,
    pub(super) webhooks: Vec<WebhookId>,
}

/// A stored event with its plan.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) event: Arc<Event>,
    pub(super) request_hash: RequestHash,
    pub(super) plan: Vec<Planned>,
    pub(super) expires_at: i64,
}

/// The item of an accepted event.
pub(super) fn item(acceptance: &Acceptance, retention: Retention) -> Result<Item> {
    let event = &*acceptance.event;
    let plan = serde_json::to_string(&plan(&acceptance.rows));
    let mut item = to_item(&Stored {
        event_type: event.event_type.clone(),
        session_id: event.session_id.clone(),
        content_type: event.content_type.clone(),
        origin: event.origin,
        created_at: event.created_at,
        expires_at: kept_until(event.created_at, retention).as_seconds(),
        plan: plan.map_err(|error| Error::Broken(error.to_string()))?,
    })?;
    item.extend(Key::event(&event.tenant, event.id).item());
    let blob = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
    item.insert(HASH.to_owned(), blob(&acceptance.request_hash.0));
    if !event.body.is_empty() {
        item.insert(BODY.to_owned(), blob(&event.body));
    }
    Ok(item)
}

/// The item of an event that another gateway accepted. It is stored as long as one that is accepted now.
pub(super) fn adopted_item(
    acceptance: &Acceptance,
    retention: Retention,
    now: Timestamp,
) -> Result<Item> {
    let mut item = item(acceptance, retention)?;
    let expires_at = kept_until(now.max(acceptance.event.created_at), retention);
    item.insert("expires_at".to_owned(), seconds(expires_at));
    item.insert(ADOPTED.to_owned(), AttributeValue::Bool(true));
    Ok(item)
}

/// Whether another gateway accepted the event and notified about it.
pub(super) fn is_adopted(item: &Item) -> bool {
    item.contains_key(ADOPTED)
}

/// Holds if the event does not exist or has expired.
pub(super) fn absent(now: Timestamp) -> Condition {
    Condition::new("attribute_not_exists(#pk) OR #expires_at < :now").with("now", seconds(now))
}

/// The initial expiry of an event: later than that of its rows, unless they are attempted much later.
fn kept_until(created_at: Timestamp, retention: Retention) -> Timestamp {
    let longest = retention.dead.max(retention.delivered);
    created_at.plus(longest).plus(LONGER)
}

fn plan(rows: &[Delivery]) -> Vec<Planned> {
    let mut plan: Vec<Planned> = Vec::new();
    for row in rows {
        let alike = plan.iter_mut().find(|group| {
            group.max_attempts == row.max_attempts
                && group.intent == row.intent
                && group.session_id == row.session_id
        });
        match alike {
            Some(group) => group.webhooks.push(row.id.webhook),
            None => plan.push(Planned {
                session_id: row.session_id.clone(),
                intent: row.intent.clone(),
                max_attempts: row.max_attempts,
                webhooks: vec![row.id.webhook],
            }),
        }
    }
    plan
}

impl Kept {
    pub(super) fn deliveries(&self) -> usize {
        self.plan.iter().map(|group| group.webhooks.len()).sum()
    }
}

/// Reads an item, or the image in a stream record.
pub(super) fn read(mut item: Item, tenant: &TenantId, id: EventId) -> Result<Kept> {
    let bytes = |value: Option<AttributeValue>| match value {
        Some(AttributeValue::B(blob)) => Some(blob.into_inner()),
        Some(_) | None => None,
    };
    let body = bytes(item.remove(BODY)).unwrap_or_default();
    let hash = bytes(item.remove(HASH)).and_then(|hash| hash.try_into().ok());
    let stored: Stored = from_item(item, "an event")?;
    let event = Event {
        id,
        tenant: tenant.clone(),
        event_type: stored.event_type,
        session_id: stored.session_id,
        content_type: stored.content_type,
        body: Bytes::from(body),
        origin: stored.origin,
        created_at: stored.created_at,
    };
    Ok(Kept {
        event: Arc::new(event),
        request_hash: RequestHash(hash.ok_or_else(|| unreadable(HASH))?),
        plan: serde_json::from_str(&stored.plan).map_err(|_| unreadable("plan"))?,
        expires_at: stored.expires_at,
    })
}

impl DynamoStore {
    /// An event with its plan, strongly consistent.
    pub(super) async fn kept(&self, tenant: &TenantId, id: EventId) -> Result<Option<Kept>> {
        let key = Key::event(tenant, id);
        let item = self.get(Table::Deliveries, &key).await?;
        item.map(|item| read(item, tenant, id)).transpose()
    }

    /// Makes sure that an event outlives a row that expires at `row_expires_at`. Reads first, because a write is billed
    /// by the size of the body.
    pub(super) async fn keep_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        created_at: Timestamp,
        row_expires_at: Timestamp,
    ) -> Result<()> {
        if row_expires_at <= kept_until(created_at, self.retention) {
            return Ok(());
        }
        match self.kept(tenant, id).await? {
            Some(kept) if kept.expires_at < row_expires_at.as_seconds() => {
                let until = row_expires_at.plus(LONGER);
                let condition = Condition::new("attribute_exists(#pk) AND #expires_at < :until");
                let change = Change::of(Table::Deliveries, Key::event(tenant, id))
                    .set("expires_at", seconds(until))
                    .only_if(condition.with("until", n(until.as_seconds())));
                self.change(change).await?;
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }
}
