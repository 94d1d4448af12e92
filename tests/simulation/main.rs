//! `make simulate`: the poller over ten million waiting rows.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::process::ExitCode;

use postrider_domain::time::Millis;
use postrider_tests::simulation::{HINTS_PER_SECOND, PAGE_TAKES, Scenario, simulate};

const ROWS: usize = 10_000_000;
/// How late 99 of 100 hints may be.
const BAR: Millis = Millis::from_seconds(2);

fn main() -> ExitCode {
    println!(
        "Assumed: {HINTS_PER_SECOND} hints a second, {PAGE_TAKES} for a page of a query, ticks up to 5 s late, one in \
         20 a minute late and one in 20 three minutes late; dispatchers are never busy.\n"
    );
    let mut good = true;
    for (shards, minutes) in [(16, 360), (64, 360), (16, 120), (64, 120)] {
        let outcome = simulate(Scenario {
            rows: ROWS,
            shards,
            minutes,
        });
        println!("{outcome}\n");
        good &= outcome.p99 <= BAR && outcome.forgotten == 0;
    }
    if good {
        println!("99 of 100 hints within {BAR}: yes");
        ExitCode::SUCCESS
    } else {
        println!("99 of 100 hints within {BAR}: NO");
        ExitCode::FAILURE
    }
}
