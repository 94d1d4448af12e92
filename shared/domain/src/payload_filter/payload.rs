//! The payload of an event, parsed when the first filter or schema asks for it.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Payload {
    body: Bytes,
    parsed: OnceLock<Option<Value>>,
}

impl Payload {
    #[must_use]
    pub const fn new(body: Bytes) -> Self {
        Self {
            body,
            parsed: OnceLock::new(),
        }
    }

    /// The object or array; `None` for any other body.
    pub(super) fn value(&self) -> Option<&Value> {
        let is_container = |value: &&Value| value.is_object() || value.is_array();
        self.json().filter(is_container)
    }

    /// `None` if it is not JSON. serde_json rejects what is nested deeper than 128 levels, which bounds every recursion over it.
    pub(crate) fn json(&self) -> Option<&Value> {
        let parsed = &self.parsed;
        parsed
            .get_or_init(|| serde_json::from_slice(&self.body).ok())
            .as_ref()
    }
}

impl From<&Value> for Payload {
    fn from(value: &Value) -> Self {
        Self::new(value.to_string().into())
    }
}
