//! Notifications about requests from sources.

use serde_json::{Value, json};

use super::{Notification, NotificationKind};
use crate::event::{Event, Origin};
use crate::ids::{RejectedId, SourceId, TenantId};
use crate::inbound::Rejection;
use crate::time::Timestamp;

/// The notification about a stored event: that its source sent it, and whether a route matches. `None` for an event that was
/// published through the API.
#[must_use]
pub fn event_notification(event: &Event, deliveries: usize) -> Option<Notification> {
    let Origin::Source(source) = event.origin else {
        return None;
    };
    let kind = if deliveries > 0 {
        NotificationKind::InboundAccepted
    } else {
        NotificationKind::InboundUnrouted
    };
    Some(Notification {
        // An event never changes, so it has one version.
        id: format!("{}/0/{}", event.id, kind.as_str()),
        kind,
        tenant: event.tenant.clone(),
        at: event.created_at,
        data: json!({
            "event_id": event.id,
            "event_type": event.event_type,
            "source_id": source,
            "deliveries": deliveries,
        }),
    })
}

/// The notification about a stored rejected request. `counted` is how many requests to this source have only been
/// counted so far. `None` for a request to an unknown source.
#[must_use]
pub fn rejection_notification(
    tenant: &TenantId,
    source: SourceId,
    id: RejectedId,
    reason: Rejection,
    at: Timestamp,
    counted: u64,
) -> Option<Notification> {
    if source == SourceId::UNKNOWN {
        return None;
    }
    let mut data = json!({
        "source_id": source,
        "refused_id": id,
        "reason": reason.code(),
        "at": at.to_string(),
        "counted": counted,
    });
    let kind = match reason {
        Rejection::TooLarge => NotificationKind::InboundTooLarge,
        Rejection::UnknownSource
        | Rejection::Unsigned
        | Rejection::NoMatch
        | Rejection::BadTime
        | Rejection::OutOfWindow => {
            if let Value::Object(fields) = &mut data {
                fields.insert("name".into(), "WebhookSignatureFailureEvent".into());
            }
            NotificationKind::InboundSignatureFailed
        }
    };
    Some(Notification {
        id: format!("{source}/{id}/{}", kind.as_str()),
        kind,
        tenant: tenant.clone(),
        at,
        data,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::ids::EventId;

    const SOURCE: SourceId = SourceId::from_bytes([3; 16]);
    const AT: Timestamp = Timestamp::from_millis(1_771_668_000_123);

    fn event(origin: Origin) -> Event {
        Event {
            id: EventId::from_bytes([1; 16]),
            tenant: TenantId::default(),
            event_type: "push".parse().unwrap(),
            session_id: None,
            content_type: "application/json".parse().unwrap(),
            body: Bytes::from_static(b"{\"secret\": 1}"),
            origin,
            created_at: AT,
        }
    }

    #[test]
    fn an_event_of_a_source_is_unrouted_if_no_webhook_gets_it() {
        let of = |deliveries| event_notification(&event(Origin::Source(SOURCE)), deliveries);
        for (deliveries, kind) in [
            (0, NotificationKind::InboundUnrouted),
            (1, NotificationKind::InboundAccepted),
            (2, NotificationKind::InboundAccepted),
        ] {
            let found = of(deliveries).unwrap();
            assert_eq!((found.kind, found.at), (kind, AT));
            let data = json!({
                "event_id": EventId::from_bytes([1; 16]).to_string(),
                "event_type": "push",
                "source_id": SOURCE.to_string(),
                "deliveries": deliveries,
            });
            assert_eq!(found.data, data, "nothing of the body");
        }
        for origin in [Origin::Api, Origin::Test] {
            assert_eq!(event_notification(&event(origin), 1), None);
        }
    }

    #[test]
    fn a_rejected_request_to_a_known_source_sends_the_notification_of_its_reason() {
        let of = |source, reason| {
            let id = RejectedId::from_bytes([4; 16]);
            rejection_notification(&TenantId::default(), source, id, reason, AT, 7)
        };
        for reason in Rejection::ALL {
            let found = of(SOURCE, reason).unwrap();
            let (kind, name) = if reason == Rejection::TooLarge {
                (NotificationKind::InboundTooLarge, None)
            } else {
                let name = "WebhookSignatureFailureEvent";
                (NotificationKind::InboundSignatureFailed, Some(name))
            };
            assert_eq!(found.kind, kind, "{reason:?}");
            let text = |field: &str| found.data.get(field).and_then(Value::as_str);
            assert_eq!((text("name"), text("reason")), (name, Some(reason.code())));
            assert_eq!(found.data["counted"], 7);
            assert_eq!(of(SourceId::UNKNOWN, reason), None);
        }
    }
}
