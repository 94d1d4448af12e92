//! The figures to stand by, measured in one run on this machine: `make bench`.
//!
//! Times are compared with other times of the same run, because machines and disks differ. A missed bar is printed and
//! changes nothing about the exit code; a lost message does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    reason = "a benchmark: it reads clocks, prints, and ends where an expectation breaks"
)]

mod arrivals;
mod bare;
mod decision;
mod disk;
mod flat_out;
mod gateway;
mod hanging;
mod load;
mod message;
mod paced;
mod pages;
mod plan;
mod procfs;
mod receiver;
mod report;
mod samples;
mod scale;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::arrivals::Arrivals;
use crate::plan::Plan;
use crate::report::Report;
use crate::scale::Scale;

/// Measure the gateway and compare it with its bars
#[derive(Parser)]
struct Arguments {
    /// Less of everything: under a minute, and noisier
    #[arg(long, conflicts_with = "million")]
    quick: bool,
    /// A million deliveries and a million stored rows: takes a quarter of an hour
    #[arg(long)]
    million: bool,
    /// Where to write the figures as JSON [default: bench.json in the target directory]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Subcommand)]
enum Role {
    /// Take requests and count them until standard input ends
    #[command(hide = true)]
    Receiver,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.role {
        Some(Role::Receiver) => {
            receiver::run();
            ExitCode::SUCCESS
        }
        None => run(&arguments),
    }
}

#[tokio::main]
async fn run(arguments: &Arguments) -> ExitCode {
    let plan = if arguments.million {
        Plan::MILLION
    } else if arguments.quick {
        Plan::QUICK
    } else {
        Plan::USUAL
    };
    let target = target_directory();
    let disk = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&target)
        .unwrap();
    let report = measure(&plan, disk.path()).await;
    report.print();
    let file = arguments
        .json
        .clone()
        .unwrap_or_else(|| target.join("bench.json"));
    std::fs::write(&file, report.to_json()).unwrap();
    println!("\nThe same as JSON: {}", file.display());
    if report.is_sound() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Everything in turn: nothing else of this run is under way while one figure is taken.
async fn measure(plan: &Plan, disk: &std::path::Path) -> Report {
    let mut report = Report::default();
    let arrivals = Arrivals::start().await;
    let fsync = disk::measure(plan, disk, &mut report);
    let bare = bare::measure(plan, &arrivals, &mut report).await;
    let scale = Scale { fsync, bare };
    flat_out::measure(plan, disk, &arrivals, &scale, &mut report).await;
    paced::measure(plan, disk, &arrivals, &scale, &mut report).await;
    hanging::measure(plan, disk, &arrivals, &mut report).await;
    pages::measure(plan, disk, &mut report).await;
    decision::measure(&scale, &mut report);
    report
}

/// The directory that cargo builds into: on the disk of the checkout, where a directory for temporary files may be in
/// memory.
fn target_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(2).unwrap().to_owned()
}
