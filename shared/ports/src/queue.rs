//! Telling a dispatcher that something is due.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Lease};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::deliveries::ClaimedDelivery;

const NO_EVENT: EventId = EventId::from_bytes([0; 16]);

/// Names a row and the time it was due; never holds a payload. A lost or doubled hint is harmless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMessage {
    /// Whose it is.
    pub tenant: TenantId,
    /// Which row.
    pub id: DeliveryId,
    /// The `next_retry_at` it was sent for.
    pub next_retry_at: Timestamp,
    /// Its turn took the place of one that had passed. It does not ask a third time, or in a queue that is always late it
    /// would never go out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_again: bool,
}

impl QueueMessage {
    /// The hint that a failed webhook is to be tested. No event has this id: it is no UUIDv7.
    #[must_use]
    pub const fn test(tenant: TenantId, webhook: WebhookId, now: Timestamp) -> Self {
        Self {
            tenant,
            id: DeliveryId {
                event: NO_EVENT,
                webhook,
            },
            next_retry_at: now,
            asked_again: false,
        }
    }

    /// Whether it asks for a test, and names no row.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.id.event == NO_EVENT
    }

    /// The hint that this row is due.
    #[must_use]
    pub fn of(row: &Delivery) -> Self {
        Self {
            tenant: row.tenant.clone(),
            id: row.id,
            next_retry_at: row.next_retry_at.unwrap_or(row.created_at),
            asked_again: false,
        }
    }

    /// The hint for a row that was parked. If it had a turn before, that has passed, and it does not ask a third time.
    #[must_use]
    pub fn of_released(parked: &Delivery, row: &Delivery) -> Self {
        Self {
            asked_again: parked.paced && row.paced,
            ..Self::of(row)
        }
    }
}

/// Brings rows to a dispatcher.
#[async_trait]
pub trait Queue: Send + Sync {
    /// The lease under which a fresh row of this webhook may be inserted already claimed, because its first attempt
    /// could start at once in this very process. It holds a place until the parcel is [handed over](Self::start) or
    /// the lease [declined](Self::decline). `None` means: insert it free and send a hint.
    fn offer(&self, webhook: &Webhook, now: Timestamp) -> Option<Lease>;

    /// Hands over a row that was inserted claimed under an offered lease.
    fn start(&self, delivery: ClaimedDelivery);

    /// Gives an offered place back.
    fn decline(&self, tenant: &TenantId, webhook: WebhookId);

    /// Sends hints, each to arrive when its row is due or soon after; one result each. A row that is due further ahead
    /// than [`HINT_REACH`](postrider_domain::delivery::HINT_REACH) is nobody's to send yet.
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>>;

    /// About how many hints wait to be taken.
    async fn depth(&self) -> Result<u64>;
}
