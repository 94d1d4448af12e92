//! Claims rows, and what claims are for.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Delivery, Lease, Unclaimable};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::{Applied, Claim, Renewed, Seen, SeenRow, Wanted};
use proptest::prelude::*;

use super::command::Ending;
use super::{LEASE, Model};
use crate::builders;

impl Model {
    pub(super) fn lease(&mut self) -> Lease {
        self.drawn += 1;
        let until = self.now.plus(LEASE);
        builders::lease(&self.handle().process, u64::from(self.drawn), until)
    }

    pub(super) fn wanted(&mut self, id: DeliveryId) -> Wanted {
        let lease = self.lease();
        self.wanted_under(id, lease)
    }

    pub(super) fn wanted_under(&self, id: DeliveryId, lease: Lease) -> Wanted {
        Wanted {
            tenant: self.ours.tenant.clone(),
            id,
            lease,
            seen: self.seen(id.webhook),
        }
    }

    /// What callers may know already, in turns.
    fn seen(&self, webhook: WebhookId) -> Seen {
        let health = self.ours.health_of(webhook);
        let active = health.filter(|health| !health.status.is_stopped());
        Seen {
            generation: active
                .filter(|_| self.drawn.is_multiple_of(2))
                .map(|health| health.generation),
            row: if self.drawn.is_multiple_of(3) {
                SeenRow::Accepted
            } else {
                SeenRow::Read
            },
        }
    }

    pub(super) async fn claim_row(&mut self, row: usize) -> Result<(), TestCaseError> {
        let Some(id) = self.ours.row_at(row) else {
            return Ok(());
        };
        let wanted = self.wanted(id);
        self.claim(wanted).await
    }

    pub(super) async fn claim_again(&mut self, claim: usize) -> Result<(), TestCaseError> {
        let Some((_, wanted)) = self.ours.claim_at(claim) else {
            return Ok(());
        };
        let seen = self.seen(wanted.id.webhook);
        self.claim(Wanted { seen, ..wanted }).await
    }

    async fn claim(&mut self, wanted: Wanted) -> Result<(), TestCaseError> {
        let id = wanted.id;
        let expected = match self.row(id) {
            None => format!("{:?}", Claim::Missing),
            Some(before) if wanted.is_written_since(&before) => format!("{:?}", Claim::NotFresh),
            Some(before) => match before.clone().claim(&wanted.lease, self.now) {
                Err(why) => format!("{why:?}"),
                Ok(claimed) if claimed.version() == before.version => self.hand_over(claimed, None),
                Ok(claimed) => self.claim_free(&before, claimed, &wanted, Found::ByMessage),
            },
        };
        let claims = self.store().claim(vec![wanted], self.now).await;
        self.compare_claim(id, claims, &expected)
    }

    /// Claims a row that is in a backlog.
    pub(super) async fn drain(&mut self, row: usize) -> Result<(), TestCaseError> {
        let Some(id) = self.ours.row_at(row) else {
            return Ok(());
        };
        let wanted = Wanted {
            seen: Seen::default(),
            ..self.wanted(id)
        };
        let Some(before) = self.row(id).filter(|row| row.in_backlog) else {
            return Ok(());
        };
        let claimed = before.clone().claim_from_backlog(&wanted.lease, self.now);
        let expected = match claimed {
            Err(why) => format!("{why:?}"),
            Ok(claimed) => self.claim_free(&before, claimed, &wanted, Found::InBacklog),
        };
        let claims = self.store().claim_from_backlog(vec![wanted], self.now);
        let claims = claims.await;
        self.compare_claim(id, claims, &expected)
    }

    /// A free row is claimed if its webhook is active.
    fn claim_free(
        &mut self,
        before: &Delivery,
        claimed: Claimed,
        wanted: &Wanted,
        by: Found,
    ) -> String {
        let health = self.ours.health_of(wanted.id.webhook);
        match health.map(|health| (health.status, health.generation)) {
            None => {
                self.ours.change(&before.webhook_deleted(), self.now);
                format!("{:?}", Claim::WebhookDeleted)
            }
            Some((status, _)) if status.is_stopped() => {
                if by == Found::ByMessage && self.handle().waiting_rows.marks(status) {
                    self.ours.change(&before.moved_to_backlog(), self.now);
                }
                format!("{:?}", Unclaimable::InBacklog)
            }
            Some((_, generation)) => {
                let claimed = claimed.in_generation(generation);
                self.ours.change(claimed.delivery(), self.now);
                self.hand_over(claimed, Some(wanted))
            }
        }
    }

