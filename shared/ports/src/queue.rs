//! The queue between whatever finds work and the workers that do it.

use std::fmt;

use async_trait::async_trait;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;

/// Work for a queue worker. A message holds ids, never a payload; a lost or duplicated message is harmless, because the
/// worker reads the row and the claim decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QueueMessage {
    /// A delivery is due.
    Attempt(AttemptMessage),
    /// A failed webhook is due for a probe.
    Probe(ProbeMessage),
    /// A webhook has a backlog to drain.
    Drain(DrainMessage),
}

/// Names a delivery and the time it is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptMessage {
    pub tenant: TenantId,
    pub id: DeliveryId,
    /// The `next_retry_at` that the message was sent for.
    pub next_retry_at: Timestamp,
    /// Whether the row had just been accepted: most are still as they were, so the worker claims it without reading it
    /// first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

/// Names a failed webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeMessage {
    pub tenant: TenantId,
    pub webhook: WebhookId,
}

/// Names a webhook with a backlog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainMessage {
    pub tenant: TenantId,
    pub webhook: WebhookId,
    /// When there will be something to do.
    pub not_before: Timestamp,
}

impl QueueMessage {
    /// The message that this row is due.
    #[must_use]
    pub fn of(row: &Delivery) -> Self {
        Self::Attempt(AttemptMessage::of(row))
    }

    /// Whose receiver the worker will call.
    #[must_use]
    pub const fn webhook(&self) -> WebhookId {
        match self {
            Self::Attempt(message) => message.id.webhook,
            Self::Probe(message) => message.webhook,
            Self::Drain(message) => message.webhook,
        }
    }

    /// The earliest time to deliver the message; `None` means now.
    #[must_use]
    pub const fn not_before(&self) -> Option<Timestamp> {
        match self {
            Self::Attempt(message) => Some(message.next_retry_at),
            Self::Probe(_) => None,
            Self::Drain(message) => Some(message.not_before),
        }
    }
}

impl fmt::Display for QueueMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(message) => write!(f, "an attempt of {}", message.id),
            Self::Probe(message) => write!(f, "a probe of {}", message.webhook),
            Self::Drain(message) => write!(f, "a drain of {}", message.webhook),
        }
    }
}

impl From<AttemptMessage> for QueueMessage {
    fn from(message: AttemptMessage) -> Self {
        Self::Attempt(message)
    }
}

impl From<ProbeMessage> for QueueMessage {
    fn from(message: ProbeMessage) -> Self {
        Self::Probe(message)
    }
}

impl From<DrainMessage> for QueueMessage {
    fn from(message: DrainMessage) -> Self {
        Self::Drain(message)
    }
}

impl AttemptMessage {
    /// The message that this row is due.
    #[must_use]
    pub fn of(row: &Delivery) -> Self {
        Self {
            tenant: row.tenant.clone(),
            id: row.id,
            next_retry_at: row.next_retry_at.unwrap_or(row.created_at),
            fresh: row.is_fresh(),
        }
    }
}

/// Brings messages to queue workers.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Sends messages, each to arrive when its row is due or soon after; one result per message, in order. Callers do
    /// not send rows that are due further ahead than [`MESSAGE_REACH`](postrider_domain::delivery::MESSAGE_REACH): the
    /// poller sends those when their time is near.
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>>;

    /// About how many messages wait to be received.
    async fn depth(&self) -> Result<u64>;
}
