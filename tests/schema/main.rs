//! The long run of schemathesis: `make schema ARGS="--examples 500"`.

use std::process::ExitCode;

use clap::Parser;
use postrider_tests::schema::{Inputs, Stage};

/// Check a gateway against its OpenAPI document
#[derive(Parser)]
struct Arguments {
    /// Generated examples per operation and phase
    #[arg(long, default_value_t = 200)]
    examples: u32,
    /// Repeats the run that reported this seed
    #[arg(long)]
    seed: Option<u64>,
}

#[tokio::main]
#[expect(
    clippy::expect_used,
    reason = "a missing tool ends the run, with what to do"
)]
async fn main() -> ExitCode {
    let Arguments { examples, seed } = Arguments::parse();
    let stage = Stage::start().await;
    let inputs = seed.map_or(Inputs::Random, Inputs::Seeded);
    let ran = stage.schemathesis(examples, inputs).status().await;
    let status = ran.expect("schemathesis starts; `make setup` installs it");
    if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
