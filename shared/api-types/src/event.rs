//! Publishing events.

use std::borrow::Cow;

use postrider_domain::event::Event;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::delivery::{DeliveryView, shown, text};
use crate::json::present;
use crate::schema;
use crate::time::ApiTime;

/// One event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEvent<'a> {
    #[serde(rename = "type")]
    pub event_type: String,
    // Raw, so that it is delivered byte for byte; `null` is a payload.
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub payload: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_id: Option<String>,
}

/// The fields of an event other than its payload.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes fields that `NewEvent` reads")]
struct EventFields {
    /// A dotted name.
    #[schema(value_type = schema::EventType, example = "task.completed")]
    r#type: String,
    /// The content type of the payload: `application/json` for `payload`, `application/octet-stream` for
    /// `payload_base64` by default.
    #[schema(value_type = Option<schema::Label>)]
    content_type: Option<String>,
    /// The session it belongs to.
    #[schema(value_type = Option<schema::Label>)]
    session_id: Option<String>,
    /// The only webhook it goes to, whatever its subscriptions, if its filter matches.
    #[schema(value_type = Option<schema::WebhookId>)]
    webhook_id: Option<String>,
}

fn with_payload(name: &str, mut payload: Object, other: Option<(&str, Object)>) -> Schema {
    payload.description = Some(match name {
        "payload" => "Any JSON, delivered byte for byte as written here.".to_owned(),
        _ => "Any bytes in base64 with padding.".to_owned(),
    });
    let mut object = match EventFields::schema() {
        RefOr::T(Schema::Object(object)) => object,
        RefOr::T(_) | RefOr::Ref(_) => Object::new(),
    };
    object
        .properties
        .insert(name.to_owned(), Schema::from(payload).into());
    object
        .properties
        .extend(other.map(|(name, object)| (name.to_owned(), Schema::from(object).into())));
    object.required.push(name.to_owned());
    object.additional_properties = Some(Box::new(
        utoipa::openapi::schema::AdditionalProperties::FreeForm(false),
    ));
    object.into()
}

impl PartialSchema for NewEvent<'_> {
    /// Either `payload` or `payload_base64`.
    fn schema() -> RefOr<Schema> {
        let nothing = ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::Null))
            .build();
        let bytes = match schema::Base64::schema() {
            RefOr::T(Schema::Object(object)) => object,
            RefOr::T(_) | RefOr::Ref(_) => Object::new(),
        };
        let one_of = OneOfBuilder::new()
            .description(Some(
                "One event, with either `payload` or `payload_base64`.",
            ))
            .item(with_payload(
                "payload",
                schema::any_json(),
                Some(("payload_base64", nothing)),
            ))
            .item(with_payload("payload_base64", bytes, None));
        Schema::from(one_of).into()
    }
}

impl ToSchema for NewEvent<'_> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("NewEvent")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        EventFields::schemas(schemas);
    }
}

/// An accepted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventAnswer {
    #[schema(value_type = schema::EventId, example = "evt_abgkzo5adn36vn6vlk3u2gdxky")]
    pub id: String,
    /// Whether an earlier request with the same idempotency key and content already stored the event.
    #[serde(default)]
    #[schema(required)]
    pub duplicate: bool,
    /// One per webhook that gets the event; empty if none is subscribed.
    pub deliveries: Vec<DeliveryAnswer>,
}

/// A delivery of the event to a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryAnswer {
    #[schema(value_type = schema::DeliveryId)]
    pub id: String,
    #[schema(value_type = schema::WebhookId)]
    pub webhook_id: String,
}

/// A stored event with its payload and deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Event)]
pub struct EventDetail {
    #[schema(value_type = schema::EventId)]
    pub id: String,
    #[serde(rename = "type")]
    pub event_type: String,
    #[schema(required)]
    pub session_id: Option<String>,
    /// `api`, `test`, or the id of the source that received it.
    pub origin: String,
    pub content_type: String,
    /// The payload; `null` if it is not UTF-8, or larger than 512 KiB.
    #[schema(required)]
    pub payload: Option<String>,
    /// The payload in base64, if it is not UTF-8, or larger than 512 KiB.
    #[schema(required)]
    pub payload_base64: Option<String>,
    pub created_at: ApiTime,
    /// One per webhook that got the event; empty if none was subscribed.
    pub deliveries: Vec<DeliveryView>,
}

impl EventDetail {
    #[must_use]
    pub fn new(event: &Event, deliveries: Vec<DeliveryView>) -> Self {
        let (payload, payload_base64) = shown(&event.body);
        Self {
            id: event.id.to_string(),
            event_type: event.event_type.as_str().to_owned(),
            session_id: event.session_id.as_ref().map(text),
            origin: event.origin.to_string(),
            content_type: text(&event.content_type),
            payload,
            payload_base64,
            created_at: ApiTime(event.created_at),
            deliveries,
        }
    }
}

/// Which webhook gets a stored event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LateDelivery {
    #[schema(value_type = schema::WebhookId)]
    pub webhook_id: String,
}
