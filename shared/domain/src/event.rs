//! An accepted event: stored once, delivered byte for byte.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{EventId, IdError, SourceId, TenantId, WebhookId};
use crate::pattern::EventType;
use crate::time::Timestamp;

/// The largest body.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The longest session id, intent and content type, in bytes.
pub const MAX_LABEL_BYTES: usize = 128;

/// A short text that can be sent in a header: 1 to 128 visible ASCII characters or inner spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

impl Label {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 printable ASCII characters without leading or trailing spaces")]
pub struct LabelError;

impl TryFrom<String> for Label {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, LabelError> {
        let fits = (1..=MAX_LABEL_BYTES).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
            && text.trim() == text;
        if fits {
            Ok(Self(text))
        } else {
            Err(LabelError)
        }
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        Self::try_from(text.to_owned())
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

/// Where an event came from. Written as `api`, `test`, or the id of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Origin {
    Api,
    /// Created by the gateway when an operator sends a test event.
    Test,
    /// Received from a source and verified.
    Source(SourceId),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api => f.write_str("api"),
            Self::Test => f.write_str("test"),
            Self::Source(id) => id.fmt(f),
        }
    }
}

impl FromStr for Origin {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text {
            "api" => Ok(Self::Api),
            "test" => Ok(Self::Test),
            source => source.parse().map(Self::Source),
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

/// A stored event. It never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub tenant: TenantId,
    pub event_type: EventType,
    pub session_id: Option<Label>,
    pub content_type: Label,
    /// As received, byte for byte.
    pub body: Bytes,
    pub origin: Origin,
    pub created_at: Timestamp,
}

/// A digest of a publish request; distinguishes a repeated call from a different one with the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestHash(pub [u8; 32]);

impl RequestHash {
    /// The digest of a request that is identified by its id alone. A provider that repeats a delivery may serialise it
    /// again with another time or field order. A conflict would make it repeat forever, so the same id means the same
    /// event.
    #[must_use]
    pub fn of_id(event: EventId) -> Self {
        Self(Sha256::digest(event.as_bytes()).into())
    }
}

impl Event {
    /// The digest of the request that created this event.
    #[must_use]
    pub fn request_hash(&self, named: Option<WebhookId>) -> RequestHash {
        let mut hash = Sha256::new();
        let session = self.session_id.as_ref().map_or("", Label::as_str);
        let webhook = named.map(|id| *id.as_bytes()).unwrap_or_default();
        for part in [
            self.event_type.as_str().as_bytes(),
            session.as_bytes(),
            self.content_type.as_str().as_bytes(),
            &webhook,
            &self.body,
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        RequestHash(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_parsed_as_it_is_written() {
        let source = Origin::Source(SourceId::from_bytes([7; 16]));
        for origin in [Origin::Api, Origin::Test, source] {
            assert_eq!(origin.to_string().parse(), Ok(origin));
            let stored = serde_json::to_value(origin).unwrap();
            assert_eq!(stored, origin.to_string());
        }
        assert!("webhook".parse::<Origin>().is_err());
    }
}
