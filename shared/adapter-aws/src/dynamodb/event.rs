//! The event as an item: stored once with its plan; only its expiry changes later. Its body is on the item, or an object
//! that the item names.

use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use postrider_domain::event::{Event, Label, MAX_BODY_BYTES, Origin, RequestHash};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::pattern::EventType;
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::Acceptance;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::bodies::{BodyBucket, Object};
use super::calls::{Change, Condition, Table};
use super::deflated::{self, take_restored};
use super::item::{Item, from_item, s, seconds, to_item, value_of};
use super::keys::Key;
use super::plan::{self, Planned, StoredGroup};
use crate::fault::unreadable;

/// What fits into an item of 400 KB next to the plan for a thousand webhooks.
const MAX_BYTES_ON_ITEM: usize = 300 * 1024;

const BODY: &str = "body";
/// The key of the object that holds the body.
pub(super) const OBJECT: &str = "object";
/// When that object expires, in seconds.
pub(super) const OBJECT_EXPIRES_AT: &str = "object_expires_at";
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    erased_at: Option<Timestamp>,
}

/// Where a body is stored.
pub(super) enum StoredBody {
    OnItem(deflated::Stored),
    Object(Object),
}

/// A stored event with its plan.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Without its body, if that is an object.
    pub(super) about: Event,
    pub(super) object: Option<Object>,
    pub(super) request_hash: RequestHash,
    pub(super) plan: Vec<Planned>,
    pub(super) expires_at: Timestamp,
    /// It has no body any more.
    pub(super) erased_at: Option<Timestamp>,
}

/// The item of an accepted event.
pub(super) fn item(
    acceptance: &Acceptance,
    body: StoredBody,
    expires_at: Timestamp,
) -> Result<Item> {
    let event = &*acceptance.event;
    let mut item = to_item(&Stored {
        event_type: event.event_type.clone(),
        session_id: event.session_id.clone(),
        content_type: event.content_type.clone(),
        origin: event.origin,
        created_at: event.created_at,
        expires_at: expires_at.as_seconds(),
        plan: plan::store(plan::of(&acceptance.rows), event.session_id.as_ref()),
        erased_at: None,
    })?;
    item.extend(Key::event(&event.tenant, event.id).item());
    let hash = Blob::new(acceptance.request_hash.0);
    item.insert(HASH.to_owned(), AttributeValue::B(hash));
    match body {
        StoredBody::OnItem(body) => body.put(&mut item, BODY),
        StoredBody::Object(object) => {
            item.insert(OBJECT.to_owned(), s(object.key));
            item.insert(OBJECT_EXPIRES_AT.to_owned(), seconds(object.expires_at));
        }
    }
    Ok(item)
}

/// The item of an event that another gateway accepted.
pub(super) fn adopted_item(
    acceptance: &Acceptance,
    body: StoredBody,
    expires_at: Timestamp,
) -> Result<Item> {
    let mut item = item(acceptance, body, expires_at)?;
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
    let object = object(&item);
    let stored: Stored = from_item(item, "an event")?;
    let plan = plan::read(stored.plan, stored.session_id.as_ref());
    let about = Event {
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
        about,
        object,
        request_hash: RequestHash(hash.ok_or_else(|| unreadable(HASH))?),
        plan,
        expires_at: from_seconds(stored.expires_at),
        erased_at: stored.erased_at,
    })
}

/// Removes the content of an event. The hash of its request would confirm a guess of the body: this one is that of a source's
/// request, which a repeated one has as well, and no other request. Without a plan, a repeated request stores no rows.
pub(super) fn erasing(tenant: &TenantId, id: EventId, now: Timestamp) -> Result<Change> {
    let hash = Blob::new(RequestHash::of_id(id).0);
    let plan: Vec<StoredGroup> = Vec::new();
    let change = Change::of(Table::Deliveries, Key::event(tenant, id))
        .set("erased_at", value_of(&now)?)
        .set(HASH, AttributeValue::B(hash))
        .set("plan", value_of(&plan)?)
        .remove("session_id")
        .only_if(Condition::new("attribute_exists(#pk)"));
    let names = deflated::names(BODY).into_iter();
    Ok(names.fold(change, |change, name| change.remove(&name)))
}

/// Removes the key of an object that was deleted.
pub(super) fn without_object(tenant: &TenantId, id: EventId) -> Change {
    Change::of(Table::Deliveries, Key::event(tenant, id))
        .remove(OBJECT)
        .remove(OBJECT_EXPIRES_AT)
        .only_if(Condition::new("attribute_exists(#pk)"))
}

fn object(item: &Item) -> Option<Object> {
    let expires_at = item.get(OBJECT_EXPIRES_AT)?.as_n().ok()?;
    Some(Object {
        key: item.get(OBJECT)?.as_s().ok()?.clone(),
        expires_at: from_seconds(expires_at.parse().ok()?),
    })
}

const fn from_seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.saturating_mul(1000))
}

impl DynamoStore {
    /// Stores a body, unless it fits into the item of its event.
    pub(super) async fn store_body(&self, event: &Event, now: Timestamp) -> Result<StoredBody> {
        let stored = deflated::Stored::of(&event.body);
        if stored.len() <= MAX_BYTES_ON_ITEM {
            return Ok(StoredBody::OnItem(stored));
        }
        let object = self.bucket()?.store(event, stored, self.retention, now);
        Ok(StoredBody::Object(object.await?))
    }

    /// The event with its body; `None` if that is gone or was erased.
    pub(super) async fn with_body(&self, kept: Kept) -> Result<Option<Arc<Event>>> {
        let Kept {
            about,
            object,
            erased_at: None,
            ..
        } = kept
        else {
            return Ok(None);
        };
        let Some(object) = object else {
            return Ok(Some(Arc::new(about)));
        };
        let body = self.bucket()?.read(&object).await?;
        if body.is_none() {
            tracing::error!(event = "store.body_missing", event_id = %about.id, "the object with the body of an event is gone");
        }
        Ok(body.map(|body| Arc::new(Event { body, ..about })))
    }

    pub(super) fn bucket(&self) -> Result<&BodyBucket> {
        let bucket = self.bodies.as_ref();
        bucket.ok_or_else(|| Error::Broken("no bucket for large bodies is configured".to_owned()))
    }

    /// An event with its plan, strongly consistent. Its body may be elsewhere.
    pub(super) async fn kept(&self, tenant: &TenantId, id: EventId) -> Result<Option<Kept>> {
        let key = Key::event(tenant, id);
        let item = self.get(Table::Deliveries, &key).await?;
        item.map(|item| read(item, tenant, id)).transpose()
    }
}
