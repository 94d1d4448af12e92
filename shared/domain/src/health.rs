//! The state of a webhook, and what one attempt does to it.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How many failures in a row make a warning.
pub const WARNING_AT: u32 = 3;

/// How the reason of a webhook begins that failed with a delivery.
const GIVEN_UP_AFTER: &str = "a delivery failed after ";

/// Why a webhook failed: a delivery was given up after so many retries.
#[must_use]
pub fn given_up(retries: u32, detail: &str) -> String {
    format!("{GIVEN_UP_AFTER}{retries} retries: {detail}")
}

/// Whether a webhook takes deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Deliveries go out. With failures in a row it is *degraded*.
    #[default]
    Active,
    /// A delivery was exhausted; deliveries wait for a person.
    Failed,
    /// A person paused it; deliveries wait.
    Paused,
    /// It wants no more: refused when named, skipped in fan-out.
    Disabled,
}

impl WebhookStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Active, Self::Failed, Self::Paused, Self::Disabled];

    /// The name used in API and stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }

    /// Whether deliveries wait instead of going out.
    #[must_use]
    pub const fn parks(self) -> bool {
        match self {
            Self::Failed | Self::Paused | Self::Disabled => true,
            Self::Active => false,
        }
    }
}

/// The state of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Whether it takes deliveries.
    pub status: WebhookStatus,
    /// Failed attempts in a row.
    pub failure_count: u32,
    /// Raised whenever a person changes the status, so that what was under way before does not undo it.
    pub generation: u32,
    /// Why it is not active.
    pub reason: Option<String>,
    /// When the status changed last.
    pub changed_at: Option<Timestamp>,
}

impl Health {
    /// Whether there are recent failures although it is active.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.status == WebhookStatus::Active && self.failure_count > 0
    }

    /// The state after a person changed the status.
    #[must_use]
    pub fn set(&self, status: WebhookStatus, reason: Option<String>, now: Timestamp) -> Self {
        Self {
            status,
            failure_count: if status == WebhookStatus::Active {
                0
            } else {
                self.failure_count
            },
            generation: self.generation.saturating_add(1),
            reason,
            changed_at: Some(now),
        }
    }

    /// After how many retries the delivery was given up that failed the webhook; the reason says so.
    #[must_use]
    pub fn retries_used(&self) -> Option<u32> {
        let rest = self.reason.as_deref()?.strip_prefix(GIVEN_UP_AFTER)?;
        rest.split(' ').next()?.parse().ok()
    }

    /// The state after a delivered attempt.
    #[must_use]
    pub fn succeeded(&self) -> Self {
        Self {
            failure_count: 0,
            ..self.clone()
        }
    }

    /// The state after a failed attempt.
    #[must_use]
    pub fn failed_once(&self) -> Self {
        Self {
            failure_count: self.failure_count.saturating_add(1),
            ..self.clone()
        }
    }

    /// The state after the gateway itself stopped it, unless a person changed it since `generation`, or it is stopped
    /// already.
    #[must_use]
    pub fn stopped(
        &self,
        status: WebhookStatus,
        generation: u32,
        reason: String,
        now: Timestamp,
    ) -> Self {
        let further = match self.status {
            WebhookStatus::Active => true,
            WebhookStatus::Failed | WebhookStatus::Paused => status == WebhookStatus::Disabled,
            WebhookStatus::Disabled => false,
        };
        if self.generation != generation || !further {
            return self.clone();
        }
        Self {
            status,
            reason: Some(reason),
            changed_at: Some(now),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retries_that_were_used_are_read_from_the_reason() {
        let health = |reason: &str| Health {
            reason: Some(reason.to_owned()),
            ..Health::default()
        };
        let failed = health(&given_up(5, "HTTP status 500: 7 retries: no"));
        assert_eq!(failed.retries_used(), Some(5));
        for other in [
            "",
            "a person said so",
            "a delivery failed after ",
            GIVEN_UP_AFTER,
        ] {
            assert_eq!(health(other).retries_used(), None, "{other}");
        }
        assert_eq!(Health::default().retries_used(), None);
    }
}
