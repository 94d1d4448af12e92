//! The test event: sent by operators, and by the gateway to probe a failed webhook.

use bytes::Bytes;
use serde_json::json;

use crate::event::{Event, Origin};
use crate::ids::{EventId, TenantId, WebhookId};
use crate::time::Timestamp;

pub const TYPE: &str = "postrider.test";
pub const CONTENT_TYPE: &str = "application/json";

/// A body without any customer data.
#[must_use]
pub fn body(webhook: WebhookId, now: Timestamp) -> Bytes {
    let payload = json!({
        "type": TYPE,
        "message": "This is a test event. Nothing happened.",
        "webhook_id": webhook,
        "sent_at": now.to_string(),
    });
    Bytes::from(payload.to_string())
}

/// The event of a probe, which is not stored.
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
    fn a_test_event_can_be_created() {
        let (webhook, id) = (WebhookId::from_bytes([1; 16]), EventId::from_bytes([2; 16]));
        let event = event(&TenantId::default(), webhook, id, Timestamp::ZERO).unwrap();
        assert_eq!(event.event_type.as_str(), TYPE);
        assert!(event.body.starts_with(b"{"));
    }
}
