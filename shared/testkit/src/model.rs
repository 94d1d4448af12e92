//! Random sequences of commands, run on a store and on a map that uses the same pure rules. After each command both must
//! contain the same rows, attempts and webhooks, and agree on what is due and on what waits where.
//!
//! A store on a network is asked for everything after every eighth command and in the end, otherwise only for what the command
//! changed: reading everything takes it longer than the command.

mod contents;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use postrider_domain::attempt::Attempt;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{
    Claimed, DeadCause, Delivery, Force, LeaseOwner, Requeue, Unclaimable,
};
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::notification::effects;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::{Accepted, Applied, Claim, Renewed, Seen, SeenRow, Wanted};
use postrider_ports::drains::Postponed;
use postrider_ports::interventions::Requeued;
use postrider_ports::start_now::{Planned, Reservation};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::builders::{self, NOW};
use crate::store_suite::{Fixture, Handle, WaitingRows};
use contents::Contents;

const WEBHOOKS: u32 = 3;
const LEASE: Millis = Millis::from_seconds(20);
/// Beyond a lease, what SQS can delay, the hour of a counter, and a day.
const HORIZONS_MS: [u64; 4] = [121_000, 901_000, 3_600_001, 86_400_001];

/// A command to a store. Numbers choose among the existing rows, claims and webhooks.
#[derive(Clone, Debug)]
enum Command {
    Accept {
        webhooks: u8,
        claim: bool,
    },
    Claim {
        row: usize,
    },
    ClaimAgain {
        claim: usize,
    },
    Apply {
        claim: usize,
        ending: Ending,
    },
    Renew {
        claim: usize,
    },
    GiveBack {
        claim: usize,
    },
    Step {
        ms: u64,
    },
    Requeue {
        row: usize,
        force: bool,
    },
    SetStatus {
        webhook: usize,
        status: usize,
    },
    MoveToBacklog {
        row: usize,
    },
    Drain {
        row: usize,
    },
    Delete {
        webhook: usize,
    },
    /// The watch gets around to some fresh rows.
    Watch {
        from: usize,
        count: usize,
    },
    /// The process ends, and another one opens the store.
    Reopen,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Deliver,
    Retry { after_ms: u64 },
    Die(DeadCause),
}

fn command() -> impl Strategy<Value = Command> {
    let ending = prop_oneof![
        3 => Just(Ending::Deliver),
        4 => (0..40_000_u64).prop_map(|after_ms| Ending::Retry { after_ms }),
        1 => Just(Ending::Die(DeadCause::Exhausted)),
        1 => Just(Ending::Die(DeadCause::ExhaustedFailingWebhook)),
        1 => Just(Ending::Die(DeadCause::Gone)),
    ];
    prop_oneof![
        4 => (1..8_u8, any::<bool>()).prop_map(|(webhooks, claim)| Command::Accept { webhooks, claim }),
        6 => any::<usize>().prop_map(|row| Command::Claim { row }),
        1 => any::<usize>().prop_map(|claim| Command::ClaimAgain { claim }),
        6 => (any::<usize>(), ending).prop_map(|(claim, ending)| Command::Apply { claim, ending }),
        1 => any::<usize>().prop_map(|claim| Command::Renew { claim }),
        1 => any::<usize>().prop_map(|claim| Command::GiveBack { claim }),
        3 => (0..30_000_u64).prop_map(|ms| Command::Step { ms }),
        1 => prop::sample::select(&HORIZONS_MS).prop_map(|ms| Command::Step { ms }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(row, force)| Command::Requeue { row, force }),
        3 => (any::<usize>(), 0..4_usize).prop_map(|(webhook, status)| Command::SetStatus { webhook, status }),
        2 => any::<usize>().prop_map(|row| Command::MoveToBacklog { row }),
        4 => any::<usize>().prop_map(|row| Command::Drain { row }),
        1 => any::<usize>().prop_map(|webhook| Command::Delete { webhook }),
        3 => (any::<usize>(), 1..4_usize).prop_map(|(from, count)| Command::Watch { from, count }),
        1 => Just(Command::Reopen),
    ]
}

