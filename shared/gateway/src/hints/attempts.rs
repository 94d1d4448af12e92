//! What becomes of a claim.

use postrider_domain::delivery::{HINT_REACH, Unclaimable};
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, Parcel};
use postrider_ports::queue::Hint;

use super::{Answer, Handled, Hints, Needless};
use crate::dispatch::{Attempted, Tested};
use crate::pacing::Speed;
use crate::telemetry;

impl Hints {
    /// Attempts what was claimed.
    pub(super) async fn finish(
        &self,
        id: DeliveryId,
        claim: Result<Claim>,
        speed: Speed,
        deadline: Timestamp,
    ) -> Answer {
        let dropped = |why| Ok(Handled::Dropped(why));
        let answer = match claim {
            Ok(Claim::Claimed(parcel)) => self.attempt(&parcel, speed, deadline).await,
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

    /// Tests the webhook that a hint names.
    pub(super) async fn test(&self, hint: Hint, deadline: Timestamp) -> Answer {
        let test = self.dispatcher.test(&hint.tenant, hint.id.webhook);
        let tested = self.in_time(deadline, test).await;
        let answer = tested.map(|tested| match tested {
            Tested::Passed | Tested::Failed => Handled::Tested,
            Tested::NotMade => Handled::Dropped(Needless::Superseded),
        });
        (hint.id, answer)
    }

    async fn attempt(&self, parcel: &Parcel, speed: Speed, deadline: Timestamp) -> Result<Handled> {
        let attempt = self.dispatcher.attempt(parcel, speed);
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
