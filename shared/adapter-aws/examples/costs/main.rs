//! Estimates what a million deliveries cost on AWS: write and read units are measured on DynamoDB Local, everything
//! else is calculated from list prices and the assumptions printed with the totals. Run it with `make costs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    dead_code,
    reason = "a printed report, built from the test support code"
)]

mod prices;
#[path = "../../tests/dynamodb/support/mod.rs"]
mod support;

use postrider_domain::decide::Transition;
use postrider_testkit::builders::after;

use crate::support::Metered;

/// Assumed rather than measured. Each value is on the expensive side for a gateway under load.
const ASSUMED: &str = "\
Assumed: one event for one webhook with a session. The api function takes 20 ms at 512 MB, an attempt 250 ms.
Quiet: every queue message and every row change arrives alone, so each causes its own invocation.
Busy: queue messages arrive in batches of 10, row changes in batches of 100, topic messages in batches of 10.
The publisher writes 2 units for a change that arrives alone, 0.6 for one in a batch (counters and live feed).
A log line has 600 bytes. Rows are kept for 30 days, and storage is priced for that time.";

const MEMORY_GB: f64 = 0.5;
const API_SECONDS: f64 = 0.02;
const ATTEMPT_SECONDS: f64 = 0.25;
const PUBLISHER_SECONDS: f64 = 0.03;
const LOG_LINE_KB: f64 = 0.6;
/// The size of a row, its entries in four indexes and the overhead of its event, without the body.
const ROW_KB: f64 = 2.0;
/// Units that the publisher writes per change: its share of a counter and of the live feed.
const PUBLISHER_WRITES_QUIET: f64 = 2.0;
const PUBLISHER_WRITES_BUSY: f64 = 0.6;

struct Case {
    name: &'static str,
    body_bytes: usize,
    failures: u64,
}

struct Units {
    writes: f64,
    reads: f64,
}

#[tokio::main]
async fn main() {
    let cases = [
        case("1 KB, delivered at once", 1024, 0),
        case("10 KB, delivered at once", 10 * 1024, 0),
        case("1 KB, two retries", 1024, 2),
        case("10 KB, two retries", 10 * 1024, 2),
    ];
    println!("| per million deliveries | write units each | read units each | quiet | busy |");
    println!("|---|---|---|---|---|");
    for case in cases {
        let units = measure(&case).await;
        let (quiet, busy) = (price(&case, &units, false), price(&case, &units, true));
        println!(
            "| {} | {} | {:.1} | ${quiet:.2} | ${busy:.2} |",
            case.name, units.writes, units.reads
        );
    }
    println!("\n{ASSUMED}");
}

const fn case(name: &'static str, body_bytes: usize, failures: u64) -> Case {
    Case {
        name,
        body_bytes,
        failures,
    }
}

/// Runs one delivery on DynamoDB Local and counts its units.
async fn measure(case: &Case) -> Units {
    let metered = Metered::start().await;
    let session = "session-of-an-agent-0042".parse().unwrap();
    let (id, accepted) = metered.accept(Some(session), case.body_bytes).await;
    let mut units = Units {
        writes: accepted.writes,
        reads: accepted.reads,
    };
    for n in 0..=case.failures {
        let (now, next_retry_at) = (after(60 * n), after(60 * (n + 1)));
        let transition = if n == case.failures {
            Transition::Deliver
        } else {
            Transition::Retry { next_retry_at }
        };
        let read = metered.look(id).await;
        let (claimed, claim) = metered.claim(id, now).await;
        let applied = metered.apply(&claimed, transition, now).await;
        units.writes += claim.writes + applied.writes;
        units.reads += read.reads + claim.reads + applied.reads;
    }
    units
}

/// The price of a million deliveries, in dollars.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn price(case: &Case, units: &Units, busy: bool) -> f64 {
    let attempts = (case.failures + 1) as f64;
    let (messages_together, changes_together, published_together) = if busy {
        (10.0, 100.0, 10.0)
    } else {
        (1.0, 1.0, 1.0)
    };
    let publisher_writes = if busy {
        PUBLISHER_WRITES_BUSY
    } else {
        PUBLISHER_WRITES_QUIET
    };
    let table = units.writes * prices::WRITES
        + units.reads * prices::READS
        + attempts * publisher_writes * prices::WRITES;
    let stored = (case.body_bytes as f64 / 1024.0 + ROW_KB) * prices::STORED_GB_MONTH;
    let api = prices::HTTP_API + invocation(1.0, API_SECONDS);
    let dispatching = invocation(attempts / messages_together, ATTEMPT_SECONDS);
    let publishing = invocation(attempts / changes_together, PUBLISHER_SECONDS);
    let queue = attempts * (1.0 + 2.0 / messages_together) * prices::QUEUE;
    let topic = attempts / published_together * prices::TOPIC;
    let logs = (1.0 + attempts) * LOG_LINE_KB * prices::LOGS_GB;
    table + stored + api + dispatching + publishing + queue + topic + logs
}

/// The price of a million invocations times `share`, each taking this many seconds.
fn invocation(share: f64, seconds: f64) -> f64 {
    share * (prices::INVOCATIONS + seconds * MEMORY_GB * prices::GB_SECOND * 1e6)
}
