//! The notifications about a change, and its effect on the webhook. One pure function derives both from the row before
//! and after, so every store sends the same notifications.

mod inbound;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::delivery::{DeadCause, Delivery, Status};
use crate::event::Label;
use crate::health::{Health, LastFailure, PROBES, StatusReason, WARNING_AT, WebhookStatus};
use crate::ids::{DeliveryId, TenantId, WebhookId};
use crate::stats::StatsDelta;
use crate::time::Timestamp;

pub use inbound::{event_notification, rejection_notification};

/// The `source` of every notification.
pub const SOURCE: &str = "gateway:webhooks";

/// The type of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotificationKind {
    DeliveryDelivered,
    /// An attempt failed and will be retried.
    DeliveryFailed,
    DeliveryDead,
    DeliveryRequeued,
    /// Three attempts in a row failed.
    WebhookDegraded,
    /// A delivery was exhausted; the webhook stays failed until an operator resumes it.
    WebhookFailed,
    WebhookPaused,
    WebhookResumed,
    /// An operator changed the settings or rotated the secret.
    WebhookUpdated,
    /// The receiver asked for no more deliveries.
    WebhookDisabled,
    /// A source sent an event that matches a route.
    InboundAccepted,
    /// A source sent an event that matches no route.
    InboundUnrouted,
    InboundSignatureFailed,
    InboundTooLarge,
}

impl NotificationKind {
    pub const ALL: [Self; 14] = [
        Self::DeliveryDelivered,
        Self::DeliveryFailed,
        Self::DeliveryDead,
        Self::DeliveryRequeued,
        Self::WebhookDegraded,
        Self::WebhookFailed,
        Self::WebhookPaused,
        Self::WebhookResumed,
        Self::WebhookUpdated,
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
            Self::WebhookPaused => "webhook.paused",
            Self::WebhookResumed => "webhook.resumed",
            Self::WebhookUpdated => "webhook.updated",
            Self::WebhookDisabled => "webhook.disabled",
            Self::InboundAccepted => "inbound.accepted",
            Self::InboundUnrouted => "inbound.unrouted",
            Self::InboundSignatureFailed => "inbound.signature_failed",
            Self::InboundTooLarge => "inbound.too_large",
        }
    }
}

impl Serialize for NotificationKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NotificationKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        kind.ok_or_else(|| D::Error::custom(format!("`{name}` is not a notification type")))
    }
}

/// One notification. Never contains a body or a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// Derived from the item's key, version and type: the same change always has the same id.
    pub id: String,
    pub kind: NotificationKind,
    pub tenant: TenantId,
    pub at: Timestamp,
    pub data: Value,
}

/// What a notification says about a delivery. A store that keeps only this can make the notification later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About<'a> {
    pub id: DeliveryId,
    pub tenant: &'a TenantId,
    pub event_type: &'a str,
    pub session_id: Option<&'a str>,
    pub attempt_count: u32,
    pub status: Status,
    pub version: u64,
}

impl<'a> From<&'a Delivery> for About<'a> {
    fn from(row: &'a Delivery) -> Self {
        Self {
            id: row.id,
            tenant: &row.tenant,
            event_type: row.event_type.as_str(),
            session_id: row.session_id.as_ref().map(Label::as_str),
            attempt_count: row.attempt_count,
            status: row.status,
            version: row.version,
        }
    }
}

impl Notification {
    /// The notification as CloudEvents 1.0 JSON.
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

    #[must_use]
    pub fn of_delivery(kind: NotificationKind, row: &Delivery, at: Timestamp) -> Self {
        let mut notification = Self::about(kind, &About::from(row), at);
        if let (NotificationKind::DeliveryDead, Some(fields)) =
            (kind, notification.data.as_object_mut())
        {
            fields.insert("name".into(), "WebhookDLQEvent".into());
            fields.insert("reason".into(), row.dead_cause.map(dead_reason).into());
        }
        notification
    }

    /// The notification that a delivery was delivered.
    #[must_use]
    pub fn delivered(row: &About<'_>, at: Timestamp) -> Self {
        Self::about(NotificationKind::DeliveryDelivered, row, at)
    }

