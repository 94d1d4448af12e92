//! What moving a gateway's data needs beyond the other ports.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{DeliveryId, EventId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;

/// A delivery with its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedDelivery {
    pub row: Delivery,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
}

/// An event of another gateway, with some or all of its deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedEvent {
    pub event: Arc<Event>,
    /// So that a publisher that repeats its request here still gets a duplicate.
    pub request_hash: RequestHash,
    pub deliveries: Vec<MovedDelivery>,
}

/// The result of adopting an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adopted {
    /// It is stored, with all these deliveries; those that were already there are unchanged. Names the new ones.
    Done { new: Vec<DeliveryId> },
    /// A different request created an event with this id here; nothing was written.
    Conflict,
}

/// Reads and writes what only a move needs.
#[async_trait]
pub trait Transfers: Send + Sync {
    /// Every tenant with a key or a webhook, and the default one; sorted.
    async fn tenants(&self) -> Result<Vec<TenantId>>;

    /// An event with the hash of the request that created it.
    async fn event_with_hash(
        &self,
        tenant: &TenantId,
        id: EventId,
    ) -> Result<Option<(Arc<Event>, RequestHash)>>;

    /// Stores an event of another gateway with its deliveries and their attempts. Nothing is counted and no notification is
    /// sent: it all happened elsewhere. An open row is free, and due at its `next_retry_at`; no queue message is sent. A row
    /// of a paused, failed or disabled webhook goes to its backlog. Repeating the call completes an interrupted one.
    async fn adopt_event(&self, moved: MovedEvent, now: Timestamp) -> Result<Adopted>;
}
