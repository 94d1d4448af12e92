//! What follows when the gateway itself could not send: nothing is booked on the receiver.

use postrider_domain::delivery::Claimed;
use postrider_ports::sender::OwnFault;

use super::{Attempted, Attempts};
use crate::{metrics, telemetry};

impl Attempts {
    /// Makes the row what it was before its claim. If that cannot be written, the lease expires.
    pub(super) async fn give_back(&self, claimed: &Claimed, fault: OwnFault) -> Attempted {
        metrics::own_fault(fault.kind);
        telemetry::given_back(claimed, &fault);
        self.free(claimed).await;
        Attempted::GivenBack(fault)
    }

    /// Makes a claimed row free and due as before.
    pub(crate) async fn free(&self, claimed: &Claimed) {
        let now = self.ports.clock.now();
        if let Err(error) = self.ports.store.give_back(claimed, now).await {
            telemetry::give_back_failed(claimed, &error);
        }
    }
}
