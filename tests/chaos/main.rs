//! The long crash loops: `make crash`.
#![allow(clippy::print_stdout, reason = "its report is its purpose")]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use postrider_tests::chaos::{self, mixed, power_loss};

/// Kill the gateway under load, let the power fail, and count what is lost
#[derive(Parser)]
struct Arguments {
    /// How often to kill it
    #[arg(long, default_value_t = 100)]
    kills: usize,
    /// How often to kill one that does everything, while disk and clock fail
    #[arg(long, default_value_t = 100)]
    mixed_kills: usize,
    /// How often to let the power fail
    #[arg(long, default_value_t = 100)]
    power_losses: usize,
    /// At how many points of each run to examine what a power loss would leave
    #[arg(long, default_value_t = 50)]
    points: usize,
    /// Of the power losses and the mixed load
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let killed = arguments.kills == 0 || kill(arguments.kills).await;
    let mixed = arguments.mixed_kills == 0 || kill_mixed(&arguments).await;
    let failed = arguments.power_losses == 0 || fail(&arguments).await;
    if killed && mixed && failed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns whether all is well.
async fn kill(kills: usize) -> bool {
    let report = chaos::run(kills).await;
    println!("kill -9");
    row("kills", report.kills);
    row("acknowledged", report.acknowledged);
    row("lost", report.lost);
    row("duplicates", report.duplicates);
    row("attempts in flight at kills", report.in_flight);
    row("duplicates not in flight", report.unexplained);
    report.lost == 0 && report.unexplained == 0
}

/// Returns whether all is well.
async fn kill_mixed(arguments: &Arguments) -> bool {
    let plan = mixed::Plan {
        kills: arguments.mixed_kills,
        seed: arguments.seed,
    };
    let report = mixed::run(plan).await;
    println!("mixed load, seed {}", plan.seed);
    row("kills", plan.kills);
    print!("{}", report.in_words());
    report.broken.is_empty()
}

/// Returns whether all is well.
async fn fail(arguments: &Arguments) -> bool {
    let plan = power_loss::Plan {
        runs: arguments.power_losses,
        life: Duration::from_millis(700),
        points: arguments.points,
        seed: arguments.seed,
    };
    let report = power_loss::run(plan).await;
    println!("power loss, seed {}", arguments.seed);
    row("runs", arguments.power_losses);
    row("writes, syncs and responses", report.records);
    row("pages copied by checkpoints", report.copied_pages);
    row("states of the disk examined", report.findings.states);
    row("acknowledged", report.acknowledged);
    row("lost", report.lost);
    row("states that lack something", report.findings.lossy);
    row("states that cannot be used", report.findings.unusable);
    if let Some(example) = &report.findings.example {
        println!("{example}");
    }
    report.lost + report.findings.lossy + report.findings.unusable == 0
}

fn row(name: &str, value: usize) {
    println!("  {name:<28} {value:>8}");
}