/// Runs `cases` random sequences of up to 60 commands, each with its own tenant in the same store.
///
/// # Panics
/// With the shortest sequence found that makes store and model differ.
pub fn check(fixture: &impl Fixture, runtime: &tokio::runtime::Runtime, cases: u32) {
    // A command takes up to a second on DynamoDB, and each try of a shorter sequence carries out all of it.
    let max_shrink_iters = match fixture.handle().embedded {
        Some(_) => 500,
        None => 20,
    };
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters,
        ..Config::default()
    });
    let run = std::cell::Cell::new(0_u32);
    let sequences = proptest::collection::vec(command(), 1..60);
    let result = runner.run(&sequences, |commands| {
        run.set(run.get() + 1);
        runtime.block_on(async {
            let mut model = Model::begin(fixture.handle(), run.get()).await;
            for (step, command) in commands.iter().enumerate() {
                model = match *command {
                    Command::Reopen => model.reopen(fixture).await,
                    _ => model,
                };
                model.carry_out(command).await?;
                if let Command::Watch { from, count } = *command {
                    fixture.watch(from, count).await;
                }
                fixture.follow().await;
                if model.compares_everything(step) {
                    model.compare(fixture, command).await?;
                    model.compare_waiting(step, command).await?;
                } else {
                    model.compare_changed(fixture, command).await?;
                }
            }
            if let Some(last) = commands.last() {
                model.compare(fixture, last).await?;
            }
            model.compare_all_waiting().await
        })
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

struct Model {
    handle: Handle,
    tenant: TenantId,
    now: Timestamp,
    rows: BTreeMap<DeliveryId, Delivery>,
    attempts: BTreeMap<DeliveryId, Vec<Attempt>>,
    webhooks: BTreeMap<WebhookId, Option<Health>>,
    /// Webhooks that were resumed: nothing here opens them.
    limited: BTreeSet<WebhookId>,
    /// Every claim that succeeded, with its lease.
    claims: Vec<(Claimed, Wanted)>,
    drawn: u32,
    /// Open rows that the watch has not seen, so that no lane leads to them.
    unwatched: BTreeSet<DeliveryId>,
    compared: Contents,
}

impl Model {
    async fn begin(handle: Handle, case: u32) -> Self {
        let tenant = format!("case-{case}").parse().unwrap();
        let mut webhooks = BTreeMap::new();
        // Ids are unique across tenants, as outside tests: a backlog is stored under its webhook's id alone.
        for n in case * WEBHOOKS..(case + 1) * WEBHOOKS {
            let webhook = builders::webhook(&tenant, n);
            webhooks.insert(webhook.id, Some(webhook.health.clone()));
            handle.store.create_webhook(webhook).await.unwrap();
        }
        Self {
            unwatched: BTreeSet::new(),
            handle,
            tenant,
            now: NOW,
            rows: BTreeMap::new(),
            attempts: BTreeMap::new(),
            webhooks,
            limited: BTreeSet::new(),
            claims: Vec::new(),
            drawn: 0,
            compared: Contents::default(),
        }
    }

    async fn reopen(self, fixture: &impl Fixture) -> Self {
        drop(self.handle);
        Self {
            handle: fixture.reopen().await,
            ..self
        }
    }

    /// Whether a row is held by a process that has ended, which an embedded store notices.
    fn has_void_lease(&self, row: &Delivery) -> bool {
        let is_gone = |owner: &LeaseOwner| owner.process != self.handle.process;
        self.handle.embedded.is_some() && row.lease_owner.as_ref().is_some_and(is_gone)
    }

    /// The row as commands see it: without a lease that is void.
    fn row(&self, id: DeliveryId) -> Delivery {
        let mut row = self.rows[&id].clone();
        if self.has_void_lease(&row) {
            row.lease_owner = None;
            row.lease_until = Timestamp::ZERO;
        }
        row
    }

    fn row_at(&self, n: usize) -> Option<DeliveryId> {
        let ids: Vec<_> = self.rows.keys().copied().collect();
        ids.get(n.checked_rem(ids.len())?).copied()
    }

    fn claim_at(&self, n: usize) -> Option<(Claimed, Wanted)> {
        let n = n.checked_rem(self.claims.len())?;
        self.claims.get(n).cloned()
    }

    fn status_of(&self, webhook: WebhookId) -> Option<WebhookStatus> {
        let health = self.webhooks.get(&webhook)?;
        health.as_ref().map(|health| health.status)
    }

    /// Changes a row and applies the effects.
    fn change(&mut self, after: &Delivery) {
        let before = self.rows.insert(after.id, after.clone()).unwrap();
        if let Some(Some(health)) = self.webhooks.get_mut(&after.id.webhook)
            && let Some(next) = effects(&before, after, health, self.now).health
        {
            *health = next;
        }
    }

    async fn carry_out(&mut self, command: &Command) -> Result<(), TestCaseError> {
        match *command {
            Command::Accept { webhooks, claim } => self.accept(webhooks, claim).await,
            Command::Claim { row } => match self.row_at(row) {
                Some(id) => {
                    let wanted = self.wanted(id);
                    self.claim(wanted).await
                }
                None => Ok(()),
            },
            Command::ClaimAgain { claim } => match self.claim_at(claim) {
                Some((_, wanted)) => {
                    let seen = self.seen(wanted.id.webhook);
                    self.claim(Wanted { seen, ..wanted }).await
                }
                None => Ok(()),
            },
            Command::Apply { claim, ending } => match self.claim_at(claim) {
                Some((claimed, _)) => self.apply(&claimed, ending).await,
                None => Ok(()),
            },
            Command::Renew { claim } => match self.claim_at(claim) {
                Some((claimed, _)) => self.renew(&claimed).await,
                None => Ok(()),
            },
            Command::GiveBack { claim } => match self.claim_at(claim) {
                Some((claimed, _)) => self.give_back(&claimed).await,
                None => Ok(()),
            },
            Command::Step { ms } => {
                self.now = self.now.plus(Millis::new(ms));
                Ok(())
            }
            Command::Requeue { row, force } => match self.row_at(row) {
                Some(id) => self.requeue(id, force).await,
                None => Ok(()),
            },
            Command::SetStatus { webhook, status } => self.set_status(webhook, status).await,
            Command::MoveToBacklog { row } => match self.row_at(row) {
                Some(id) => self.move_to_backlog(id).await,
                None => Ok(()),
            },
            Command::Drain { row } => match self.row_at(row) {
                Some(id) => {
                    let wanted = self.wanted(id);
                    let seen = Seen::default();
                    self.drain(Wanted { seen, ..wanted }).await
                }
                None => Ok(()),
            },
            Command::Delete { webhook } => self.delete(webhook).await,
            Command::Watch { .. } | Command::Reopen => Ok(()),
        }
    }

    async fn accept(&mut self, webhooks: u8, claim: bool) -> Result<(), TestCaseError> {
        self.drawn += 1;
        let event = builders::event(&self.tenant, self.drawn, self.now);
        let there = self.webhooks.iter().enumerate();
        let named: Vec<WebhookId> = there
            .filter(|(n, (_, health))| webhooks & (1 << n) != 0 && health.is_some())
            .map(|(_, (id, _))| *id)
            .collect();
        let version = self.handle.store.webhooks_version(&self.tenant).await;
        let acceptance = builders::acceptance(event, &named, version.unwrap());
        let embedded = self.handle.embedded.clone().filter(|_| claim);
        let (mut reserved, mut expected) = (Vec::new(), Vec::new());
        for new in &acceptance.rows {
            let wanted = self.wanted(new.id);
            let lease = embedded.is_some().then(|| wanted.lease.clone());
            let mut row = new.clone();
            let status = self.status_of(row.id.webhook).unwrap();
            if let Some(lease) = lease.as_ref().filter(|_| !status.is_stopped())
                && let Ok(claimed) = row.clone().claim(lease, self.now)
            {
                row = claimed.delivery().clone();
                self.claims.push((claimed.clone(), wanted));
                expected.push(claimed);
            }
            reserved.extend(lease.map(|lease| Reservation {
                webhook: row.id.webhook,
                lease,
            }));
            self.rows.insert(row.id, row);
        }
        let accepted = match embedded {
            Some(store) => {
                let planned = Planned {
                    acceptance,
                    reserved,
                };
                store.accept_claimed(vec![planned]).await.remove(0)
            }
            None => {
                let accepted = self.handle.store.accept(vec![acceptance]).await.remove(0);
                accepted.map(|accepted| (accepted, Vec::new()))
            }
        };
        match accepted {
            Ok((Accepted::New, claimed)) => {
                let claimed: Vec<_> = claimed.into_iter().map(|one| one.claimed).collect();
                prop_assert_eq!(claimed, expected);
                Ok(())
            }
            other => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    fn wanted(&mut self, id: DeliveryId) -> Wanted {
        self.drawn += 1;
        let until = self.now.plus(LEASE);
        Wanted {
            tenant: self.tenant.clone(),
            id,
            lease: builders::lease(&self.handle.process, u64::from(self.drawn), until),
            seen: self.seen(id.webhook),
        }
    }

    /// What callers may know already, in turns.
    fn seen(&self, webhook: WebhookId) -> Seen {
        let health = self.webhooks[&webhook].as_ref();
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

    async fn claim(&mut self, wanted: Wanted) -> Result<(), TestCaseError> {
        let before = self.row(wanted.id);
        let expected = match before.clone().claim(&wanted.lease, self.now) {
            _ if wanted.is_written_since(&before) => format!("{:?}", Claim::NotFresh),
            Err(why) => format!("{why:?}"),
            Ok(claimed) if claimed.version() == before.version => "Claimed".to_owned(),
            Ok(claimed) => match self.webhooks[&wanted.id.webhook].as_ref() {
                None => {
                    self.change(&before.webhook_deleted());
                    "Orphaned".to_owned()
                }
                Some(health) if health.status.is_stopped() => {
                    if self.handle.waiting_rows.marks(health.status) {
                        self.change(&before.moved_to_backlog());
                    }
                    format!("{:?}", Unclaimable::InBacklog)
                }
                Some(health) => {
                    let claimed = claimed.in_generation(health.generation);
                    self.change(claimed.delivery());
                    self.claims.push((claimed, wanted.clone()));
                    "Claimed".to_owned()
                }
            },
        };
        let id = wanted.id;
        let claim = self.handle.store.claim(vec![wanted], self.now).await;
        let said = match claim.into_iter().next().unwrap() {
            Ok(Claim::Claimed(delivery)) => {
                prop_assert_eq!(delivery.claimed.delivery(), &self.rows[&id]);
                prop_assert_eq!(delivery.event.id, id.event);
                "Claimed".to_owned()
            }
            Ok(Claim::Unclaimable(why)) => format!("{why:?}"),
            Ok(Claim::WebhookDeleted) => "Orphaned".to_owned(),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{error:?}"),
        };
        prop_assert_eq!(said, expected);
        Ok(())
    }

    async fn apply(&mut self, claimed: &Claimed, ending: Ending) -> Result<(), TestCaseError> {
        let id = claimed.delivery().id;
        let transition = match ending {
            Ending::Deliver => Transition::Deliver,
            Ending::Retry { after_ms } => Transition::Retry {
                next_retry_at: self.now.plus(Millis::new(after_ms)),
            },
            Ending::Die(cause) => Transition::Die { cause },
        };
        let mut completion = builders::completion(claimed, transition, self.now);
        // Some attempts saw the webhook's current state, others an older one.
        let health = self.webhooks[&id.webhook].as_ref();
        let seen = health.map_or(0, |health| health.generation);
        completion.generation =
            seen.saturating_sub(u32::from(claimed.owner().claim.is_multiple_of(3)));
        let stored = &self.rows[&id];
        let recorded = self.attempts.entry(id).or_default();
        let was_recorded = recorded
            .iter()
            .any(|attempt| attempt.version == claimed.version());
        let holds = claimed.still_holds(stored);
        if holds {
            let after = stored.completed(&completion);
            recorded.push(completion.attempt.clone());
            self.change(&after);
        }
        let expected = if holds || was_recorded {
            Applied::Done(Box::new(self.rows[&id].clone()))
        } else {
            Applied::Stale
        };
        let applied = self.handle.store.apply(claimed, completion, self.now).await;
        prop_assert_eq!(applied.unwrap(), expected);
        Ok(())
    }

    async fn renew(&mut self, claimed: &Claimed) -> Result<(), TestCaseError> {
        let stored = self.rows.get_mut(&claimed.delivery().id).unwrap();
        let until = self.now.plus(LEASE);
        let expected = if claimed.still_holds(stored) {
            stored.lease_until = until;
            Renewed::Held
        } else {
            Renewed::Lost
        };
        let renewed = self.handle.store.renew(claimed, until).await;
        prop_assert_eq!(renewed.unwrap(), expected);
        Ok(())
    }

    async fn give_back(&mut self, claimed: &Claimed) -> Result<(), TestCaseError> {
        let stored = self.rows.get_mut(&claimed.delivery().id).unwrap();
        if claimed.still_holds(stored) {
            *stored = stored.given_back();
        }
        let given_back = self.handle.store.give_back(claimed, self.now).await;
        prop_assert_eq!(given_back, Ok(()));
        Ok(())
    }

    async fn requeue(&mut self, id: DeliveryId, force: bool) -> Result<(), TestCaseError> {
        let force = if force { Force::Delivered } else { Force::No };
        let before = self.row(id);
        let expected = match (before.requeue(force, self.now), self.status_of(id.webhook)) {
            (Requeue::InFlight, _) => Requeued::InFlight,
            (Requeue::Delivered, _) => Requeued::Delivered,
            (Requeue::Pending, _) => Requeued::Pending,
            (Requeue::Allowed, None | Some(WebhookStatus::Disabled)) => Requeued::WebhookDisabled,
            (
                Requeue::Allowed,
                Some(WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused),
            ) => {
                let mut after = before.requeued(self.now);
                after.in_backlog = self.holds_back(id.webhook);
                self.change(&after);
                Requeued::Done(Box::new(after))
            }
        };
        let store = &self.handle.store;
        let requeued = store.requeue(&self.tenant, id, force, self.now).await;
        prop_assert_eq!(requeued.unwrap(), expected);
        Ok(())
    }

    async fn set_status(&mut self, webhook: usize, status: usize) -> Result<(), TestCaseError> {
        let (id, status) = (self.webhook_at(webhook), WebhookStatus::ALL[status]);
        let now = self.now;
        let health = self.webhooks.get_mut(&id).unwrap();
        if let Some(health) = health.as_mut().filter(|health| health.status != status) {
            *health = health.set(status, now);
            if status == WebhookStatus::Active {
                self.limited.insert(id);
            }
        }
        let expected = health.clone();
        let store = &self.handle.store;
        let set = store.set_webhook_status(&self.tenant, id, status, now);
        prop_assert_eq!(set.await.unwrap(), expected);
        Ok(())
    }

    /// Whether a row that is written now goes to the backlog of its webhook.
    fn holds_back(&self, webhook: WebhookId) -> bool {
        let stops = self
            .status_of(webhook)
            .is_some_and(WebhookStatus::is_stopped);
        let marks = self.handle.waiting_rows == WaitingRows::InBacklog;
        marks && (stops || self.limited.contains(&webhook))
    }

    async fn move_to_backlog(&mut self, id: DeliveryId) -> Result<(), TestCaseError> {
        let before = self.row(id);
        let is_free = before.status.is_open() && !before.in_backlog && !before.is_held(self.now);
        if is_free && self.handle.waiting_rows == WaitingRows::InBacklog {
            self.change(&before.moved_to_backlog());
        }
        let store = &self.handle.store;
        let registered = store.register_backlog(&self.tenant, id.webhook, self.now);
        registered.await.unwrap();
        let row = Postponed {
            tenant: self.tenant.clone(),
            id,
            kind: AttemptKind::of(&before),
            next_retry_at: before.next_retry_at.unwrap_or(before.created_at),
        };
        let moved = self.handle.store.move_to_backlog(vec![row], self.now).await;
        prop_assert_eq!(moved, vec![Ok(())]);
        Ok(())
    }

    /// Claims a row that is in a backlog.
    async fn drain(&mut self, wanted: Wanted) -> Result<(), TestCaseError> {
        let before = self.row(wanted.id);
        if !before.in_backlog {
            return Ok(());
        }
        let id = wanted.id;
        let expected = match before.clone().claim_from_backlog(&wanted.lease, self.now) {
            Err(why) => format!("{why:?}"),
            Ok(claimed) => match self.webhooks[&id.webhook].as_ref() {
                None => {
                    self.change(&before.webhook_deleted());
                    "Orphaned".to_owned()
                }
                Some(health) if health.status.is_stopped() => {
                    format!("{:?}", Unclaimable::InBacklog)
                }
                Some(health) => {
                    let claimed = claimed.in_generation(health.generation);
                    self.change(claimed.delivery());
                    self.claims.push((claimed, wanted.clone()));
                    "Claimed".to_owned()
                }
            },
        };
        let claims = self
            .handle
            .store
            .claim_from_backlog(vec![wanted], self.now)
            .await;
        let said = match claims.into_iter().next().unwrap() {
            Ok(Claim::Claimed(_)) => "Claimed".to_owned(),
            Ok(Claim::Unclaimable(why)) => format!("{why:?}"),
            Ok(Claim::WebhookDeleted) => "Orphaned".to_owned(),
            other => format!("{other:?}"),
        };
        prop_assert_eq!(said, expected);
        Ok(())
    }

    async fn delete(&mut self, webhook: usize) -> Result<(), TestCaseError> {
        let id = self.webhook_at(webhook);
        let was_there = self.webhooks.insert(id, None).flatten().is_some();
        let store = &self.handle.store;
        let deleted = store.delete_webhook(&self.tenant, id, self.now).await;
        prop_assert_eq!(deleted.unwrap(), was_there);
        Ok(())
    }

    fn webhook_at(&self, n: usize) -> WebhookId {
        let ids: Vec<_> = self.webhooks.keys().copied().collect();
        ids[n % ids.len()]
    }
}
