//! The claims of a worker on AWS.

use std::sync::Arc;

use postrider_domain::delivery::{Lease, LeaseOwner};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Entropy;
use postrider_ports::deliveries::{Seen, Wanted};

use super::START_MARGIN;

/// How long a lease lasts beyond the end of the function.
const LEASE_MARGIN: Millis = Millis::from_seconds(5);

/// How much of its lease an attempt must leave on AWS: an attempt that the end of the function would cut off is not started.
pub(super) const SPARE: Millis = LEASE_MARGIN.plus(START_MARGIN);

/// Names the owners of this process's claims.
#[derive(Clone)]
pub(super) struct Claims {
    pub(super) process: String,
    pub(super) entropy: Arc<dyn Entropy>,
}

impl Claims {
    pub(super) fn wanted(
        &self,
        tenant: TenantId,
        id: DeliveryId,
        seen: Seen,
        deadline: Timestamp,
    ) -> Wanted {
        let owner = LeaseOwner {
            process: self.process.clone(),
            claim: u64::from_ne_bytes(self.entropy.bytes()),
        };
        Wanted {
            tenant,
            id,
            lease: Lease {
                owner,
                until: deadline.plus(LEASE_MARGIN),
            },
            seen,
        }
    }
}
