//! What becomes of a claim.

use postrider_domain::delivery::{HINT_REACH, Unclaimable};
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, Parcel};
use postrider_ports::queue::Hint;

use super::{Answer, Handled, Hints, Needless};
use crate::dispatch::Attempted;
use crate::telemetry;

impl Hints {
    /// Attempts what was claimed.
    pub(super) async fn finish(
        &self,
        id: DeliveryId,
        claim: Result<Claim>,
        deadline: Timestamp,
    ) -> Answer {
        let dropped = |why| Ok(Handled::Dropped(why));
        let answer = match claim {
            Ok(Claim::Claimed(parcel)) => self.attempt(&parcel, deadline).await,
            Ok(Claim::Missing) => dropped(Needless::Missing),
            Ok(Claim::Orphaned | Claim::Refused(Unclaimable::Closed)) => dropped(Needless::Closed),
            Ok(Claim::Refused(Unclaimable::Held)) => dropped(Needless::Held),
            Ok(Claim::Refused(Unclaimable::Parked)) => dropped(Needless::Parked),
            // It was due a moment ago: whoever changed that has sent its hint.
            Ok(Claim::Refused(Unclaimable::NotDue(_))) => dropped(Needless::Superseded),
            Err(error) => Err(error),
        };
        (id, answer)
    }

    async fn attempt(&self, parcel: &Parcel, deadline: Timestamp) -> Result<Handled> {
        let attempt = self.dispatcher.attempt(parcel);
        match self.in_time(deadline, attempt).await {
            Ok(Attempted::Done(after)) => {
                let reach = self.ports.clock.now().plus(HINT_REACH);
                if after.next_retry_at.is_some_and(|due_at| due_at <= reach) {
                    self.in_time(deadline, self.send(Hint::of(&after))).await?;
                }
                Ok(Handled::Attempted)
            }
            Ok(Attempted::Stale) => {
                telemetry::attempt_not_counted(&parcel.claimed, "stale");
                Ok(Handled::Dropped(Needless::NotCounted))
            }
            Ok(Attempted::NotStarted) => {
                telemetry::attempt_not_counted(&parcel.claimed, "not started");
                Ok(Handled::Dropped(Needless::NotCounted))
            }
            Err(error) => {
                telemetry::attempt_abandoned(&parcel.claimed, &error);
                Err(error)
            }
        }
    }
}
