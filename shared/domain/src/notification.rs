//! What a change announces on `gateway:webhooks`, and what it does to its webhook: derived from the row before and
//! after by one pure function, so that every store announces the same.

mod inbound;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::delivery::{DeadCause, Delivery, Status};
use crate::health::{Health, LastFailure, PROBES, StatusReason, WARNING_AT, WebhookStatus};
use crate::ids::{TenantId, WebhookId};
use crate::stats::StatsDelta;
use crate::time::Timestamp;

pub use inbound::{event_notification, rejection_notification};

/// The `source` of every announcement.
pub const SOURCE: &str = "gateway:webhooks";

/// What is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NotificationKind {
    /// A delivery arrived.
    #[serde(rename = "delivery.delivered")]
    DeliveryDelivered,
    /// An attempt failed; another will follow.
    #[serde(rename = "delivery.failed")]
    DeliveryFailed,
    /// A delivery was given up.
    #[serde(rename = "delivery.dead")]
    DeliveryDead,
    /// A person put a delivery back.
    #[serde(rename = "delivery.requeued")]
    DeliveryRequeued,
    /// Three failures in a row.
    #[serde(rename = "webhook.degraded")]
    WebhookDegraded,
    /// A delivery was exhausted and the webhook waits for a person.
    #[serde(rename = "webhook.failed")]
    WebhookFailed,
    /// A person set it going again.
    #[serde(rename = "webhook.resumed")]
    WebhookResumed,
    /// It wants no more.
    #[serde(rename = "webhook.disabled")]
    WebhookDisabled,
    /// A source sent an event that some route wants.
    #[serde(rename = "inbound.accepted")]
    InboundAccepted,
    /// A source sent an event that no route wants.
    #[serde(rename = "inbound.unrouted")]
    InboundUnrouted,
    /// A request to a source was not signed as it must be.
    #[serde(rename = "inbound.signature_failed")]
    InboundSignatureFailed,
    /// A request to a source was larger than may be stored.
    #[serde(rename = "inbound.too_large")]
    InboundTooLarge,
}

impl NotificationKind {
    pub const ALL: [Self; 12] = [
        Self::DeliveryDelivered,
        Self::DeliveryFailed,
        Self::DeliveryDead,
        Self::DeliveryRequeued,
        Self::WebhookDegraded,
        Self::WebhookFailed,
        Self::WebhookResumed,
        Self::WebhookDisabled,
        Self::InboundAccepted,
        Self::InboundUnrouted,
        Self::InboundSignatureFailed,
        Self::InboundTooLarge,
    ];

    /// The CloudEvents type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeliveryDelivered => "delivery.delivered",
            Self::DeliveryFailed => "delivery.failed",
            Self::DeliveryDead => "delivery.dead",
            Self::DeliveryRequeued => "delivery.requeued",
            Self::WebhookDegraded => "webhook.degraded",
            Self::WebhookFailed => "webhook.failed",
            Self::WebhookResumed => "webhook.resumed",
            Self::WebhookDisabled => "webhook.disabled",
            Self::InboundAccepted => "inbound.accepted",
            Self::InboundUnrouted => "inbound.unrouted",
            Self::InboundSignatureFailed => "inbound.signature_failed",
            Self::InboundTooLarge => "inbound.too_large",
        }
    }
}

/// One announcement. Never holds a body or a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// Item key, version and type: the same change always has the same id.
    pub id: String,
    /// What is announced.
    pub kind: NotificationKind,
    /// Whose it is.
    pub tenant: TenantId,
    /// When it happened.
    pub at: Timestamp,
    /// The facts.
    pub data: Value,
}

impl Notification {
    /// The announcement as CloudEvents 1.0 JSON.
    #[must_use]
    pub fn to_cloud_event(&self) -> Value {
        json!({
            "specversion": "1.0",
            "id": self.id,
            "source": SOURCE,
            "type": self.kind.as_str(),
            "time": self.at.to_string(),
            "tenant": self.tenant.as_str(),
            "datacontenttype": "application/json",
            "data": self.data,
        })
    }

    fn of_delivery(kind: NotificationKind, row: &Delivery, at: Timestamp) -> Self {
        let mut data = json!({
            "webhook_delivery_id": row.id,
            "webhook_id": row.id.webhook,
            "session_id": row.session_id,
            "event_type": row.event_type,
            "attempt_count": row.attempt_count,
            "status": row.status,
        });
        if let (NotificationKind::DeliveryDead, Some(fields)) = (kind, data.as_object_mut()) {
            fields.insert("name".into(), "WebhookDLQEvent".into());
            fields.insert("reason".into(), row.dead_cause.map(dead_reason).into());
        }
        let id = format!("{}/{}/{}", row.id, row.version, kind.as_str());
        Self {
            id,
            kind,
            tenant: row.tenant.clone(),
            at,
            data,
        }
    }

    fn of_webhook(
        kind: NotificationKind,
        tenant: &TenantId,
        id: WebhookId,
        health: &Health,
        at: Timestamp,
    ) -> Self {
        let mut data = json!({
            "webhook_id": id,
            "status": health.status,
            "failure_count": health.failure_count,
            "reason": health.reason.as_ref().map(ToString::to_string),
            "generation": health.generation,
            "last_failure": health.last_failure.as_ref().map(failure),
        });
        if let (NotificationKind::WebhookFailed, Some(fields)) = (kind, data.as_object_mut()) {
            fields.insert("retries".into(), health.retries_used().into());
        }
        let id = format!(
            "{id}/{}/{}/{}",
            health.generation,
            at.as_millis(),
            kind.as_str()
        );
        Self {
            id,
            kind,
            tenant: tenant.clone(),
            at,
            data,
        }
    }
}

