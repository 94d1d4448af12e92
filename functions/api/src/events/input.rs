//! The body of a request to publish.

use std::fmt;

use bytes::Bytes;
use data_encoding::BASE64;
use postrider_api_types::event::NewEvent;
use postrider_api_types::json::present;
use postrider_domain::event::Origin;
use postrider_domain::invalid::Invalid;
use postrider_gateway::GatewayError;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::settings::MAX_BATCH_EVENTS;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::json;

/// Up to 100 events, 6 MB in total.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvents)]
pub(crate) struct Batch<'a> {
    /// Each one is accepted or rejected on its own.
    #[serde(borrow, deserialize_with = "bounded")]
    #[schema(value_type = Vec<NewEvent<'_>>, min_items = 1, max_items = 100)]
    pub(crate) events: Vec<&'a RawValue>,
}

/// One event or a batch.
pub(crate) enum Publication<'a> {
    One(NewEvent<'a>),
    Many(Batch<'a>),
}

impl<'a> Publication<'a> {
    /// Reads one event or a batch. One event is read once; a batch fails as an event at its first field.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Invalid> {
        #[derive(Deserialize)]
        struct Probe {
            #[serde(default, deserialize_with = "present")]
            events: Option<IgnoredAny>,
        }
        if let Ok(event) = json::try_parse(bytes) {
            return Ok(Self::One(event));
        }
        if let Ok(batch) = json::try_parse(bytes) {
            return Ok(Self::Many(batch));
        }
        let meant_many = json::try_parse::<Probe>(bytes).is_ok_and(|probe| probe.events.is_some());
        if meant_many {
            json::parse(bytes).map(Self::Many)
        } else {
            json::parse(bytes).map(Self::One)
        }
    }
}

impl PartialSchema for Publication<'_> {
    fn schema() -> RefOr<Schema> {
        let one_of = OneOfBuilder::new()
            .item(Ref::from_schema_name(NewEvent::name()))
            .item(Ref::from_schema_name(Batch::name()));
        Schema::from(one_of).into()
    }
}

impl ToSchema for Publication<'_> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((NewEvent::name().into(), NewEvent::schema()));
        NewEvent::schemas(schemas);
        schemas.push((Batch::name().into(), Batch::schema()));
    }
}

/// One event of a batch.
pub(crate) fn one_of_batch(
    event: &RawValue,
    max_payload: usize,
) -> Result<EventDraft, GatewayError> {
    draft(json::parse(event.get().as_bytes())?, max_payload)
}

/// The event as the gateway accepts it.
pub(crate) fn draft(input: NewEvent<'_>, max_payload: usize) -> Result<EventDraft, GatewayError> {
    let too_large = GatewayError::TooLarge { limit: max_payload };
    let (body, content_type) = match (input.payload, input.payload_base64) {
        (Some(raw), None) if raw.get().len() > max_payload => return Err(too_large),
        // Copied: a small event must not keep the whole request in memory until it is sent.
        (Some(raw), None) => (
            Bytes::copy_from_slice(raw.get().as_bytes()),
            "application/json",
        ),
        (None, Some(text)) if text.len() / 4 * 3 > max_payload.saturating_add(3) => {
            return Err(too_large);
        }
        (None, Some(text)) => (decode(&text)?, "application/octet-stream"),
        (None, None) => {
            let message = "is missing; set either `payload` or `payload_base64`";
            return Err(Invalid::field("payload", message).into());
        }
        (Some(_), Some(_)) => {
            let message = "set either `payload` or `payload_base64`, not both";
            return Err(Invalid::field("payload", message).into());
        }
    };
    Ok(EventDraft {
        event_type: input.event_type,
        body,
        content_type: input
            .content_type
            .unwrap_or_else(|| content_type.to_owned()),
        session_id: input.session_id,
        webhook_id: input.webhook_id,
        origin: Origin::Api,
    })
}

fn decode(text: &str) -> Result<Bytes, Invalid> {
    match BASE64.decode(text.as_bytes()) {
        Ok(bytes) => Ok(bytes.into()),
        Err(_) => Err(Invalid::field(
            "payload_base64",
            "must be standard base64 with padding",
        )),
    }
}

/// Stops at the first event too many instead of collecting events that will be rejected.
fn bounded<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Vec<&'a RawValue>, D::Error> {
    struct Events;
    impl<'de> Visitor<'de> for Events {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an array of 1 to {MAX_BATCH_EVENTS} events")
        }

        fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
            let mut events = Vec::new();
            while let Some(event) = seq.next_element()? {
                if events.len() == MAX_BATCH_EVENTS {
                    return Err(Error::invalid_length(MAX_BATCH_EVENTS + 1, &self));
                }
                events.push(event);
            }
            if events.is_empty() {
                return Err(Error::invalid_length(0, &self));
            }
            Ok(events)
        }
    }
    from.deserialize_seq(Events)
}
