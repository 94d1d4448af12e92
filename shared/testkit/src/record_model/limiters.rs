//! Limiters that workers enter, and the credit of retries.

use postrider_domain::flow::{Credit, Limiter};
use postrider_domain::ids::WebhookId;
use postrider_ports::drains::DrainLease;
use postrider_ports::limiters::Stored;
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};

#[derive(Clone, Debug)]
pub(super) enum LimiterCommand {
    Enter {
        webhook: usize,
        seen: Seen,
    },
    TakeCredit {
        webhook: usize,
        want: usize,
    },
    /// Does all of it to a webhook of the other tenant, as if it were ours.
    Confuse {
        webhook: usize,
    },
}

pub(super) fn command() -> impl Strategy<Value = LimiterCommand> {
    let number = any::<usize>;
    prop_oneof![
        3 => (number(), command::seen())
            .prop_map(|(webhook, seen)| LimiterCommand::Enter { webhook, seen }),
        4 => (number(), 1..4_usize)
            .prop_map(|(webhook, want)| LimiterCommand::TakeCredit { webhook, want }),
        1 => number().prop_map(|webhook| LimiterCommand::Confuse { webhook }),
    ]
}

impl Model {
    pub(super) async fn do_with_limiters(
        &mut self,
        command: &LimiterCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            LimiterCommand::Enter { webhook, seen } => {
                let place = self.webhook_at(webhook).await?;
                self.enter(place, seen).await
            }
            LimiterCommand::TakeCredit { webhook, want } => {
                let place = self.webhook_at(webhook).await?;
                self.take_credit(place, want).await
            }
            LimiterCommand::Confuse { webhook } => self.confuse_flows(webhook).await,
        }
    }

    async fn enter(&mut self, place: usize, seen: Seen) -> Result<(), TestCaseError> {
        let (n, now) = (self.draw(), self.now);
        let kept = self.ours.kept(place);
        let (id, flow) = (kept.webhook.id, &mut kept.flow);
        let seen_epoch = flow.epoch(seen);
        let entered = Limiter {
            limited: true,
            rate_milli: 1_000 + n,
            changed_at: now,
            epoch: seen_epoch + 1,
            ..flow.limiter
        };
        let is_open = kept.is_stored && !flow.limiter.limited;
        let expected = if is_open && seen == Seen::Current {
            flow.limiter = entered;
            Stored::Done
        } else {
            Stored::Outdated
        };
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let stored = store.enter(tenant, id, seen_epoch, entered, now).await;
        prop_assert_eq!(stored, Ok(expected));
        self.look_at_registration(place).await;
        if expected == Stored::Done && self.has_backlogs() {
            prop_assert_eq!(self.ours.kept(place).flow.registered, Some(now));
        }
        Ok(())
    }

    async fn take_credit(&mut self, place: usize, want: usize) -> Result<(), TestCaseError> {
        let (id, now) = (self.ours.id_at(place), self.now);
        let Some(seen) = self.flow(id).await else {
            return Ok(());
        };
        let kept = self.ours.kept(place);
        let limits = kept.webhook.settings.limits();
        let is_open = !kept.flow.limiter.limited && !kept.flow.drain.is_leased(now);
        let rate = kept.flow.limiter.retry_rate_milli(&limits);
        let mut credit = seen.credit.unwrap_or_else(|| Credit::full(now)).healed(now);
        let expected = if is_open {
            credit.take(rate, want, now)
        } else {
            0
        };
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let taken = store.take_credit(tenant, id, &seen, want, limits, now);
        prop_assert_eq!(taken.await, Ok(expected));
        let after = self.flow(id).await.and_then(|flow| flow.credit);
        if expected > 0 {
            prop_assert_eq!(after, Some(credit));
        }
        // A worker that has not seen that it was taken gets only what is left.
        let left = if is_open {
            credit.take(rate, want, now)
        } else {
            0
        };
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let taken = store.take_credit(tenant, id, &seen, want, limits, now);
        prop_assert_eq!(taken.await, Ok(left), "what is left");
        Ok(())
    }

    async fn confuse_flows(&self, n: usize) -> Result<(), TestCaseError> {
        let Some(theirs) = super::nth(&self.theirs.webhooks, n) else {
            return Ok(());
        };
        let (id, limiter) = (theirs.webhook.id, theirs.flow.limiter);
        prop_assert_eq!(self.flow(id).await, None);
        let lease = theirs.flow.drain.lease.clone();
        let lease = lease.unwrap_or_else(|| DrainLease {
            owner: "process/0".to_owned(),
            taken_at: self.now,
        });
        self.confuse_limiter(id, limiter, lease).await?;
        let (store, us) = (self.flows(), &self.ours.tenant);
        let seen = theirs.flow.drain.asked_for;
        let asked = store.ask_for_drain(us, id, seen, self.now).await;
        prop_assert_eq!(asked, Ok(Stored::Outdated));
        Ok(())
    }

    async fn confuse_limiter(
        &self,
        id: WebhookId,
        limiter: Limiter,
        lease: DrainLease,
    ) -> Result<(), TestCaseError> {
        let (store, us, epoch) = (self.flows(), &self.ours.tenant, limiter.epoch);
        let entered = Limiter {
            limited: true,
            ..limiter
        };
        let stored = store.enter(us, id, epoch, entered, self.now).await;
        prop_assert_eq!(stored, Ok(Stored::Outdated));
        let stored = store.store_limiter(us, id, &lease, epoch, entered).await;
        prop_assert_eq!(stored, Ok(Stored::Outdated));
        prop_assert_eq!(store.take_drain_lease(us, id, lease).await, Ok(None));
        // Their backlog was registered under our tenant with the limiter, where there is none to drain.
        let stray = store.registration(us, id).await.unwrap();
        if let Some(stray) = stray.filter(|_| self.has_backlogs()) {
            prop_assert_eq!(store.unregister_backlog(&stray).await, Ok(()));
        }
        Ok(())
    }
}
