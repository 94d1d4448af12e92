//! Data on its way from one gateway to another.

use crate::delivery::Status;
use crate::health::{Health, StatusReason, WebhookStatus};
use crate::ids::{SourceId, TenantId, WebhookId};
use crate::secret::{SecretRing, SharedSecret};
use crate::source::SourceDraft;
use crate::time::Timestamp;
use crate::webhook::WebhookDraft;

/// Which deliveries move along with the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MovedDeliveries {
    #[default]
    None,
    /// Those that are pending or will be retried.
    Open,
    All,
}

impl MovedDeliveries {
    pub const ALL: [Self; 3] = [Self::None, Self::Open, Self::All];

    /// The name in the API, in files and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Open => "open",
            Self::All => "all",
        }
    }

    #[must_use]
    pub const fn includes(self, status: Status) -> bool {
        match self {
            Self::None => false,
            Self::Open => status.is_open(),
            Self::All => true,
        }
    }
}

/// A webhook as another gateway had it, unchecked.
#[derive(Clone, Debug)]
pub struct WebhookCopy {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub draft: WebhookDraft,
    pub secrets: SecretRing,
    pub status: WebhookStatus,
    pub reason: Option<StatusReason>,
    pub created_at: Timestamp,
}

impl WebhookCopy {
    /// Its state on the new gateway. What the receiver did to the old one is not counted against it here; a webhook that was
    /// stopped stays stopped until an operator resumes it.
    #[must_use]
    pub fn health(&self, now: Timestamp) -> Health {
        Health {
            status: self.status,
            reason: self.reason.clone(),
            changed_at: self.status.is_stopped().then_some(now),
            ..Health::default()
        }
    }
}

/// A source as another gateway had it, unchecked.
#[derive(Clone, Debug)]
pub struct SourceCopy {
    pub id: SourceId,
    pub tenant: TenantId,
    pub draft: SourceDraft,
    pub secrets: SecretRing<SharedSecret>,
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SigningSecret;

    #[test]
    fn the_name_says_which_deliveries_move() {
        for (name, moved) in [
            ("none", vec![]),
            ("open", vec![Status::Pending, Status::Failed]),
            ("all", Status::ALL.to_vec()),
        ] {
            let choice = MovedDeliveries::ALL
                .into_iter()
                .find(|it| it.as_str() == name);
            let found: Vec<_> = Status::ALL
                .into_iter()
                .filter(|status| choice.unwrap().includes(*status))
                .collect();
            assert_eq!(found, moved, "{name}");
        }
    }

    #[test]
    fn a_webhook_that_was_stopped_arrives_stopped_with_its_reason() {
        let now = Timestamp::from_millis(1_771_668_000_000);
        for status in WebhookStatus::ALL {
            let copy = WebhookCopy {
                id: WebhookId::from_bytes([1; 16]),
                tenant: TenantId::default(),
                draft: WebhookDraft::default(),
                secrets: SecretRing::new(SigningSecret::from_key(&[1; 32])),
                status,
                reason: Some(StatusReason::Gone),
                created_at: Timestamp::ZERO,
            };
            let health = copy.health(now);
            assert_eq!((health.status, health.reason), (status, copy.reason));
            let stopped_at = (status != WebhookStatus::Active).then_some(now);
            assert_eq!(health.changed_at, stopped_at, "{status:?}");
        }
    }
}
