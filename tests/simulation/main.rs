//! `make simulate`: the poller with ten million waiting rows; a receiver that was down for a day with ten thousand
//! deliveries on hold.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::process::ExitCode;

use postrider_domain::time::Millis;
use postrider_tests::simulation::{HINTS_PER_SECOND, PAGE_TAKES, Scenario, a_day_down, simulate};

const ROWS: usize = 10_000_000;
/// How late 99 of 100 messages may be.
const BAR: Millis = Millis::from_seconds(2);
/// How many deliveries wait.
const DELIVERIES: usize = 10_000;

#[tokio::main]
async fn main() -> ExitCode {
    let recovered = outage().await;
    let messaged = poller();
    if recovered && messaged {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The embedded gateway, at a high rate and at the usual one.
async fn outage() -> bool {
    let mut good = true;
    for rate in [50, 5] {
        let recovery = a_day_down(DELIVERIES, rate).await;
        println!("{recovery}");
        let whole = recovery.delivered == recovery.waiting && recovery.doubled == 0;
        println!("nothing lost: {}\n", word(whole));
        good &= whole;
    }
    good
}

fn poller() -> bool {
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
    println!("99 of 100 hints within {BAR}: {}", word(good));
    good
}

const fn word(good: bool) -> &'static str {
    if good { "yes" } else { "NO" }
}
