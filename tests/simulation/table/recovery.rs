//! A receiver that was down for a day.

use std::fmt::Write as _;

use postrider_flow_model::table::{Figure, Found, Row};

use crate::simulation::a_day_down;

/// How many deliveries wait.
const DELIVERIES: usize = 10_000;

pub(super) const ROW: Row = Row {
    name: "day-down",
    case: "embedded, `public-api`, down for a day with 10,000 deliveries on hold, then resumed",
    bar: "none lost, none sent twice",
    before: "–",
    run: recovery,
};

fn recovery() -> Found {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut figures, mut text) = (Vec::new(), String::new());
    for rate in [50, 5] {
        let recovery = runtime.block_on(a_day_down(DELIVERIES, rate));
        let of = format!("retry_rate {rate}/s");
        let lost = super::count(recovery.waiting - recovery.delivered);
        let doubled = super::count(recovery.doubled);
        let minutes = super::count(recovery.took.get()) / 60_000.0;
        figures.extend([
            Figure::new(&of, "lost", lost, "").at_most(0.0),
            Figure::new(&of, "sent twice", doubled, "").at_most(0.0),
            Figure::new(&of, "all delivered after", minutes, "min"),
        ]);
        let _ = writeln!(text, "{recovery}");
    }
    Found { figures, text }
}
