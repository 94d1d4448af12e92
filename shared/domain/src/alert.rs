//! What people are written to about: the trouble of a webhook, read from its announcement.

use serde::Deserialize;
use serde_json::Value;

use crate::health::LastFailure;
use crate::ids::{DeliveryId, TenantId, WebhookId};
use crate::notification::NotificationKind;
use crate::pattern::EventType;
use crate::time::{Millis, Timestamp};

/// For how long no further warning is mailed of the same webhook. One that wavers would fill its owner's mailbox.
pub const WARNINGS_APART: Millis = Millis::from_seconds(3600);

/// What a webhook's owner is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The announcement's id, the same whenever it is told.
    pub id: String,
    /// Whose webhook it is.
    pub tenant: TenantId,
    /// The webhook.
    pub webhook: WebhookId,
    /// What is wrong with it.
    pub trouble: Trouble,
    /// How often a person had changed its status by then.
    pub generation: u32,
    /// Since when.
    pub at: Timestamp,
    /// Why its status changed, if it did.
    pub reason: Option<String>,
    /// What failed last.
    pub last_failure: Option<LastFailure>,
}

/// What is wrong with a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A delivery was given up after so many retries, and the webhook waits for a person.
    Failed {
        /// The retries, where they are known.
        retries: Option<u32>,
    },
    /// It goes on, but nothing arrives.
    Degraded {
        /// Failed attempts in a row.
        failures: u32,
    },
}

impl Trouble {
    /// The name used in stores and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed { .. } => "failed",
            Self::Degraded { .. } => "degraded",
        }
    }
}

/// A text that is no announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no announcement: {0}")]
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

/// Announcements of earlier releases lack some of it.
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
    /// Reads an announcement in CloudEvents JSON; none when nobody is to be told of it.
    ///
    /// # Errors
    /// A text that is no announcement.
    pub fn read(text: &str) -> Result<Option<Self>, Unreadable> {
        let event = serde_json::from_str(text).map_err(|_| Unreadable("not JSON"))?;
        Self::of(event)
    }

    /// The same, of an announcement that is JSON already.
    ///
    /// # Errors
    /// A value that is no announcement.
    pub fn of(event: Value) -> Result<Option<Self>, Unreadable> {
        let said: NotificationView =
            serde_json::from_value(event).map_err(|_| Unreadable("not the form of one"))?;
        let is_failed = said.kind == NotificationKind::WebhookFailed.as_str();
        if !is_failed && said.kind != NotificationKind::WebhookDegraded.as_str() {
            return Ok(None);
        }
        let data: Data =
            serde_json::from_value(said.data).map_err(|_| Unreadable("not the data of one"))?;
        if data.again {
            return Ok(None);
        }
        let trouble = if is_failed {
            Trouble::Failed {
                retries: data.retries,
            }
        } else {
            Trouble::Degraded {
                failures: data.failure_count,
            }
        };
        let time = said.time.as_deref().map(instant).transpose()?;
        Ok(Some(Self {
            id: said.id,
            tenant: said.tenant.parse().map_err(|_| Unreadable("no tenant"))?,
            webhook: data.webhook_id,
            trouble,
            generation: data.generation,
            at: time.unwrap_or(Timestamp::ZERO),
            reason: data.reason,
            last_failure: data.last_failure.map(Failure::read).transpose()?,
        }))
    }

    /// Names the episode that it is about; later ones have greater numbers. One of `failed` lasts until a person changes
    /// the webhook's status, a warning stands for itself.
    #[must_use]
    pub fn episode(&self) -> i64 {
        match self.trouble {
            Trouble::Failed { .. } => i64::from(self.generation),
            Trouble::Degraded { .. } => self.at.as_millis(),
        }
    }

    /// A letter about any episode after this one, this one's own included, makes a further letter superfluous.
    #[must_use]
    pub fn silenced_after(&self) -> i64 {
        match self.trouble {
            Trouble::Failed { .. } => self.episode().saturating_sub(1),
            Trouble::Degraded { .. } => self.at.minus(WARNINGS_APART).as_millis(),
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
    Timestamp::parse_rfc3339(text).map_err(|_| Unreadable("no time"))
}

#[cfg(test)]
mod tests;
