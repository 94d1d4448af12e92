//! What webhook owners are e-mailed about, read from notifications.

use serde::Deserialize;
use serde_json::Value;

use crate::health::LastFailure;
use crate::ids::{DeliveryId, TenantId, WebhookId};
use crate::notification::NotificationKind;
use crate::pattern::EventType;
use crate::time::{Millis, Timestamp};

/// The minimum time between two warnings about the same webhook. A flapping one would fill its owner's mailbox.
pub const WARNINGS_APART: Millis = Millis::from_seconds(3600);

/// How far the clocks of two processes may differ.
const CLOCKS_APART: Millis = Millis::from_seconds(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The notification's id, the same each time the notification is delivered.
    pub id: String,
    pub tenant: TenantId,
    pub webhook: WebhookId,
    pub cause: AlertCause,
    /// How often an operator had changed the webhook's status by then.
    pub generation: u32,
    pub at: Timestamp,
    pub reason: Option<String>,
    pub last_failure: Option<LastFailure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertCause {
    /// A delivery exhausted its retries, and the webhook waits for an operator.
    Failed {
        /// `None` in notifications of earlier releases.
        retries: Option<u32>,
    },
    /// Deliveries are still attempted, but they fail.
    Degraded {
        /// Consecutive failed attempts.
        failures: u32,
    },
}

impl AlertCause {
    /// The name used in stores and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed { .. } => "failed",
            Self::Degraded { .. } => "degraded",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a notification: {0}")]
pub struct Unreadable(&'static str);

#[derive(Deserialize)]
struct NotificationView {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    tenant: String,
    #[serde(default)]
    time: Option<String>,
    data: Value,
}

/// Notifications of earlier releases lack some of these fields.
#[derive(Deserialize)]
struct Data {
    webhook_id: WebhookId,
    #[serde(default)]
    failure_count: u32,
    #[serde(default)]
    generation: u32,
    #[serde(default)]
    retries: Option<u32>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    last_failure: Option<Failure>,
    #[serde(default)]
    again: bool,
}

#[derive(Deserialize)]
struct Failure {
    webhook_delivery_id: DeliveryId,
    event_type: EventType,
    error: String,
    at: String,
}

impl Alert {
    /// Reads a notification in CloudEvents JSON; `None` if it does not warrant an e-mail.
    pub fn read(text: &str) -> Result<Option<Self>, Unreadable> {
        let event = serde_json::from_str(text).map_err(|_| Unreadable("not JSON"))?;
        Self::of(event)
    }

    /// As [`Alert::read`], from parsed JSON.
    pub fn of(event: Value) -> Result<Option<Self>, Unreadable> {
        let notification: NotificationView =
            serde_json::from_value(event).map_err(|_| Unreadable("unexpected fields"))?;
        let is_failed = notification.kind == NotificationKind::WebhookFailed.as_str();
        if !is_failed && notification.kind != NotificationKind::WebhookDegraded.as_str() {
            return Ok(None);
        }
        let data: Data =
            serde_json::from_value(notification.data).map_err(|_| Unreadable("unexpected data"))?;
        if data.again {
            return Ok(None);
        }
        let cause = if is_failed {
            AlertCause::Failed {
                retries: data.retries,
            }
        } else {
            AlertCause::Degraded {
                failures: data.failure_count,
            }
        };
        let time = notification.time.as_deref().map(instant).transpose()?;
        Ok(Some(Self {
            id: notification.id,
            tenant: notification
                .tenant
                .parse()
                .map_err(|_| Unreadable("invalid tenant"))?,
            webhook: data.webhook_id,
            cause,
            generation: data.generation,
            at: time.unwrap_or(Timestamp::ZERO),
            reason: data.reason,
            last_failure: data.last_failure.map(Failure::read).transpose()?,
        }))
    }

    /// The number of the episode; later ones have greater numbers. A failure lasts until an operator changes the webhook's
    /// status; each warning is its own episode.
    #[must_use]
    pub fn episode(&self) -> i64 {
        match self.cause {
            AlertCause::Failed { .. } => i64::from(self.generation),
            AlertCause::Degraded { .. } => self.at.as_millis(),
        }
    }

    /// No e-mail is sent if one was already sent about an episode greater than this number.
    #[must_use]
    pub fn silenced_after(&self) -> i64 {
        match self.cause {
            AlertCause::Failed { .. } => self.episode().saturating_sub(1),
            AlertCause::Degraded { .. } => self.at.minus(WARNINGS_APART).as_millis(),
        }
    }
}

impl Alert {
    /// An e-mail about an episode greater than this number silences nothing: it is a warning dated by a clock that ran
    /// ahead, and would silence all others until then.
    #[must_use]
    pub fn latest_episode(&self, now: Timestamp) -> i64 {
        match self.cause {
            AlertCause::Failed { .. } => i64::MAX,
            AlertCause::Degraded { .. } => now.plus(CLOCKS_APART).as_millis(),
        }
    }
}

impl Failure {
    fn read(self) -> Result<LastFailure, Unreadable> {
        Ok(LastFailure {
            delivery: self.webhook_delivery_id,
            event_type: self.event_type,
            error: self.error,
            at: instant(&self.at)?,
        })
    }
}

fn instant(text: &str) -> Result<Timestamp, Unreadable> {
    Timestamp::parse_rfc3339(text).map_err(|_| Unreadable("invalid time"))
}

#[cfg(test)]
mod tests;
