//! Registrations of backlogs, and the leases of those who drain them. A store that keeps them in its memory has them in one
//! process, and forgets them with it.

use postrider_domain::flow::{Credit, Limiter};
use postrider_domain::health::Health;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Store;
use postrider_ports::drains::{DrainEnd, DrainLease, DrainState, Looked, Registration, Round};
use postrider_ports::history::Cursor;
use postrider_ports::limiters::{Stored, WebhookFlow};
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};
use crate::store_suite::WaitingRows;

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

/// What all workers share about a webhook.
pub(super) struct Flow {
    pub(super) limiter: Limiter,
    pub(super) drain: DrainState,
    pub(super) registered: Option<Timestamp>,
}

impl Flow {
    pub(super) fn new(webhook: &Webhook) -> Self {
        Self {
            limiter: Limiter::new(&webhook.settings.limits(), webhook.created_at),
            drain: DrainState::default(),
            registered: None,
        }
    }

    /// Follows a change of status by an operator or a probe.
    pub(super) fn follow(&mut self, after: &Health) {
        self.limiter = if after.status.is_stopped() {
            self.limiter.paused()
        } else {
            self.limiter.resumed(after.changed_at.unwrap_or_default())
        };
    }

    fn is_held_by(&self, lease: &DrainLease) -> bool {
        let held = self.drain.lease.as_ref();
        held.is_some_and(|held| held.owner == lease.owner)
    }

    /// The epoch that a caller has read, or another one.
    pub(super) const fn epoch(&self, seen: Seen) -> u64 {
        match seen {
            Seen::Current => self.limiter.epoch,
            Seen::Outdated => self.limiter.epoch + 1,
        }
    }
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

    /// The store of the process that knows the flows.
    pub(super) fn flows(&self) -> &dyn Store {
        match self.handle().waiting_rows {
            WaitingRows::InBacklog => self.store(),
            WaitingRows::Unmarked => &*self.processes.first().store,
        }
    }

    pub(super) fn has_backlogs(&self) -> bool {
        self.handle().waiting_rows == WaitingRows::InBacklog
    }

    pub(super) async fn flow(&self, webhook: WebhookId) -> Option<WebhookFlow> {
        let webhook = (self.ours.tenant.clone(), webhook);
        let mut flows = self.flows().flows(&[webhook]).await;
        flows.remove(0).unwrap()
    }

    async fn register(&mut self, place: usize) -> Result<(), TestCaseError> {
        let (id, now) = (self.ours.id_at(place), self.now);
        self.ours.kept(place).flow.registered = Some(now);
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let registered = store.register_backlog(tenant, id, now).await;
        prop_assert_eq!(registered, Ok(()));
        Ok(())
    }

