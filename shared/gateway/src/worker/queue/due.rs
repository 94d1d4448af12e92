//! Due rows of one webhook: which go out now, and which go out later.

use futures_util::future::join_all;
use postrider_domain::delivery::{Lease, LeaseOwner};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::longest_attempt;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, Wanted};
use postrider_ports::queue::AttemptMessage;
use postrider_ports::schedule::{DueRow, Turn};

use super::{Answer, Handled, QueueWorker};
use crate::pacing::{Moved, Paced, Speed, TurnRules, paced};

/// The time that a function needs after an attempt to write the result and to report.
const START_MARGIN: Millis = Millis::from_seconds(3);
/// How long a lease lasts beyond the end of the function.
const LEASE_MARGIN: Millis = Millis::from_seconds(5);
/// After a stall, the turns of all that time have passed. Those of the last half minute are still valid; the rows of the
/// others ask again, once.
const TURNS: TurnRules = TurnRules {
    hold_for: Millis::from_seconds(30),
    ahead: Millis::from_seconds(30),
};

impl QueueWorker {
    /// Attempts rows, moves them to their turns, or sends their messages again.
    pub(super) async fn handle_due(
        &self,
        tenant: TenantId,
        webhook: WebhookId,
        rows: Vec<DueRow>,
        deadline: Timestamp,
    ) -> Vec<Answer> {
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let taking = self.take_turns(&tenant, webhook, rows, deadline);
        match self.in_time(deadline, taking).await {
            Ok((mut answers, claims)) => {
                let attempts = claims
                    .into_iter()
                    .map(|(id, claim, speed)| self.finish(id, claim, speed, deadline));
                answers.extend(join_all(attempts).await);
                answers
            }
            Err(error) => ids.into_iter().map(|id| (id, Err(error.clone()))).collect(),
        }
    }

    /// Handles rows that do not go out now, and claims those that do.
    async fn take_turns(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        rows: Vec<DueRow>,
        deadline: Timestamp,
    ) -> Result<(Vec<Answer>, Vec<(DeliveryId, Result<Claim>, Speed)>)> {
        let now = self.ports.clock.now();
        let snapshot = self.webhook_cache.recent(tenant, now).await?;
        let known = snapshot.get(webhook);
        let timeout = known.map_or(Millis::ZERO, |webhook| webhook.settings.timeout);
        if now.plus(longest_attempt(timeout)).plus(START_MARGIN) > deadline {
            let messages = rows.into_iter().map(message_of).collect();
            return Ok((
                self.send_each(messages, Handled::SentAgain).await,
                Vec::new(),
            ));
        }
        let store = &*self.ports.store;
        let Paced {
            ready,
            moves,
            aside,
        } = paced(store, known, rows, TURNS, now).await?;
        let mut answers = self.postpone(moves, now).await?;
        answers.extend(self.set_aside(aside, now).await?);
        let known: Vec<_> = ready.iter().map(|(row, speed)| (row.id, *speed)).collect();
        let wanted = ready
            .into_iter()
            .map(|(row, _)| self.wanted(row, deadline))
            .collect();
        let claims = store.claim(wanted, self.ports.clock.now()).await;
        let claims = known.into_iter().zip(claims);
        let claims = claims.map(|((id, speed), claim)| (id, claim, speed));
        Ok((answers, claims.collect()))
    }

    /// Parks rows that have no turn yet. Their messages are sent when they are released.
    async fn set_aside(&self, rows: Vec<AttemptMessage>, now: Timestamp) -> Result<Vec<Answer>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let done = |message: &AttemptMessage| (message.id, Ok(Handled::Postponed));
        let answers = rows.iter().map(done).collect();
        self.ports.store.set_aside(rows, now).await?;
        Ok(answers)
    }

    /// Moves rows to their turns and sends their messages: turns lie well within the reach of a message.
    async fn postpone(&self, moves: Vec<Moved>, now: Timestamp) -> Result<Vec<Answer>> {
        if moves.is_empty() {
            return Ok(Vec::new());
        }
        let steps = moves.iter().map(|moved| moved.step.clone()).collect();
        self.ports.store.postpone(steps, now).await?;
        let messages = moves
            .into_iter()
            .map(|Moved { step, asked_again }| AttemptMessage {
                tenant: step.tenant,
                id: step.id,
                next_retry_at: step.to,
                asked_again,
            });
        Ok(self.send_each(messages.collect(), Handled::Postponed).await)
    }

    fn wanted(&self, row: DueRow, deadline: Timestamp) -> Wanted {
        let owner = LeaseOwner {
            process: self.process.clone(),
            claim: u64::from_ne_bytes(self.ports.entropy.bytes()),
        };
        Wanted {
            tenant: row.tenant,
            id: row.id,
            lease: Lease {
                owner,
                until: deadline.plus(LEASE_MARGIN),
            },
        }
    }
}

fn message_of(row: DueRow) -> AttemptMessage {
    AttemptMessage {
        tenant: row.tenant,
        id: row.id,
        next_retry_at: row.next_retry_at,
        asked_again: row.turn == Turn::SetAgain,
    }
}
