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
#[async_trait]
pub trait StartNow: Send + Sync {
    /// Waits a moment if accepting events runs ahead of delivering them.
    async fn admit(&self);

    /// Whether a new row of this webhook, with a body of this length, may be stored claimed, and under which lease. The
    /// worker expects it until it is [started](Self::start) or the reservation [cancelled](Self::cancel). `None` means that it
    /// would wait for long: insert the row free and send a message.
    fn reserve(&self, webhook: &Webhook, bytes: usize, now: Timestamp) -> Option<Lease>;

    /// Starts a delivery that was inserted claimed under a reserved lease, at once or as soon as a slot is free.
    fn start(&self, delivery: ClaimedDelivery);

    /// Cancels a reservation.
    fn cancel(&self, tenant: &TenantId, webhook: WebhookId, bytes: usize);
}

/// An event with its rows, and the reservations for some of them.
#[derive(Clone, Debug)]
pub struct Planned {
    pub acceptance: Acceptance,
    pub reserved: Vec<Reservation>,
}

/// The permission to store a row claimed.
#[derive(Clone, Debug)]
pub struct Reservation {
    pub webhook: WebhookId,
    /// Held by the row if it is inserted claimed.
    pub lease: Lease,
}

/// A store that can insert rows already claimed.
#[async_trait]
pub trait AcceptClaimed: Send + Sync {
    /// Like [`Deliveries::accept`](crate::deliveries::Deliveries::accept), and inserts the rows of reserved webhooks already
    /// claimed. A reserved row may be missing from the result: its webhook is stopped or slowed down, or the request was a
    /// duplicate. Such a row is inserted free or into the backlog.
    async fn accept_claimed(
        &self,
        batch: Vec<Planned>,
    ) -> Vec<Result<(Accepted, Vec<ClaimedDelivery>)>>;
}
