//! The embedded fast path: a first attempt starts in the process that accepted the event, without a queue message. Only
//! a store and a worker of the same process have it; on AWS the functions that accept events do not send them.

use async_trait::async_trait;
use postrider_domain::delivery::Lease;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;

use crate::Result;
use crate::deliveries::{Acceptance, Accepted, ClaimedDelivery};

/// A worker that can start attempts at once.
pub trait StartNow: Send + Sync {
    /// Reserves a slot for a first attempt to this webhook. The slot stays taken until the delivery is
    /// [started](Self::start) or the reservation [cancelled](Self::cancel). `None` means that no slot is free: insert the
    /// row free and send a message.
    fn reserve(&self, webhook: &Webhook, now: Timestamp) -> Option<Lease>;

    /// Starts a delivery that was inserted claimed under a reserved lease.
    fn start(&self, delivery: ClaimedDelivery);

    /// Gives a reserved slot back.
    fn cancel(&self, tenant: &TenantId, webhook: WebhookId);
}

/// A reserved slot.
#[derive(Clone, Debug)]
pub struct Reservation {
    pub webhook: WebhookId,
    /// Held by the row if it is inserted claimed.
    pub lease: Lease,
}

/// A store that can insert rows already claimed.
#[async_trait]
pub trait AcceptClaimed: Send + Sync {
    /// Like [`Deliveries::accept`](crate::deliveries::Deliveries::accept) for one event, and inserts the rows of reserved
    /// webhooks already claimed. A reserved row may be missing from the result: its webhook is stopped or slowed down, or
    /// the request was a duplicate. Such a row is inserted free or into the backlog.
    async fn accept_claimed(
        &self,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> Result<(Accepted, Vec<ClaimedDelivery>)>;
}
