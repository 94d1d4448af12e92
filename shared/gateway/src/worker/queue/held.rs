//! The events of a batch. A store shares the read of an event between attempts that use it at the same time; they are held
//! until the batch ends, so that a fan-out reads its event once, however fast its first receivers are.

use std::sync::Arc;

use parking_lot::Mutex;
use postrider_domain::event::Event;
use postrider_ports::Result;
use postrider_ports::deliveries::Claim;

/// No larger than if all attempts of the batch ran until its end.
#[derive(Default)]
pub(super) struct HeldEvents(Mutex<Vec<Arc<Event>>>);

impl HeldEvents {
    pub(super) fn hold<'a>(&self, claims: impl Iterator<Item = &'a Result<Claim>>) {
        let event = |claim: &Result<Claim>| match claim {
            Ok(Claim::Claimed(delivery)) => Some(Arc::clone(&delivery.event)),
            Ok(
                Claim::Missing | Claim::NotFresh | Claim::WebhookDeleted | Claim::Unclaimable(_),
            )
            | Err(_) => None,
        };
        self.0.lock().extend(claims.filter_map(event));
    }
}
