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
