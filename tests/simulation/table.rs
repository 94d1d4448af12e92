//! The table that `make simulate` prints: what flow control must achieve, and what the gateway does otherwise.

mod faults;
mod fleet;
mod poller;
mod recovery;

use postrider_flow_model::cases;
use postrider_flow_model::table::{Found, Row};

/// In the order in which they are printed.
#[must_use]
pub fn rows() -> Vec<Row> {
    vec![
        cases::FLAKY,
        cases::QUARTER,
        cases::OVERLOADED,
        cases::DOWN,
        cases::PUBLIC_API,
        fleet::HANGING,
        fleet::BACKLOGS,
        cases::CLOCK,
        faults::ROW,
        PICKING,
        recovery::ROW,
        poller::ROW,
        cases::MORE,
    ]
}

/// Counted in steps of SQLite, which no clock is needed for.
const PICKING: Row = Row {
    name: "picking",
    case: "embedded: 10,000 stopped webhooks, 300,000 retries without credit",
    bar: "picking a fresh row costs what it costs without them",
    before: "modelled: 48 to 143 ms a look with 10,000 stopped webhooks, 44 ms a pick behind 300,000 retries",
    run: || {
        Found::elsewhere(
            "counted by `cargo nextest run -p postrider-adapter-local -E 'test(/sqlite::costs/)'`",
        )
    },
};

fn count(value: impl TryInto<u32>) -> f64 {
    f64::from(value.try_into().unwrap_or(u32::MAX))
}
