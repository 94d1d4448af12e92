//! Claims rows, and what claims are for.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Delivery, Lease, Unclaimable};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::{Applied, Claim, Renewed, Seen, SeenRow, Wanted};
use proptest::prelude::*;

use super::calling::Answer;
use super::command::Ending;
use super::{LEASE, Model};
use crate::builders;

impl Model<'_> {
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
        let first = self.expected_claim(&wanted);
        let second = if self.processes.is_void(&wanted.lease.owner) {
            // A process that has ended repeats nothing.
            self.interruption.set(None);
            first.clone()
        } else {
            self.expected_claim(&wanted)
        };
        let claim = async || {
            let claims = self.store().claim(vec![wanted.clone()], self.now);
            claims.await.remove(0)
        };
        let answer = self.call(claim).await;
        self.compare_claim(wanted.id, answer, [&first, &second])
    }

    /// What the claim does to the row; again, what it finds when it is repeated.
    fn expected_claim(&mut self, wanted: &Wanted) -> String {
        match self.row(wanted.id) {
            None => format!("{:?}", Claim::Missing),
            Some(before) if wanted.is_written_since(&before) => format!("{:?}", Claim::NotFresh),
            Some(before) => {
                let claimed = before.clone().claim(&wanted.lease, self.now);
                self.expected_of(&before, claimed, wanted, Found::ByMessage)
            }
        }
    }

    fn expected_of(
        &mut self,
        before: &Delivery,
        claimed: Result<Claimed, Unclaimable>,
        wanted: &Wanted,
        by: Found,
    ) -> String {
        match claimed {
            Err(why) => format!("{why:?}"),
            Ok(claimed) if claimed.version() == before.version => self.hand_over(claimed, None),
            Ok(claimed) => self.claim_free(before, claimed, wanted, by),
        }
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
        if !self.ours.rows[&id].in_backlog {
            return Ok(());
        }
        let expected = [(); 2].map(|()| self.expected_drain(&wanted));
        let claim = async || {
            let claims = self
                .store()
                .claim_from_backlog(vec![wanted.clone()], self.now);
            claims.await.remove(0)
        };
        let answer = self.call(claim).await;
        self.compare_claim(id, answer, expected.each_ref())
    }

    fn expected_drain(&mut self, wanted: &Wanted) -> String {
        let before = self.row(wanted.id).unwrap();
        let claimed = before.clone().claim_from_backlog(&wanted.lease, self.now);
        self.expected_of(&before, claimed, wanted, Found::InBacklog)
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
        Answer { said, is_repeated }: Answer<Claim>,
        [first, second]: [&String; 2],
    ) -> Result<(), TestCaseError> {
        let said = match said {
            Ok(Claim::Claimed(delivery)) => {
                prop_assert_eq!(delivery.claimed.delivery(), &self.ours.rows[&id]);
                prop_assert_eq!(&delivery.event, &self.ours.events[&id.event].event);
                CLAIMED.to_owned()
            }
            Ok(Claim::Unclaimable(why)) => format!("{why:?}"),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{error:?}"),
        };
        if !is_repeated || said != *second {
            prop_assert_eq!(&said, first);
        }
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
        let apply = async || {
            let store = self.store();
            store.apply(&claimed, completion.clone(), self.now).await
        };
        prop_assert_eq!(self.call(apply).await.said, Ok(expected));
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
        let renew = async || self.store().renew(&claimed, until).await;
        prop_assert_eq!(self.call(renew).await.said, Ok(expected));
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
        let give_back = async || self.store().give_back(&claimed, self.now).await;
        prop_assert_eq!(self.call(give_back).await.said, Ok(()));
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
