//! Builds spans. Attributes come from an allow-list: ids, types, counts, the host of a webhook; never a body, a signature,
//! a secret, a path or a query string.

use postrider_domain::attempt::Verdict;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Status};
use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::spans::{Kind, Span, SpanId, TraceId, TraceParent, Value};

use crate::ingest::{Published, Repeated};

/// The root of the trace. A repeated call is a child of the first one.
pub(super) fn accept(
    event: &Event,
    published: &Published,
    link: Option<TraceParent>,
    started_at: Timestamp,
    ended_at: Timestamp,
) -> Span {
    let root = SpanId::of_accept(published.event);
    let (id, parent) = match published.repeated {
        Repeated::No => (root, None),
        Repeated::Yes => {
            let repeat = SpanId::of_repeat(published.event, started_at.as_millis());
            (repeat, Some(root))
        }
    };
    Span {
        trace: TraceId::of(published.event),
        id,
        parent,
        link,
        kind: Kind::Server,
        name: "accept",
        started_at,
        ended_at,
        attributes: vec![
            ("postrider.event_id", published.event.to_string().into()),
            ("postrider.event_type", event.event_type.as_str().into()),
            ("postrider.tenant", event.tenant.as_str().into()),
            ("postrider.origin", event.origin.to_string().into()),
            ("postrider.body_bytes", event.body.len().into()),
            ("postrider.deliveries", published.deliveries.len().into()),
            (
                "postrider.repeated",
                (published.repeated == Repeated::Yes).into(),
            ),
        ],
        failure: None,
    }
}

pub(super) fn attempt(
    claimed: &Claimed,
    webhook: &Webhook,
    completion: &Completion,
    outcome: &'static str,
) -> Span {
    let (row, attempt) = (claimed.delivery(), &completion.attempt);
    let url = &webhook.settings.target_url;
    let mut attributes: Vec<(&'static str, Value)> = vec![
        ("postrider.delivery_id", row.id.to_string().into()),
        ("postrider.webhook_id", row.id.webhook.to_string().into()),
        ("postrider.event_type", row.event_type.as_str().into()),
        ("postrider.tenant", row.tenant.as_str().into()),
        ("postrider.attempt_number", attempt.number.into()),
        ("postrider.outcome", outcome.into()),
        ("http.request.method", "POST".into()),
        ("http.request.resend_count", row.attempt_count.into()),
        ("url.scheme", url.scheme().into()),
    ];
    let mut add = |name, value: Option<Value>| {
        attributes.extend(value.map(|value| (name, value)));
    };
    add("server.address", url.host_str().map(Value::from));
    add("server.port", url.port_or_known_default().map(Value::from));
    add(
        "http.response.status_code",
        attempt.status_code.map(Value::from),
    );
    add(
        "postrider.failed_phase",
        attempt.phase.map(|phase| Value::from(phase.as_str())),
    );
    let timings = &attempt.timings;
    for (name, ms) in [
        ("postrider.dns_ms", timings.dns_ms),
        ("postrider.connect_ms", timings.connect_ms),
        ("postrider.tls_ms", timings.tls_ms),
        ("postrider.first_byte_ms", timings.first_byte_ms),
    ] {
        add(name, ms.map(Value::from));
    }
    let failed = completion.transition.verdict() == Verdict::Failure;
    let took = Millis::new(attempt.timings.total_ms.into());
    Span {
        trace: TraceId::of(row.id.event),
        id: SpanId::of_attempt(row.id, claimed.version()),
        parent: Some(SpanId::of_accept(row.id.event)),
        link: None,
        kind: Kind::Client,
        name: "attempt",
        started_at: attempt.at,
        ended_at: attempt.at.plus(took),
        attributes,
        failure: attempt.error.clone().filter(|_| failed),
    }
}

/// The notification that a store writes together with the row after an attempt.
pub(super) fn notification_with(row: &Delivery, at: Timestamp) -> Option<Span> {
    let kind = match row.status {
        Status::Pending => return None,
        Status::Failed => NotificationKind::DeliveryFailed,
        Status::Delivered => NotificationKind::DeliveryDelivered,
        Status::Dead => NotificationKind::DeliveryDead,
    };
    let id = format!("{}/{}/{}", row.id, row.version, kind.as_str());
    let span = notification(row.id, kind, &id, &row.tenant);
    Some(during(span, None, at, at))
}

/// The span of a notification about a delivery; [`during`] sets its times.
pub(super) fn notification(
    delivery: DeliveryId,
    kind: NotificationKind,
    id: &str,
    tenant: &TenantId,
) -> Span {
    Span {
        trace: TraceId::of(delivery.event),
        id: SpanId::of_notification(id),
        parent: Some(SpanId::of_accept(delivery.event)),
        link: None,
        kind: Kind::Producer,
        name: "notify",
        started_at: Timestamp::ZERO,
        ended_at: Timestamp::ZERO,
        attributes: vec![
            ("postrider.announcement", kind.as_str().into()),
            ("postrider.delivery_id", delivery.to_string().into()),
            ("postrider.webhook_id", delivery.webhook.to_string().into()),
            ("postrider.tenant", tenant.as_str().into()),
        ],
        failure: None,
    }
}

pub(super) fn during(
    span: Span,
    failure: Option<String>,
    started_at: Timestamp,
    ended_at: Timestamp,
) -> Span {
    Span {
        failure,
        started_at,
        ended_at,
        ..span
    }
}

/// The delivery of a notification; `None` for one about a webhook, which belongs to no event.
pub(super) fn delivery_of(notification: &Notification) -> Option<DeliveryId> {
    let id = notification.data.get("webhook_delivery_id")?;
    id.as_str()?.parse().ok()
}
