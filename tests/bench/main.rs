//! Benchmarks, measured in one run on this machine: `make bench`.
//!
//! Times are compared with other times of the same run, because machines and disks differ. A missed target is printed
//! but does not change the exit code; a lost message does.
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
mod cost;
mod crowd;
mod decision;
mod disk;
mod dispatch;
mod drain;
mod earlier;
mod filters;
mod flat_out;
mod flow;
mod gateway;
mod hanging;
mod inspected;
mod load;
mod memory;
mod message;
mod paced;
mod pages;
mod pipeline;
mod plan;
mod plot;
mod procfs;
mod receiver;
mod report;
mod samples;
mod scale;
mod sweep;
mod verification;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use crate::arrivals::Arrivals;
use crate::earlier::Earlier;
use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::report::Report;
use crate::scale::Scale;

/// Measure the gateway and compare the results with their targets
#[derive(Parser)]
struct Arguments {
    /// A shorter run: about a minute, and noisier
    #[arg(long, conflicts_with = "million")]
    quick: bool,
    /// Use a million deliveries and a million stored rows
    #[arg(long)]
    million: bool,
    /// Run only this part, and the baseline it is compared with
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Part>,
    /// Also measure rate and latency over webhooks, body size and stored rows, and draw them into this SVG file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Where to write the results as JSON [default: bench.json in the target directory]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Subcommand)]
enum Role {
    /// Accept and count requests until standard input ends
    #[command(hide = true)]
    Receiver,
    /// Attempt batches as the dispatcher function does; started by `tools/bench-dispatcher`
    #[command(hide = true)]
    Dispatch(dispatch::Dispatch),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Publishing as fast as possible, and memory
    FlatOut,
    /// The cost of a delivery
    Cost,
    /// A hundred webhooks with filters
    Filters,
    /// Publishing at a steady rate
    Paced,
    /// One receiver of ten that hangs
    Hanging,
    /// A start with many waiting deliveries
    Drain,
    /// A thousand webhooks, some of them dead
    Crowd,
    /// Receivers that fail some requests
    Flow,
    /// Many delivered rows
    Pages,
    /// The cost of jitter
    Jitter,
    /// The cost of verifying a request to a source
    Verification,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match &arguments.role {
        Some(Role::Receiver) => {
            receiver::run();
            ExitCode::SUCCESS
        }
        Some(Role::Dispatch(dispatch)) => {
            dispatch::run(dispatch);
            ExitCode::SUCCESS
        }
        None => run(&arguments),
    }
}

#[tokio::main]
async fn run(arguments: &Arguments) -> ExitCode {
    let target = target_directory();
    let disk = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&target)
        .unwrap();
    let measured = tokio::select! {
        report = measure(arguments, disk.path()) => Some(report),
        () = told_to_stop() => None,
    };
    let Some(report) = measured else {
        eprintln!("broken off");
        return ExitCode::FAILURE;
    };
    let file = arguments
        .json
        .clone()
        .unwrap_or_else(|| target.join("bench.json"));
    let earlier = Earlier::read(&file);
    report.print(&earlier);
    std::fs::write(&file, report.to_json(&earlier)).unwrap();
    println!("\nThe same as JSON: {}", file.display());
    if report.is_sound() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// One measurement at a time, so that measurements do not affect each other.
async fn measure(arguments: &Arguments, disk: &Path) -> Report {
    let plan = if arguments.million {
        Plan::MILLION
    } else if arguments.quick {
        Plan::QUICK
    } else {
        Plan::USUAL
    };
    let wanted = |part| arguments.only.is_none_or(|only| only == part);
    let mut report = Report::default();
    let arrivals = Arrivals::start().await;
    eprintln!("measuring this machine");
    let load = procfs::load_average();
    report
        .of("This machine")
        .measurement("load average, one minute", load, "");
    let fsync = disk::measure(&plan, disk, &mut report);
    let bare = bare::measure(&plan, &arrivals, &mut report).await;
    let scale = Scale { fsync, bare };
    if wanted(Part::FlatOut) {
        eprintln!("publishing as fast as possible");
        memory::idle(disk, &arrivals, &mut report).await;
        let mut pipeline = Pipeline::start(disk, &arrivals).await;
        flat_out::measure(&plan, &mut pipeline, &scale, &mut report).await;
        memory::growth(&plan, &mut pipeline, &mut report).await;
        pipeline.stop().await;
    }
    if wanted(Part::Cost) {
        eprintln!("counting what a delivery costs");
        cost::measure(&plan, disk, &arrivals, &scale, &mut report).await;
    }
    if wanted(Part::Filters) {
        eprintln!("publishing to a hundred webhooks with filters");
        filters::measure(&plan, disk, &arrivals, &mut report).await;
    }
    if wanted(Part::Paced) {
        eprintln!("publishing at a steady rate");
        paced::measure(&plan, disk, &arrivals, &scale, &mut report).await;
    }
    if wanted(Part::Hanging) {
        eprintln!("publishing to ten receivers, one of which hangs");
        hanging::measure(&plan, disk, &arrivals, &mut report).await;
    }
    if wanted(Part::Drain) {
        eprintln!("starting with many waiting deliveries");
        drain::measure(&plan, disk, &arrivals, &scale, &mut report).await;
    }
    if wanted(Part::Crowd) {
        eprintln!("publishing to a thousand webhooks");
        crowd::measure(&plan, disk, &arrivals, &mut report).await;
    }
    if wanted(Part::Flow) {
        eprintln!("publishing to receivers that fail some requests");
        flow::measure(&plan, disk, &arrivals, &mut report).await;
    }
    if wanted(Part::Pages) {
        eprintln!("storing many rows");
        pages::measure(&plan, disk, &arrivals, &mut report).await;
    }
    if wanted(Part::Jitter) {
        eprintln!("deciding");
        decision::measure(&scale, &mut report);
    }
    if wanted(Part::Verification) {
        eprintln!("verifying requests to sources");
        verification::measure(&plan, &mut report);
    }
    if let Some(picture) = &arguments.picture {
        eprintln!("measuring rate and latency for the picture");
        sweep::measure(&plan, disk, &arrivals, picture, &mut report).await;
    }
    report
}

/// Returns on Ctrl-C. Processes that were started end when their handles are dropped.
async fn told_to_stop() {
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let mut interrupt = signal(SignalKind::interrupt()).unwrap();
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// The directory that cargo builds into: on the disk of the checkout, where a directory for temporary files may be in
/// memory.
fn target_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(2).unwrap().to_owned()
}
