//! `make simulate`: what flow control must achieve, and what the gateway does at scale, in virtual time. Fails if a bar is
//! missed.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is what it is for"
)]

use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use postrider_flow_model::table::{Found, Row, Verdict};
use postrider_tests::simulation::table_rows;

/// Simulate the gateway in virtual time and compare the results with their bars
#[derive(Parser)]
struct Arguments {
    /// Run only this row; may be repeated
    #[arg(long, value_name = "NAME", value_parser = names())]
    only: Vec<String>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(table_rows().into_iter().map(|row| row.name))
}

fn main() -> ExitCode {
    let only = Arguments::parse().only;
    let is_wanted = |row: &Row| only.is_empty() || only.iter().any(|name| name == row.name);
    let rows: Vec<_> = table_rows().into_iter().filter(is_wanted).collect();
    let found: Vec<_> = rows.iter().map(simulate).collect();
    println!("{}", Row::HEAD);
    for (row, found) in rows.iter().zip(&found) {
        println!("{}", row.line(found));
    }
    let missed = |found: &Found| found.verdict() == Verdict::Missed;
    if found.iter().any(missed) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn simulate(row: &Row) -> Found {
    eprintln!("simulating {}: {}", row.name, row.case);
    let found = (row.run)();
    println!("{}: {}", row.name, found.verdict().text());
    for line in found.details() {
        println!("  {line}");
    }
    println!();
    found
}
