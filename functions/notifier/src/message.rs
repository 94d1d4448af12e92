//! What a message of the queue holds.

use std::borrow::Cow;

use serde::Deserialize;

/// What a topic wraps an announcement in, unless it delivers it raw.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    message: String,
}

/// The announcement of a message.
pub(crate) fn notification(body: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Envelope>(body) {
        Ok(envelope) => envelope.message.into(),
        Err(_) => body.into(),
    }
}
