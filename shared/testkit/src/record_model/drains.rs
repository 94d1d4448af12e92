//! The leases of those who drain backlogs, and what they write.

use postrider_domain::flow::{Credit, Limiter};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::drains::{DrainEnd, DrainLease, DrainState, Looked};
use postrider_ports::limiters::Stored;
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};

const OWNERS: u8 = 3;
/// No clock runs ahead, one runs ahead as far as it may, or a day.
const AHEAD_MS: [u64; 3] = [0, 5_000, 86_400_000];

#[derive(Clone, Debug)]
pub(super) enum DrainCommand {
    Register {
        webhook: usize,
    },
    Unregister {
        webhook: usize,
        seen: Seen,
    },
    Ask {
        webhook: usize,
        seen: Seen,
    },
    Take {
        webhook: usize,
        owner: u8,
        ahead_ms: u64,
    },
    /// Stores the limiter after a step that opens the webhook, or not.
    Step {
        webhook: usize,
        owner: u8,
        seen: Seen,
        opens: bool,
    },
    End {
        webhook: usize,
        owner: u8,
        seen: Seen,
        has_looked: bool,
    },
    StoreRound,
}

pub(super) fn command() -> impl Strategy<Value = DrainCommand> {
    let (number, owner, flag, seen) = (any::<usize>, one_of_owners, any::<bool>, command::seen);
    let ahead = prop_oneof![6 => Just(0), 1 => prop::sample::select(&AHEAD_MS[..])];
    prop_oneof![
        2 => number().prop_map(|webhook| DrainCommand::Register { webhook }),
        1 => (number(), seen())
            .prop_map(|(webhook, seen)| DrainCommand::Unregister { webhook, seen }),
        2 => (number(), seen()).prop_map(|(webhook, seen)| DrainCommand::Ask { webhook, seen }),
        6 => (number(), owner(), ahead)
            .prop_map(|(webhook, owner, ahead_ms)| DrainCommand::Take { webhook, owner, ahead_ms }),
        4 => (number(), owner(), seen(), flag())
            .prop_map(|(webhook, owner, seen, opens)| DrainCommand::Step { webhook, owner, seen, opens }),
        3 => (number(), owner(), seen(), flag()).prop_map(|(webhook, owner, seen, has_looked)| {
            DrainCommand::End { webhook, owner, seen, has_looked }
        }),
        1 => Just(DrainCommand::StoreRound),
    ]
}

/// Mostly the same one.
fn one_of_owners() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(0), 1 => 0..OWNERS]
}

