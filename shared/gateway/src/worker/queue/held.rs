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

#[cfg(test)]
mod tests {
    use postrider_domain::ids::TenantId;
    use postrider_ports::deliveries::ClaimedDelivery;
    use postrider_testkit::builders::{self, NOW, after, webhook_id};

    use super::*;

    #[test]
    fn the_event_of_an_attempt_that_has_ended_is_held_until_the_batch_ends() {
        let event = builders::event(&TenantId::default(), 1, NOW);
        let row = builders::row(&event, webhook_id(1));
        let lease = builders::lease("process", 1, after(60));
        let (claimed, event) = (row.claim(&lease, NOW).unwrap(), Arc::new(event));
        let unused = Arc::downgrade(&event);
        let held = HeldEvents::default();
        let claim = Ok(Claim::Claimed(Box::new(ClaimedDelivery { claimed, event })));
        held.hold(std::iter::once(&claim));
        drop(claim);
        assert!(unused.upgrade().is_some());
        drop(held);
        assert!(unused.upgrade().is_none());
    }
}