fn failure(last: &LastFailure) -> Value {
    json!({
        "webhook_delivery_id": last.delivery,
        "event_type": last.event_type,
        "error": last.error,
        "at": last.at.to_string(),
    })
}

const fn dead_reason(cause: DeadCause) -> &'static str {
    match cause {
        DeadCause::Exhausted | DeadCause::ExhaustedFailingWebhook => "attempts exhausted",
        DeadCause::Rejected => "rejected by the receiver",
        DeadCause::Gone => "receiver gone",
        DeadCause::Aborted => "receiver said stop",
        DeadCause::Declined => "receiver wants no more",
        DeadCause::Blocked => "refused by egress rules",
        DeadCause::Expired => "expired",
        DeadCause::WebhookDeleted => "webhook deleted",
    }
}

/// Everything that follows from one change of a delivery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// What is announced of the delivery, in order.
    pub notifications: Vec<Notification>,
    /// The webhook's new state, if it changed.
    pub health: Option<Health>,
    /// What is counted.
    pub stats: Option<StatsDelta>,
}

/// What follows from the change of one delivery from `before` to `after`, its webhook being in the state `health`.
#[must_use]
pub fn effects(before: &Delivery, after: &Delivery, health: &Health, at: Timestamp) -> Effects {
    let mut effects = Effects {
        stats: StatsDelta::of_change(before, after, at),
        ..Effects::default()
    };
    let attempted = after.attempts_total > before.attempts_total;
    let kind = match after.status {
        Status::Delivered if attempted => Some(NotificationKind::DeliveryDelivered),
        Status::Failed if attempted => Some(NotificationKind::DeliveryFailed),
        Status::Dead if before.status != Status::Dead => Some(NotificationKind::DeliveryDead),
        Status::Pending if before.status != Status::Pending => {
            Some(NotificationKind::DeliveryRequeued)
        }
        Status::Pending | Status::Failed | Status::Delivered | Status::Dead => None,
    };
    effects
        .notifications
        .extend(kind.map(|kind| Notification::of_delivery(kind, after, at)));
    if !attempted {
        return effects;
    }
    let next = next_health(after, health, at);
    effects.health = (next != *health).then_some(next);
    effects
}

/// What follows from the change of a webhook's state, whoever changed it.
#[must_use]
pub fn health_notification(
    tenant: &TenantId,
    webhook: WebhookId,
    before: &Health,
    after: &Health,
    at: Timestamp,
) -> Option<Notification> {
    let kind = match (before.status, after.status) {
        (was, WebhookStatus::Failed) if was != WebhookStatus::Failed => {
            NotificationKind::WebhookFailed
        }
        (was, WebhookStatus::Disabled) if was != WebhookStatus::Disabled => {
            NotificationKind::WebhookDisabled
        }
        (was, WebhookStatus::Active) if was != WebhookStatus::Active => {
            NotificationKind::WebhookResumed
        }
        (WebhookStatus::Active, WebhookStatus::Active)
            if after.failure_count >= WARNING_AT && before.failure_count < WARNING_AT =>
        {
            NotificationKind::WebhookDegraded
        }
        _ => return None,
    };
    let mut notification = Notification::of_webhook(kind, tenant, webhook, after, at);
    // Somebody resumed it and it failed at once: its owner knows already.
    if let (NotificationKind::WebhookFailed, true, Some(fields)) =
        (kind, after.again, notification.data.as_object_mut())
    {
        fields.insert("again".into(), true.into());
    }
    Some(notification)
}

fn next_health(after: &Delivery, health: &Health, at: Timestamp) -> Health {
    if after.generation != health.generation {
        // The attempt began before a person changed the webhook's status; it says nothing of what came after.
        return health.clone();
    }
    if after.status == Status::Delivered {
        return health.succeeded();
    }
    let failure = LastFailure::of(after, at);
    // The reason is announced: nothing of what the receiver wrote is in it.
    let error = failure.error.clone();
    let counted = health.failed_once(failure);
    match after.dead_cause {
        Some(DeadCause::ExhaustedFailingWebhook) => {
            let retries = after.attempt_count.saturating_sub(1);
            let reason = StatusReason::Exhausted { retries, error };
            counted.stopped(WebhookStatus::Failed, after.generation, reason, at)
        }
        Some(DeadCause::Gone) => counted.stopped(
            WebhookStatus::Disabled,
            after.generation,
            StatusReason::Gone,
            at,
        ),
        Some(DeadCause::Declined) => counted.stopped(
            WebhookStatus::Disabled,
            after.generation,
            StatusReason::Declined,
            at,
        ),
        _ if counted.on_probation && counted.failure_count >= PROBES => {
            let reason = StatusReason::FailedAfterResume { error };
            counted.stopped(WebhookStatus::Failed, after.generation, reason, at)
        }
        Some(
            DeadCause::Exhausted
            | DeadCause::Aborted
            | DeadCause::Rejected
            | DeadCause::Blocked
            | DeadCause::Expired
            | DeadCause::WebhookDeleted,
        )
        | None => counted,
    }
}