impl Model {
    pub(super) async fn do_with_drains(
        &mut self,
        command: &DrainCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            DrainCommand::Register { webhook } => {
                let place = self.webhook_at(webhook).await?;
                self.register(place).await
            }
            DrainCommand::Unregister { webhook, seen } => {
                let place = self.webhook_at(webhook).await?;
                self.unregister(place, seen).await
            }
            DrainCommand::Ask { webhook, seen } => {
                let place = self.webhook_at(webhook).await?;
                self.ask_for_drain(place, seen).await
            }
            DrainCommand::Take {
                webhook,
                owner,
                ahead_ms,
            } => {
                let place = self.webhook_at(webhook).await?;
                let taken_at = self.now.plus(Millis::new(ahead_ms));
                self.take_lease(place, lease(owner, taken_at)).await
            }
            DrainCommand::Step {
                webhook,
                owner,
                seen,
                opens,
            } => {
                let place = self.webhook_at(webhook).await?;
                let lease = lease(owner, self.now);
                self.store_limiter(place, &lease, seen, opens).await
            }
            DrainCommand::End {
                webhook,
                owner,
                seen,
                has_looked,
            } => {
                let place = self.webhook_at(webhook).await?;
                let lease = lease(owner, self.now);
                self.end_drain(place, &lease, seen, has_looked).await
            }
            DrainCommand::StoreRound => self.store_round().await,
        }
    }

    async fn ask_for_drain(&mut self, place: usize, seen: Seen) -> Result<(), TestCaseError> {
        let now = self.now;
        let kept = self.ours.kept(place);
        let (id, noted) = (kept.webhook.id, kept.flow.drain.asked_for);
        let seen = match seen {
            Seen::Current => noted,
            Seen::Outdated => noted.map_or(Some(now), |_| None),
        };
        let expected = if kept.is_stored && seen == noted {
            kept.flow.drain.asked_for = Some(now);
            Stored::Done
        } else {
            Stored::Outdated
        };
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let asked = store.ask_for_drain(tenant, id, seen, now).await;
        prop_assert_eq!(asked, Ok(expected));
        Ok(())
    }

    async fn take_lease(&mut self, place: usize, lease: DrainLease) -> Result<(), TestCaseError> {
        let kept = self.ours.kept(place);
        let (id, flow) = (kept.webhook.id, &mut kept.flow);
        let is_free = !flow.drain.is_leased(lease.taken_at) || flow.is_held_by(&lease);
        let is_taken = kept.is_stored && is_free;
        if is_taken {
            flow.drain.lease = Some(lease.clone());
        }
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let taken = store.take_drain_lease(tenant, id, lease.clone()).await;
        let taken = taken.unwrap();
        prop_assert_eq!(taken.is_some(), is_taken, "{:?}", taken);
        if let Some(taken) = taken {
            prop_assert_eq!(taken.credit, Some(Credit::empty(lease.taken_at)));
            prop_assert_eq!(self.flow(id).await, Some(taken));
        }
        Ok(())
    }

    async fn store_limiter(
        &mut self,
        place: usize,
        lease: &DrainLease,
        seen: Seen,
        opens: bool,
    ) -> Result<(), TestCaseError> {
        let (n, now) = (self.draw(), self.now);
        let kept = self.ours.kept(place);
        let (id, before) = (kept.webhook.id, kept.flow.limiter);
        let seen_epoch = kept.flow.epoch(seen);
        let mut limiter = Limiter {
            rate_milli: 1_000 + n,
            changed_at: now,
            ..before
        };
        limiter.epoch = seen_epoch;
        if opens {
            limiter.limited = false;
            limiter.opened_at = now;
            limiter.epoch = seen_epoch + 1;
        }
        let is_its = kept.is_stored && kept.flow.is_held_by(lease) && seen == Seen::Current;
        let expected = if is_its {
            kept.flow.limiter = limiter;
            Stored::Done
        } else {
            Stored::Outdated
        };
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let stored = store.store_limiter(tenant, id, lease, seen_epoch, limiter);
        prop_assert_eq!(stored.await, Ok(expected));
        self.look_at_registration(place).await;
        if is_its && opens && self.has_backlogs() {
            prop_assert_eq!(self.ours.kept(place).flow.registered, Some(now));
        }
        Ok(())
    }

    async fn end_drain(
        &mut self,
        place: usize,
        lease: &DrainLease,
        seen: Seen,
        has_looked: bool,
    ) -> Result<(), TestCaseError> {
        let (n, now) = (self.draw(), self.now);
        let kept = self.ours.kept(place);
        let (id, flow) = (kept.webhook.id, &mut kept.flow);
        let end = DrainEnd {
            at: now,
            limiter: Limiter {
                rate_milli: 1_000 + n,
                ..flow.limiter
            },
            seen_epoch: flow.epoch(seen),
            asked_for: n.is_multiple_of(2).then_some(now),
            looked: has_looked.then_some(Looked {
                at: now,
                first_due_at: n.is_multiple_of(3).then_some(now),
            }),
        };
        let is_its = kept.is_stored && flow.is_held_by(lease);
        if is_its {
            flow.drain = DrainState {
                lease: None,
                asked_for: end.asked_for,
                looked: end.looked.or(flow.drain.looked),
            };
        }
        if is_its && seen == Seen::Current {
            flow.limiter = end.limiter;
        }
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let ended = store.end_drain(tenant, id, lease, end).await;
        prop_assert_eq!(ended, Ok(()));
        if is_its {
            let credit = self.flow(id).await.and_then(|flow| flow.credit);
            prop_assert_eq!(credit, Some(Credit::empty(now)));
        }
        Ok(())
    }
}

fn lease(owner: u8, taken_at: Timestamp) -> DrainLease {
    DrainLease {
        owner: format!("process/{owner}"),
        taken_at,
    }
}
