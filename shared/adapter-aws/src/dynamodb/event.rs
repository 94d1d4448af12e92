//! The event as an item: stored once with its plan; only its expiry changes later.

use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use postrider_domain::event::{Event, Label, MAX_BODY_BYTES, Origin, RequestHash};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::pattern::EventType;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::Acceptance;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Table};
use super::deflated::{self, take_restored};
use super::item::{Item, from_item, seconds, to_item};
use super::keys::Key;
use super::plan::{self, Planned, StoredGroup};
use crate::fault::unreadable;

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
    plan: Vec<StoredGroup>,
}

/// A stored event with its plan.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) event: Arc<Event>,
    pub(super) request_hash: RequestHash,
    pub(super) plan: Vec<Planned>,
    pub(super) expires_at: Timestamp,
}

/// The item of an accepted event.
pub(super) fn item(acceptance: &Acceptance, expires_at: Timestamp) -> Result<Item> {
    let event = &*acceptance.event;
    let mut item = to_item(&Stored {
        event_type: event.event_type.clone(),
        session_id: event.session_id.clone(),
        content_type: event.content_type.clone(),
        origin: event.origin,
        created_at: event.created_at,
        expires_at: expires_at.as_seconds(),
        plan: plan::store(plan::of(&acceptance.rows), event.session_id.as_ref()),
    })?;
    item.extend(Key::event(&event.tenant, event.id).item());
    let hash = Blob::new(acceptance.request_hash.0);
    item.insert(HASH.to_owned(), AttributeValue::B(hash));
    if !event.body.is_empty() {
        deflated::Stored::of(&event.body).put(&mut item, BODY);
    }
    Ok(item)
}

/// The item of an event that another gateway accepted.
pub(super) fn adopted_item(acceptance: &Acceptance, expires_at: Timestamp) -> Result<Item> {
    let mut item = item(acceptance, expires_at)?;
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

impl Kept {
    pub(super) fn deliveries(&self) -> usize {
        self.plan.iter().map(|group| group.webhooks.len()).sum()
    }
}

/// Reads an item, or the image in a stream record.
pub(super) fn read(mut item: Item, tenant: &TenantId, id: EventId) -> Result<Kept> {
    let body = take_restored(&mut item, BODY, MAX_BODY_BYTES)?;
    let hash = item.remove(HASH);
    let hash = hash.and_then(|hash| hash.as_b().ok()?.as_ref().try_into().ok());
    let stored: Stored = from_item(item, "an event")?;
    let plan = plan::read(stored.plan, stored.session_id.as_ref());
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
        plan,
        expires_at: Timestamp::from_millis(stored.expires_at.saturating_mul(1000)),
    })
}

impl DynamoStore {
    /// An event with its plan, strongly consistent.
    pub(super) async fn kept(&self, tenant: &TenantId, id: EventId) -> Result<Option<Kept>> {
        let key = Key::event(tenant, id);
        let item = self.get(Table::Deliveries, &key).await?;
        item.map(|item| read(item, tenant, id)).transpose()
    }
}