    /// A row whose event was erased while it was attempted is ended instead.
    fn hand_over(&mut self, claimed: Claimed, new: Option<&Wanted>) -> String {
        if self.ours.is_erased(claimed.delivery().id.event) {
            self.ours.change(&claimed.delivery().erased(), self.now);
            return format!("{:?}", Unclaimable::Closed);
        }
        self.ours
            .claims
            .extend(new.map(|wanted| (claimed, wanted.clone())));
        CLAIMED.to_owned()
    }

    fn compare_claim(
        &self,
        id: DeliveryId,
        claims: Vec<postrider_ports::Result<Claim>>,
        expected: &str,
    ) -> Result<(), TestCaseError> {
        let said = match claims.into_iter().next().unwrap() {
            Ok(Claim::Claimed(delivery)) => {
                prop_assert_eq!(delivery.claimed.delivery(), &self.ours.rows[&id]);
                prop_assert_eq!(&delivery.event, &self.ours.events[&id.event].event);
                CLAIMED.to_owned()
            }
            Ok(Claim::Unclaimable(why)) => format!("{why:?}"),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{error:?}"),
        };
        prop_assert_eq!(said, expected);
        Ok(())
    }

    pub(super) async fn apply(
        &mut self,
        claim: usize,
        ending: Ending,
    ) -> Result<(), TestCaseError> {
        let Some((claimed, _)) = self.ours.claim_at(claim) else {
            return Ok(());
        };
        let id = claimed.delivery().id;
        let transition = ending.transition(self.now);
        let mut completion = builders::completion(&claimed, transition, self.now);
        // Some attempts saw the webhook's current state, others an older one.
        let health = self.ours.health_of(id.webhook);
        let seen = health.map_or(0, |health| health.generation);
        completion.generation =
            seen.saturating_sub(u32::from(claimed.owner().claim.is_multiple_of(3)));
        let holder = self.held_by(&claimed).cloned();
        let recorded = self.ours.attempts.get(&id).into_iter().flatten();
        let mut versions = recorded.map(|attempt| attempt.version);
        let was_recorded = versions.any(|version| version == claimed.version());
        if let Some(stored) = &holder {
            let attempts = self.ours.attempts.entry(id).or_default();
            attempts.push(completion.attempt.clone());
            self.ours.change(&stored.completed(&completion), self.now);
        }
        let expected = if holder.is_some() || was_recorded {
            Applied::Done(Box::new(self.ours.rows[&id].clone()))
        } else {
            Applied::Stale
        };
        let applied = self.store().apply(&claimed, completion, self.now).await;
        prop_assert_eq!(applied, Ok(expected));
        Ok(())
    }

    /// The row as stored, if the claim still holds it. That its process has ended makes no difference until another one claims
    /// it.
    fn held_by(&self, claimed: &Claimed) -> Option<&Delivery> {
        let stored = self.ours.rows.get(&claimed.delivery().id);
        stored.filter(|stored| claimed.still_holds(stored))
    }

    pub(super) async fn renew(&mut self, claim: usize) -> Result<(), TestCaseError> {
        let Some((claimed, _)) = self.ours.claim_at(claim) else {
            return Ok(());
        };
        let until = self.now.plus(LEASE);
        let expected = match self.held_by(&claimed).cloned() {
            Some(mut stored) => {
                stored.lease_until = until;
                self.ours.rows.insert(stored.id, stored);
                Renewed::Held
            }
            None => Renewed::Lost,
        };
        let renewed = self.store().renew(&claimed, until).await;
        prop_assert_eq!(renewed, Ok(expected));
        Ok(())
    }

    pub(super) async fn give_back(&mut self, claim: usize) -> Result<(), TestCaseError> {
        let Some((claimed, _)) = self.ours.claim_at(claim) else {
            return Ok(());
        };
        if let Some(stored) = self.held_by(&claimed) {
            let free = stored.given_back();
            self.ours.rows.insert(free.id, free);
        }
        let given_back = self.store().give_back(&claimed, self.now).await;
        prop_assert_eq!(given_back, Ok(()));
        Ok(())
    }
}

impl Ending {
    pub(super) fn transition(self, now: Timestamp) -> Transition {
        match self {
            Self::Deliver => Transition::Deliver,
            Self::Retry { after_ms } => Transition::Retry {
                next_retry_at: now.plus(Millis::new(after_ms)),
            },
            Self::Die(cause) => Transition::Die { cause },
        }
    }
}

const CLAIMED: &str = "Claimed";

/// How the claimer found the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    ByMessage,
    InBacklog,
}
