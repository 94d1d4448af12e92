//! The long crash loop: `cargo run --release -p postrider-tests --bin chaos -- --kills 1000`.
#![allow(clippy::print_stdout, reason = "its report is its purpose")]

use std::process::ExitCode;

use clap::Parser;

/// Kill the gateway under load many times and count what is lost
#[derive(Parser)]
struct Arguments {
    /// How often to kill it
    #[arg(long, default_value_t = 100)]
    kills: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let report = postrider_tests::chaos::run(Arguments::parse().kills).await;
    println!("kills                        {:>8}", report.kills);
    println!("acknowledged                 {:>8}", report.acknowledged);
    println!("lost                         {:>8}", report.lost);
    println!("duplicates                   {:>8}", report.duplicates);
    println!("attempts in flight at kills  {:>8}", report.in_flight);
    if report.lost == 0 && report.duplicates <= report.in_flight {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
