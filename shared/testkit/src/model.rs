//! Random sequences of commands, run on a store and on maps that use the same pure rules. Two processes carry them out for two
//! tenants, and some are interrupted and repeated. After each command both must contain the same events, rows, attempts and webhooks of each tenant, and agree on what
//! is due, on what waits where, on notifications and on counters.
//!
//! A store on a network is asked for everything after every eighth command and in the end, otherwise only for what the command
//! changed: reading everything takes it longer than the command.

mod accepting;
mod attempting;
mod calling;
mod command;
mod confusing;
mod contents;
mod managing;
mod removing;
mod tenancy;
mod told;
mod waiting;

use std::cell::Cell;
use std::sync::Arc;

use postrider_domain::delivery::Delivery;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Store;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::builders::NOW;
use crate::interruption::Interruption;
use crate::processes::{Processes, Whose};
use crate::store_suite::{Fixture, Handle};
use command::{Command, Turn};
use tenancy::Tenancy;

const LEASE: Millis = Millis::from_seconds(20);
const DAY: Millis = Millis::from_seconds(86_400);

/// Runs `cases` random sequences of up to 60 commands, each with its own tenants in the same store.
///
/// # Panics
/// With the shortest sequence found that makes store and model differ, and if no command was interrupted.
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
    let (run, interrupted) = (Cell::new(0), Cell::new(0));
    let sequences = proptest::collection::vec(command::turn(), 1..60);
    let result = runner.run(&sequences, |turns| {
        run.set(run.get() + 1);
        let sequence = run_sequence(fixture, run.get(), &turns, &interrupted);
        runtime.block_on(sequence)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(interrupted.get() > 0, "no command was interrupted");
}

async fn run_sequence(
    fixture: &dyn Fixture,
    case: u32,
    turns: &[Turn],
    interrupted: &Cell<u32>,
) -> Result<(), TestCaseError> {
    let mut model = Model::begin(fixture, case, interrupted).await;
    for (step, turn) in turns.iter().enumerate() {
        let is_last = step + 1 == turns.len();
        model.processes = match turn.command {
            Command::Reopen => model.processes.reopen(fixture).await,
            Command::Replace => model.processes.replace(fixture).await,
            _ => model.processes,
        };
        let compared = model.take(turn, step, is_last).await;
        compared.map_err(|error| TestCaseError::fail(format!("{error} after {turn:?}")))?;
    }
    Ok(())
}

struct Model<'a> {
    fixture: &'a dyn Fixture,
    processes: Processes,
    /// Of the next call that changes something.
    interruption: Cell<Option<Interruption>>,
    /// How many calls were.
    interrupted: &'a Cell<u32>,
    begun_at: Timestamp,
    now: Timestamp,
    drawn: u32,
    /// The tenant that a command is for.
    ours: Tenancy,
    theirs: Tenancy,
}

impl<'a> Model<'a> {
    async fn begin(fixture: &'a dyn Fixture, case: u32, interrupted: &'a Cell<u32>) -> Self {
        let processes = Processes::begin(fixture).await;
        let store = Arc::clone(&processes.handle().store);
        // An embedded store walks through its rows as time passes, so a sequence begins after all earlier ones.
        let days = match processes.handle().embedded {
            Some(_) => 1_000 * u64::from(case),
            None => 0,
        };
        let begun_at = NOW.plus(Millis::new(days * DAY.get()));
        Self {
            fixture,
            processes,
            interruption: Cell::default(),
            interrupted,
            begun_at,
            now: begun_at,
            drawn: 0,
            ours: Tenancy::begin(&*store, 2 * case).await,
            theirs: Tenancy::begin(&*store, 2 * case + 1).await,
        }
    }

    /// Carries out a command and compares.
    async fn take(&mut self, turn: &Turn, step: usize, is_last: bool) -> Result<(), TestCaseError> {
        self.processes.acting = turn.by;
        let is_theirs = turn.tenant == Whose::Theirs;
        if is_theirs {
            self.turn_to_other_tenant();
        }
        self.interruption.set(turn.interruption.clone());
        self.carry_out(&turn.command).await?;
        self.interruption.set(None);
        if is_theirs {
            self.turn_to_other_tenant();
        }
        if let Command::Watch { from, count } = turn.command {
            self.fixture.watch(from, count).await;
        }
        self.fixture.follow().await;
        let everything = self.compares_everything(step) || is_last;
        for _ in 0..2 {
            if everything {
                self.compare(&turn.command).await?;
                self.compare_counters().await?;
            } else {
                self.compare_changed().await?;
            }
            self.compare_told().await?;
            self.turn_to_other_tenant();
        }
        if is_last {
            self.compare_all_waiting().await
        } else if everything {
            self.compare_waiting(step).await
        } else {
            Ok(())
        }
    }

    const fn turn_to_other_tenant(&mut self) {
        std::mem::swap(&mut self.ours, &mut self.theirs);
    }

    const fn handle(&self) -> &Handle {
        self.processes.handle()
    }

    fn store(&self) -> &dyn Store {
        &*self.handle().store
    }

    fn has_void_lease(&self, row: &Delivery) -> bool {
        let owner = row.lease_owner.as_ref();
        owner.is_some_and(|owner| self.processes.is_void(owner))
    }

    /// The row as commands see it: without a lease that is void.
    fn row(&self, id: DeliveryId) -> Option<Delivery> {
        let mut row = self.ours.rows.get(&id)?.clone();
        if self.has_void_lease(&row) {
            row.lease_owner = None;
            row.lease_until = Timestamp::ZERO;
        }
        Some(row)
    }

    async fn carry_out(&mut self, command: &Command) -> Result<(), TestCaseError> {
        match *command {
            Command::Accept {
                webhooks,
                claim,
                plan,
            } => self.accept(webhooks, claim, plan).await,
            Command::Repeat {
                event,
                request,
                claim,
                plan,
            } => self.repeat(event, request, claim, plan).await,
            Command::Add { event, webhook } => self.add(event, webhook).await,
            Command::Claim { row } => self.claim_row(row).await,
            Command::ClaimAgain { claim } => self.claim_again(claim).await,
            Command::Apply { claim, ending } => self.apply(claim, ending).await,
            Command::Renew { claim } => self.renew(claim).await,
            Command::GiveBack { claim } => self.give_back(claim).await,
            Command::Step { ms } => {
                self.now = self.now.plus(Millis::new(ms));
                Ok(())
            }
            Command::Requeue { row, force } => self.requeue(row, force).await,
            Command::SetStatus { webhook, status } => {
                self.set_status(webhook, WebhookStatus::ALL[status]).await
            }
            Command::ChangeSettings { webhook, seen } => self.change_settings(webhook, seen).await,
            Command::MoveToBacklog { row } => self.move_to_backlog(row).await,
            Command::Drain { row } => self.drain(row).await,
            Command::Delete { webhook } => self.delete(webhook).await,
            Command::EndDeleted { webhook, limit } => self.end_deleted(webhook, limit).await,
            Command::Erase { event } => self.erase(event).await,
            Command::Expire { days, limit } => self.expire(days, limit).await,
            Command::Confuse { row } => self.confuse(row).await,
            Command::Watch { .. } | Command::Reopen | Command::Replace => Ok(()),
        }
    }
}
