//! The whole gateway in one thread and virtual time. On AWS: the real functions, use cases and DynamoDB adapter, over a
//! DynamoDB, SQS, SNS and SES in memory. Embedded: the real worker, sweep, use cases and SQLite. Everything fails in every way
//! that the seed decides. The same seed gives the same run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation ends the run, with its place"
)]

mod ageing;
mod audit;
mod clients;
mod clock;
mod draws;
pub mod dynamodb;
mod embedded;
mod executor;
mod flaw;
mod functions;
mod network;
mod queues;
mod receivers;
mod sdk;
mod shrink;
mod streams;
mod world;

use std::fmt::Write as _;

use postrider_testkit::builders::NOW;

pub use audit::{Promise, Violation};
pub use draws::{Fault, Strike, Strikes};
pub use flaw::Flaw;
pub use shrink::shrink;

const START_MS: i64 = NOW.as_millis();
const TABLE: &str = "deliveries";
const CONFIGS: &str = "configs";

/// Which gateway runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    OnAws,
    Embedded,
}

/// A call of the embedded gateway takes far less work than one to DynamoDB, and a delivery needs fewer of them.
impl Runs {
    const fn events(self) -> usize {
        match self {
            Self::OnAws => 8,
            Self::Embedded => 30,
        }
    }

    const fn operations(self) -> usize {
        match self {
            Self::OnAws => 2,
            Self::Embedded => 8,
        }
    }

    /// How many times as often as usual faults happen.
    const fn faults(self) -> u64 {
        match self {
            Self::OnAws => 1,
            Self::Embedded => 3,
        }
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When all deliveries have been attempted.
    Rest,
    /// Months later, when everything has expired.
    Expiry,
}

/// What a run consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub runs: Runs,
    pub seed: u64,
    pub events: usize,
    /// How often an operator intervenes.
    pub operations: usize,
    pub strikes: Strikes,
    pub until: Until,
    pub flaw: Option<Flaw>,
}

impl Plan {
    #[must_use]
    pub const fn of(runs: Runs, seed: u64) -> Self {
        Self {
            runs,
            seed,
            events: runs.events(),
            operations: runs.operations(),
            strikes: Strikes::All,
            until: Until::Expiry,
            flaw: None,
        }
    }

    #[must_use]
    pub fn with(flaw: Flaw, seed: u64) -> Self {
        Self {
            flaw: Some(flaw),
            strikes: flaw.provoked_by(),
            until: flaw.shows_until(),
            ..Self::of(flaw.runs(), seed)
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    pub violation: Option<Violation>,
    /// The faults that happened.
    pub struck: Vec<Strike>,
    pub requests: usize,
    /// Until all had come to rest.
    pub took_ms: i64,
    /// After that.
    pub aged_ms: i64,
    pub trace: Vec<String>,
}

/// Runs a plan.
#[must_use]
pub fn run(plan: &Plan) -> RunOutcome {
    world::run(plan)
}

/// What a reader needs to repeat and understand a failure.
#[must_use]
pub fn report(plan: &Plan) -> String {
    let outcome = run(plan);
    let mut text = match &outcome.violation {
        Some(violation) => {
            let Plan { runs, seed, .. } = plan;
            format!("{runs:?}, seed {seed}, breaks a promise. {violation}\n")
        }
        None => format!("{:?}, seed {}, keeps all promises\n", plan.runs, plan.seed),
    };
    let Plan {
        events, operations, ..
    } = plan;
    let _ = writeln!(text, "{events} events, {operations} operations");
    let struck: Vec<_> = outcome.struck.iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "{} faults: {}", struck.len(), struck.join(", "));
    for line in outcome.trace {
        let _ = writeln!(text, "{line}");
    }
    text
}
