//! The `postrider` command.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command writes to its terminal"
)]

mod args;
mod body;
mod checks;
mod client;
mod commands;
mod demo;
mod dev;
mod edge;
mod failure;
mod hidden;
mod live;
mod output;
mod pages;
mod problem;
mod progress;
mod schemes;
mod serve;
mod table;
mod transport;
mod views;
mod when;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::output::Output;

/// Faster than the C library's. The released binaries are linked with musl, whose own one has a lock for all threads. Without huge
/// pages (`no_thp`), which would take 10 MB more.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = cli.output();
    match cli.command {
        Command::Serve(args) => ended(serve::run(args, &cli.gateway.data).await, out),
        Command::Demo(args) => ended(demo::run(args).await, out),
        Command::Dev(args) => ended(dev::run(args, &cli.gateway.data).await, out),
        Command::Task(task) => match commands::run(task, &cli.gateway, out).await {
            Ok(ending) => ending.exit_code(),
            Err(failure) => {
                failure.report(out);
                failure.exit_code()
            }
        },
    }
}

fn ended(run: anyhow::Result<ExitCode>, out: Output) -> ExitCode {
    run.unwrap_or_else(|error| match error.downcast::<Failure>() {
        Ok(failure) => {
            failure.report(out);
            failure.exit_code()
        }
        Err(error) => {
            out.complain(format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    })
}