    fn about(kind: NotificationKind, row: &About<'_>, at: Timestamp) -> Self {
        let data = json!({
            "webhook_delivery_id": row.id,
            "webhook_id": row.id.webhook,
            "session_id": row.session_id,
            "event_type": row.event_type,
            "attempt_count": row.attempt_count,
            "status": row.status,
        });
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
        DeadCause::Blocked => "blocked by egress rules",
        DeadCause::Unrendered => "template error",
        DeadCause::Expired => "expired",
        DeadCause::WebhookDeleted => "webhook deleted",
        DeadCause::EventExpired => "event no longer stored",
        DeadCause::Erased => "erased",
    }
}

/// Everything that follows from one change to a delivery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Notifications about the delivery, in order.
    pub notifications: Vec<Notification>,
    /// The webhook's new state, if it changed.
    pub health: Option<Health>,
    pub stats: Option<StatsDelta>,
}

/// Everything that follows from a change to a delivery whose webhook is in the state `health`.
#[must_use]
pub fn effects(before: &Delivery, after: &Delivery, health: &Health, at: Timestamp) -> Effects {
    let Consequences {
        notification,
        health,
        stats,
    } = consequences(before, after, health, at);
    let notification = notification.map(|kind| Notification::of_delivery(kind, after, at));
    Effects {
        notifications: notification.into_iter().collect(),
        health,
        stats,
    }
}

/// As [`Effects`], but the notification is still to be made: most are never read, and making one takes longer than the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Consequences {
    /// The kind of the notification about the delivery.
    pub notification: Option<NotificationKind>,
    /// The webhook's new state, if it changed.
    pub health: Option<Health>,
    pub stats: Option<StatsDelta>,
}

/// Everything that follows from a change to a delivery whose webhook is in the state `health`.
#[must_use]
pub fn consequences(
    before: &Delivery,
    after: &Delivery,
    health: &Health,
    at: Timestamp,
) -> Consequences {
    let attempted = after.attempts_total > before.attempts_total;
    let notification = match after.status {
        Status::Delivered if attempted => Some(NotificationKind::DeliveryDelivered),
        Status::Failed if attempted => Some(NotificationKind::DeliveryFailed),
        Status::Dead if before.status != Status::Dead => Some(NotificationKind::DeliveryDead),
        Status::Pending if before.status != Status::Pending => {
            Some(NotificationKind::DeliveryRequeued)
        }
        Status::Pending | Status::Failed | Status::Delivered | Status::Dead => None,
    };
    let next = attempted.then(|| next_health(after, health, at));
    Consequences {
        notification,
        health: next.filter(|next| next != health),
        stats: StatsDelta::of_change(before, after, at),
    }
}

/// The notification about a change of a webhook's state, by the gateway or by an operator.
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
        (was, WebhookStatus::Paused) if was != WebhookStatus::Paused => {
            NotificationKind::WebhookPaused
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
    // It was resumed and failed again at once: its owner already knows.
    if let (NotificationKind::WebhookFailed, true, Some(fields)) =
        (kind, after.again, notification.data.as_object_mut())
    {
        fields.insert("again".into(), true.into());
    }
    Some(notification)
}

/// The notification that an operator changed a webhook's settings or secrets.
#[must_use]
pub fn update_notification(
    tenant: &TenantId,
    webhook: WebhookId,
    health: &Health,
    updated_at: Timestamp,
) -> Notification {
    let kind = NotificationKind::WebhookUpdated;
    Notification::of_webhook(kind, tenant, webhook, health, updated_at)
}

fn next_health(after: &Delivery, health: &Health, at: Timestamp) -> Health {
    if after.generation != health.generation {
        // The attempt started before an operator changed the webhook's status, so it says nothing about the new status.
        return health.clone();
    }
    if after.status == Status::Delivered {
        return health.succeeded();
    }
    if after.dead_cause == Some(DeadCause::Unrendered) {
        // Nothing was sent, so it says nothing about the receiver.
        return health.clone();
    }
    let failure = LastFailure::of(after, at);
    // The reason is sent in notifications, so it contains nothing that the receiver wrote.
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
            | DeadCause::Unrendered
            | DeadCause::Expired
            | DeadCause::WebhookDeleted
            | DeadCause::EventExpired
            | DeadCause::Erased,
        )
        | None => counted,
    }
}

#[cfg(test)]
mod tests;
