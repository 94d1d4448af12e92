//! The poller with ten million waiting rows.

use std::fmt::Write as _;

use postrider_flow_model::table::{Figure, Found, Row};

use crate::simulation::{HINTS_PER_SECOND, PAGE_TAKES, Scenario, simulate};

const ROWS: usize = 10_000_000;

pub(super) const ROW: Row = Row {
    name: "poller",
    case: "AWS: ten million waiting rows, due within six hours and within two",
    bar: "99 of 100 messages at most 2 s late, no row forgotten",
    before: "–",
    run: poller,
};

fn poller() -> Found {
    let mut figures = Vec::new();
    let mut text = format!(
        "Assumed: {HINTS_PER_SECOND} messages a second, {PAGE_TAKES} for a page of a query, ticks up to 5 s late, one in \
         20 a minute late and one in 20 three minutes late; dispatchers are never busy.\n"
    );
    for minutes in [360, 120] {
        let outcome = simulate(Scenario {
            rows: ROWS,
            minutes,
        });
        let of = format!("{minutes} minutes");
        let late = super::count(outcome.p99.get());
        figures.extend([
            Figure::new(&of, "p99 late", late, "ms").at_most(2000.0),
            Figure::new(&of, "forgotten", super::count(outcome.forgotten), "").at_most(0.0),
        ]);
        let _ = writeln!(text, "{outcome}");
    }
    Found { figures, text }
}
