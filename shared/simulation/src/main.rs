//! `make simulate-faults`: one seed after the other, until a promise is broken. The report goes to standard error, because
//! the functions write their metrics to standard output.
#![allow(clippy::print_stderr, reason = "its output is what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use postrider_simulation::{Flaw, Plan, Runs, Until, report, run, shrink};

/// Run the whole gateway in virtual time while everything fails
#[derive(Parser)]
struct Arguments {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds to run
    #[arg(long, default_value_t = u64::MAX)]
    seeds: u64,
    /// Stop after this many minutes
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Run only this gateway: aws or embedded; by default, both in turns
    #[arg(long, value_parser = only)]
    only: Option<Runs>,
    /// Break this rule on purpose
    #[arg(long, value_parser = flaw)]
    flaw: Option<Flaw>,
    /// Stop when all deliveries have been attempted, before anything expires
    #[arg(long)]
    until_rest: bool,
    /// Report the first seed in full, whether it fails or not
    #[arg(long)]
    trace: bool,
}

fn only(name: &str) -> Result<Runs, String> {
    match name {
        "aws" => Ok(Runs::OnAws),
        "embedded" => Ok(Runs::Embedded),
        _ => Err("must be aws or embedded".to_owned()),
    }
}

fn flaw(name: &str) -> Result<Flaw, String> {
    let known = Flaw::AWS.into_iter().chain(Flaw::EMBEDDED);
    let names: Vec<_> = known.clone().map(|flaw| format!("{flaw:?}")).collect();
    let found = known.into_iter().find(|flaw| format!("{flaw:?}") == name);
    found.ok_or_else(|| format!("must be one of {}", names.join(", ")))
}

impl Arguments {
    const fn runs(&self, seed: u64) -> Runs {
        match self.only {
            Some(only) => only,
            None if seed.is_multiple_of(2) => Runs::Embedded,
            None => Runs::OnAws,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let plan = |seed| {
        let plan = match arguments.flaw {
            Some(flaw) => Plan::with(flaw, seed),
            None => Plan::of(arguments.runs(seed), seed),
        };
        let until = if arguments.until_rest {
            Until::Rest
        } else {
            plan.until
        };
        Plan { until, ..plan }
    };
    if arguments.trace {
        eprintln!("{}", report(&plan(arguments.seed)));
        return ExitCode::SUCCESS;
    }
    #[expect(clippy::disallowed_methods, reason = "measures the simulation itself")]
    let began = Instant::now();
    let longest = Duration::from_secs(arguments.minutes * 60);
    let (mut seeds, mut faults, mut requests, mut virtual_ms, mut aged_ms) = (0, 0, 0, 0, 0);
    for seed in (arguments.seed..).take(usize::try_from(arguments.seeds).unwrap_or(usize::MAX)) {
        let outcome = run(&plan(seed));
        seeds += 1;
        faults += outcome.struck.len();
        requests += outcome.requests;
        virtual_ms += outcome.took_ms;
        aged_ms += outcome.aged_ms;
        if let Some(violation) = outcome.violation {
            eprintln!("seed {seed}: {violation}\nshrinking");
            eprintln!("{}", report(&shrink(&plan(seed))));
            return ExitCode::FAILURE;
        }
        if began.elapsed() > longest {
            break;
        }
    }
    let took = began.elapsed();
    let per_minute = seeds * 60_000 / u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    let (hours, years) = (virtual_ms / 3_600_000, aged_ms / (365 * 86_400_000));
    eprintln!(
        "{seeds} seeds in {} s, {per_minute} per minute: {hours} h of virtual time and {years} years of ageing, {faults} faults, {requests} requests; \
         all promises kept",
        took.as_secs()
    );
    ExitCode::SUCCESS
}