    async fn unregister(&mut self, place: usize, seen: Seen) -> Result<(), TestCaseError> {
        let kept = self.ours.kept(place);
        let webhook = kept.webhook.id;
        let touched_at = kept.flow.registered.unwrap_or_default();
        let touched_at = match seen {
            Seen::Current => {
                kept.flow.registered = None;
                touched_at
            }
            Seen::Outdated => touched_at.minus(Millis::new(1)),
        };
        let registration = Registration {
            tenant: self.ours.tenant.clone(),
            webhook,
            touched_at,
        };
        let unregistered = self.flows().unregister_backlog(&registration).await;
        prop_assert_eq!(unregistered, Ok(()));
        Ok(())
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

    async fn store_round(&mut self) -> Result<(), TestCaseError> {
        let n = self.draw();
        let cursor = n.is_multiple_of(2).then(|| Cursor(format!("after {n}")));
        let round = Round {
            left: [(1, None), (2, cursor)].into(),
            oldest_due_at: Some(self.now),
        };
        prop_assert_eq!(self.flows().store_round(&round).await, Ok(()));
        if self.has_backlogs() {
            prop_assert_eq!(self.flows().round().await, Ok(round));
        }
        Ok(())
    }

    /// What was asked for before a webhook was stopped may be forgotten with its resume.
    pub(super) async fn look_at_drain(&mut self, place: usize) -> Result<(), TestCaseError> {
        let found = self.flow(self.ours.id_at(place)).await;
        let known = &mut self.ours.kept(place).flow.drain.asked_for;
        if let Some(WebhookFlow { drain, .. }) = found
            && drain.asked_for.is_none()
        {
            *known = None;
        }
        self.look_at_registration(place).await;
        Ok(())
    }

    /// A webhook that has failed may count as paused, for its limiter.
    pub(super) async fn look_at_failed(&mut self, place: usize) -> Result<(), TestCaseError> {
        let found = self.flow(self.ours.id_at(place)).await;
        let known = &mut self.ours.kept(place).flow.limiter;
        if found.is_some_and(|found| found.limiter == known.paused()) {
            *known = known.paused();
        }
        self.look_at_registration(place).await;
        Ok(())
    }

    /// Much renews a registration.
    pub(super) async fn look_at_registration(&mut self, place: usize) {
        let (store, id) = (self.flows(), self.ours.id_at(place));
        let found = store.registration(&self.ours.tenant, id).await.unwrap();
        self.ours.kept(place).flow.registered = found.map(|found| found.touched_at);
    }

    /// After its process has ended, a store that keeps flows in memory begins again with what it knows of the webhook.
    pub(super) async fn forget_flows(&mut self) {
        for place in 0..self.ours.webhooks.len() {
            let found = self.flow(self.ours.id_at(place)).await;
            let flow = &mut self.ours.kept(place).flow;
            if let Some(WebhookFlow { limiter, drain, .. }) = found {
                flow.limiter = limiter;
                flow.drain = drain;
            }
        }
    }

    pub(super) async fn compare_drains(&self) -> Result<(), TestCaseError> {
        let tenant = &self.ours.tenant;
        let all = self.ours.webhooks.iter();
        let ids: Vec<_> = all.map(|kept| (tenant.clone(), kept.webhook.id)).collect();
        let found = self.flows().flows(&ids).await;
        prop_assert_eq!(found.len(), ids.len());
        for (kept, found) in self.ours.webhooks.iter().zip(found) {
            let (found, health) = (found.unwrap(), kept.health());
            prop_assert_eq!(found.is_some(), health.is_some());
            if let (Some(found), Some(health)) = (found, health) {
                prop_assert_eq!(found.limiter, kept.flow.limiter);
                prop_assert_eq!(&found.drain, &kept.flow.drain);
                let state = (found.status, found.generation);
                prop_assert_eq!(state, (health.status, health.generation));
            }
            let found = self.flows().registration(tenant, kept.webhook.id).await;
            let touched_at = found.unwrap().map(|found| found.touched_at);
            if self.has_backlogs() {
                prop_assert_eq!(touched_at, kept.flow.registered);
            }
        }
        Ok(())
    }

    /// The list names those that are registered.
    pub(super) async fn compare_registrations(&self) -> Result<(), TestCaseError> {
        if !self.has_backlogs() {
            return Ok(());
        }
        let mut found = Vec::new();
        for shard in 0..self.store().shards() {
            let mut after = None;
            while {
                let page = self.store().registrations(shard, 20, after.as_ref()).await;
                let page = page.unwrap();
                found.extend(page.items);
                after = page.next;
                after.is_some()
            } {}
        }
        let ours = found.iter().filter(|it| it.tenant == self.ours.tenant);
        let mut found: Vec<_> = ours.map(|it| (it.webhook, it.touched_at)).collect();
        found.sort_unstable();
        let all = self.ours.webhooks.iter();
        let expected = all.filter_map(|kept| Some((kept.webhook.id, kept.flow.registered?)));
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected, "registrations");
        Ok(())
    }
}

fn lease(owner: u8, taken_at: Timestamp) -> DrainLease {
    DrainLease {
        owner: format!("process/{owner}"),
        taken_at,
    }
}
