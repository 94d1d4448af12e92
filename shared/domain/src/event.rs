//! One accepted thing: stored once, sent on byte for byte.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{EventId, TenantId, WebhookId};
use crate::pattern::EventType;
use crate::time::Timestamp;

/// The longest session id, intent and content type, in bytes.
pub const MAX_LABEL_BYTES: usize = 128;

/// A short printable text that may travel in a header: 1 to 128 visible ASCII characters or inner spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

impl Label {
    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that cannot be a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 printable ASCII characters without a space at either end")]
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

impl std::str::FromStr for Label {
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

/// Where an event came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Published through the API.
    Api,
    /// Made by the gateway itself when somebody tests a webhook.
    Test,
}

/// An event as it is stored. It never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Its owner.
    pub tenant: TenantId,
    /// What happened.
    pub event_type: EventType,
    /// The session it belongs to.
    pub session_id: Option<Label>,
    /// What the body is.
    pub content_type: Label,
    /// The body, as received.
    pub body: Bytes,
    /// Where it came from.
    pub origin: Origin,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// A digest of everything a caller said about an event; tells a repeated call from another one under the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHash(pub [u8; 32]);

impl Event {
    /// The digest of the request that made this event.
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
