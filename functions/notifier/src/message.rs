//! The content of a queue message.

use std::borrow::Cow;

use serde::Deserialize;

/// The envelope in which a topic wraps a notification, unless raw delivery is on.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    message: String,
}

/// The notification in a message.
pub(crate) fn notification(body: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Envelope>(body) {
        Ok(envelope) => envelope.message.into(),
        Err(_) => body.into(),
    }
}
