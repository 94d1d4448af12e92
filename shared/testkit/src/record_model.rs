//! Random sequences of commands on everything that a store keeps besides events and deliveries, run on the store and on maps.
//! Two processes carry them out for two tenants. Every answer must be the same, and so must the lists of each tenant.
//!
//! A store on a network is asked for its lists after every eighth command and in the end: reading them takes it longer than
//! the commands.

mod catalogue;
mod command;
mod drains;
mod emails;
mod erasures;
mod flows;
mod jobs;
mod keys;
mod limiters;
mod portals;
mod probes;
mod registrations;
mod rejections;
mod sources;
mod tenants;
mod version;
mod webhooks;

use postrider_domain::ids::TenantId;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Store;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::builders::NOW;
use crate::processes::{Processes, Whose};
use crate::store_suite::{Fixture, Handle};
use catalogue::EventTypes;
use command::{Command, Turn};
use emails::Emails;
use erasures::Erasures;
use jobs::Jobs;
use keys::Keys;
use portals::Portal;
use rejections::Rejections;
use sources::Sources;
use tenants::Exists;
use version::Version;
use webhooks::Kept;

const DAY: Millis = Millis::from_seconds(86_400);
/// A store on a network is asked for its lists after this many commands.
const LISTS: usize = 8;

/// Runs `cases` random sequences of up to 60 commands, each with its own tenants in the same store.
///
/// # Panics
/// With the shortest sequence found that makes store and model differ.
pub fn check(fixture: &impl Fixture, runtime: &tokio::runtime::Runtime, cases: u32) {
    // Each try of a shorter sequence carries out all of it.
    let max_shrink_iters = match fixture.handle().embedded {
        Some(_) => 500,
        None => 100,
    };
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters,
        ..Config::default()
    });
    let run = std::cell::Cell::new(0_u32);
    let result = runner.run(&command::sequence(), |turns| {
        run.set(run.get() + 1);
        runtime.block_on(run_sequence(fixture, run.get(), &turns))
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

async fn run_sequence(
    fixture: &impl Fixture,
    case: u32,
    turns: &[Turn],
) -> Result<(), TestCaseError> {
    let mut model = Model::begin(fixture, case).await;
    for (step, turn) in turns.iter().enumerate() {
        let is_last = step + 1 == turns.len();
        model.processes = match turn.command {
            Command::Reopen => model.processes.reopen(fixture).await,
            Command::Replace => model.processes.replace(fixture).await,
            _ => model.processes,
        };
        let compared = model.take(turn, step, is_last, fixture).await;
        compared.map_err(|error| TestCaseError::fail(format!("{error} after {turn:?}")))?;
    }
    Ok(())
}

struct Model {
    processes: Processes,
    case: u32,
    now: Timestamp,
    drawn: u32,
    /// The tenant that a command is for.
    ours: Records,
    theirs: Records,
}

/// What the store should contain of one tenant.
struct Records {
    tenant: TenantId,
    exists: Exists,
    record: Option<Tenant>,
    version: Version,
    keys: Keys,
    sources: Sources,
    event_types: EventTypes,
    jobs: Jobs,
    portal: Portal,
    erasures: Erasures,
    /// Those that were deleted, too, so that numbers choose the same ones.
    webhooks: Vec<Kept>,
    rejections: Rejections,
    emails: Emails,
}

impl Records {
    fn begin(tenant: &str) -> Self {
        Self {
            tenant: tenant.parse().unwrap(),
            exists: Exists::No,
            record: None,
            version: Version::default(),
            keys: Keys::default(),
            sources: Sources::default(),
            event_types: EventTypes::default(),
            jobs: Jobs::default(),
            portal: Portal::default(),
            erasures: Erasures::default(),
            webhooks: Vec::new(),
            rejections: Rejections::default(),
            emails: Emails::default(),
        }
    }
}

impl Model {
    async fn begin(fixture: &impl Fixture, case: u32) -> Self {
        Self {
            processes: Processes::begin(fixture).await,
            case,
            now: begun_at(case),
            drawn: 0,
            ours: Records::begin(&format!("{}-a", case_name(case))),
            theirs: Records::begin(&format!("{}-b", case_name(case))),
        }
    }

    /// Carries out a command and compares.
    async fn take(
        &mut self,
        turn: &Turn,
        step: usize,
        is_last: bool,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        self.processes.acting = turn.by;
        let is_theirs = turn.tenant == Whose::Theirs;
        if is_theirs {
            self.turn_to_other_tenant();
        }
        self.carry_out(&turn.command, fixture).await?;
        if is_theirs {
            self.turn_to_other_tenant();
        }
        if is_last || self.handle().embedded.is_some() || step.is_multiple_of(LISTS) {
            fixture.flush().await;
            for _ in 0..2 {
                self.compare().await?;
                if is_last {
                    self.compare_list_of_registrations().await?;
                }
                self.turn_to_other_tenant();
            }
        }
        Ok(())
    }

    fn begun_at(&self) -> Timestamp {
        begun_at(self.case)
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

    /// A number that this sequence has not used.
    const fn draw(&mut self) -> u32 {
        self.drawn += 1;
        self.drawn
    }

    /// The bytes of an id that no sequence has used.
    fn unique(&mut self) -> [u8; 16] {
        let n = u128::from(self.draw());
        ((u128::from(self.case) << 64) | n).to_be_bytes()
    }

    /// The bytes of the `n`-th id of a kind, the same under both tenants.
    fn common(&self, n: usize) -> [u8; 16] {
        ((u128::from(self.case) << 64) | (1 << 40) | n as u128).to_be_bytes()
    }

    async fn carry_out(
        &mut self,
        command: &Command,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        match command {
            Command::Key(command) => self.do_with_keys(command).await,
            Command::Source(command) => self.do_with_sources(command).await,
            Command::EventType(command) => self.do_with_event_types(command).await,
            Command::Tenant(command) => self.do_with_tenants(command).await,
            Command::Job(command) => self.do_with_jobs(command).await,
            Command::Portal(command) => self.do_with_portals(command).await,
            Command::Erasure(command) => self.do_with_erasures(command).await,
            Command::Webhook(command) => self.do_with_webhooks(command, fixture).await,
            Command::Probe(command) => self.do_with_probes(command, fixture).await,
            Command::Drain(command) => self.do_with_drains(command).await,
            Command::Limiter(command) => self.do_with_limiters(command).await,
            Command::Rejection(command) => self.do_with_rejections(command).await,
            Command::Email(command) => self.do_with_emails(command, fixture).await,
            Command::Step { ms } => {
                self.now = self.now.plus(Millis::new(*ms));
                Ok(())
            }
            Command::Reopen => {
                self.forget_flows().await;
                self.turn_to_other_tenant();
                self.forget_flows().await;
                self.turn_to_other_tenant();
                Ok(())
            }
            Command::Replace => Ok(()),
        }
    }

    async fn compare(&mut self) -> Result<(), TestCaseError> {
        self.compare_version().await?;
        self.compare_keys().await?;
        self.compare_sources().await?;
        self.compare_event_types().await?;
        self.compare_tenants().await?;
        self.compare_jobs().await?;
        self.compare_portals().await?;
        self.compare_erasures().await?;
        self.compare_webhooks().await?;
        self.compare_probes().await?;
        self.compare_flows().await?;
        self.compare_registrations().await?;
        self.compare_rejections().await?;
        self.compare_emails().await
    }
}

/// What one sequence leaves behind is long past in the next one.
fn begun_at(case: u32) -> Timestamp {
    NOW.plus(Millis::new(1_000 * u64::from(case) * DAY.get()))
}

/// What the ids of a sequence's tenants begin with.
fn case_name(case: u32) -> String {
    format!("case-{case:05}")
}

/// Numbers choose among what there is.
fn nth<T>(of: &[T], n: usize) -> Option<&T> {
    of.get(n.checked_rem(of.len())?)
}
