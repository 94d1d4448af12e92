//! The event that a webhook is tested with.

use bytes::Bytes;
use serde_json::json;

use crate::event::{Event, Origin};
use crate::ids::{EventId, TenantId, WebhookId};
use crate::time::Timestamp;

/// Its type.
pub const TYPE: &str = "postrider.test";
/// What its body is.
pub const CONTENT_TYPE: &str = "application/json";

/// Its body: nothing of anybody's, and it says so.
#[must_use]
pub fn body(webhook: WebhookId, now: Timestamp) -> Bytes {
    let payload = json!({
        "type": TYPE,
        "message": "This is a test of the webhook. Nothing happened.",
        "webhook_id": webhook,
        "sent_at": now.to_string(),
    });
    Bytes::from(payload.to_string())
}

/// The event itself, for a test that nobody asked for and that is not stored.
#[must_use]
pub fn event(tenant: &TenantId, webhook: WebhookId, id: EventId, now: Timestamp) -> Option<Event> {
    Some(Event {
        id,
        tenant: tenant.clone(),
        event_type: TYPE.parse().ok()?,
        session_id: None,
        content_type: CONTENT_TYPE.parse().ok()?,
        body: body(webhook, now),
        origin: Origin::Test,
        created_at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_made() {
        let (webhook, id) = (WebhookId::from_bytes([1; 16]), EventId::from_bytes([2; 16]));
        let event = event(&TenantId::default(), webhook, id, Timestamp::ZERO).unwrap();
        assert_eq!(event.event_type.as_str(), TYPE);
        assert!(event.body.starts_with(b"{"));
    }
}
