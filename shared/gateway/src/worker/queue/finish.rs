//! Handles claims and probes.

use postrider_domain::delivery::{MESSAGE_REACH, Unclaimable};
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, ClaimedDelivery};
use postrider_ports::limiters::WebhookFlow;
use postrider_ports::queue::{ProbeMessage, QueueMessage};

use super::{Answer, Handled, Needless, QueueWorker};
use crate::attempt::{Attempted, ProbeResult};
use crate::telemetry;
use crate::worker::claims::SPARE;

impl QueueWorker {
    /// Attempts a claimed row.
    pub(super) async fn finish(
        &self,
        id: DeliveryId,
        claim: Result<Claim>,
        known: Option<&(Box<Webhook>, WebhookFlow)>,
        deadline: Timestamp,
    ) -> Answer {
        let dropped = |why| Ok(Handled::Dropped(why));
        let answer = match claim {
            Ok(Claim::Claimed(delivery)) => self.attempt(&delivery, known, deadline).await,
            Ok(Claim::Missing) => dropped(Needless::Missing),
            // Its row was read before this claim.
            Ok(Claim::NotFresh) => dropped(Needless::Superseded),
            Ok(Claim::WebhookDeleted | Claim::Unclaimable(Unclaimable::Closed)) => {
                dropped(Needless::Closed)
            }
            Ok(Claim::Unclaimable(Unclaimable::Held)) => dropped(Needless::Held),
            Ok(Claim::Unclaimable(Unclaimable::InBacklog)) => dropped(Needless::InBacklog),
            // The row was due a moment ago: the process that changed that has sent its message.
            Ok(Claim::Unclaimable(Unclaimable::NotDue(_))) => dropped(Needless::Superseded),
            Err(error) => Err(error),
        };
        (id, answer)
    }

    /// Probes the webhook that a message names.
    pub(super) async fn probe(
        &self,
        message: &ProbeMessage,
        deadline: Timestamp,
    ) -> Result<Handled> {
        let probe = self.attempts.probe(&message.tenant, message.webhook);
        let probed = self.in_time(deadline, probe).await;
        probed.and_then(|probed| match probed {
            ProbeResult::Passed | ProbeResult::Failed => Ok(Handled::Probed),
            ProbeResult::GivenBack(fault) => Err(fault.into()),
            ProbeResult::NotSent => Ok(Handled::Dropped(Needless::Superseded)),
        })
    }

    async fn attempt(
        &self,
        delivery: &ClaimedDelivery,
        known: Option<&(Box<Webhook>, WebhookFlow)>,
        deadline: Timestamp,
    ) -> Result<Handled> {
        let attempt = async {
            let Some((webhook, flow)) = known else {
                return self.attempts.attempt(delivery, SPARE).await.written;
            };
            let result = self.attempts.attempt_to(delivery, webhook, SPARE).await;
            if let Some(observation) = result.observation {
                self.observe((webhook, flow), observation).await;
            }
            result.written
        };
        match self.in_time(deadline, attempt).await {
            Ok(Attempted::Done(after)) => {
                let reach = self.ports.clock.now().plus(MESSAGE_REACH);
                if after.next_retry_at.is_some_and(|due_at| due_at <= reach) {
                    self.in_time(deadline, self.send(QueueMessage::of(&after)))
                        .await?;
                }
                Ok(Handled::Attempted)
            }
            Ok(Attempted::Stale) => {
                telemetry::attempt_not_counted(&delivery.claimed, "stale");
                Ok(Handled::Dropped(Needless::NotCounted))
            }
            Ok(Attempted::NotStarted) => {
                telemetry::attempt_not_counted(&delivery.claimed, "not started");
                let again = QueueMessage::of(delivery.claimed.delivery());
                self.in_time(deadline, self.send(again)).await?;
                Ok(Handled::SentAgain)
            }
            // The queue delivers the message again, perhaps to another machine.
            Ok(Attempted::GivenBack(fault)) => Err(fault.into()),
            Err(error) => {
                telemetry::attempt_abandoned(&delivery.claimed, &error);
                Err(error)
            }
        }
    }
}
