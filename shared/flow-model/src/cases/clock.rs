//! A clock that is a day ahead for one call.

use super::{count, over_seeds};
use crate::policy::Said;
use crate::receiver::Receiver;
use crate::report::Report;
use crate::run;
use crate::scenario::Scenario;
use crate::table::{Figure, Found, Row};

const END_S: u64 = 300;

pub const ROW: Row = Row {
    name: "clock",
    case: "the clock a day ahead for one call; before, during and after a limit",
    bar: "nothing waits more than a minute longer, but for rows written in that call",
    before: "shown: the webhook's retries wait a day; retry now, pause and resume do not help",
    run: clock,
};

/// Down from the 30th to the 60th second at 50/s.
const CASE: Scenario =
    Scenario::new(50, Receiver::down(Said::Unavailable, 30, 60)).lasting(END_S, END_S);

fn clock() -> Found {
    let seconds = [15, 31, 45, 61, 70, 90, 150];
    let figures = seconds.into_iter().flat_map(|second| {
        over_seeds(&format!("at {second} s"), CASE, |of, case| {
            let ahead = longest_wait_s(&run(case.with_clock_ahead_at(second)));
            let longer = ahead - longest_wait_s(&run(case));
            vec![
                Figure::new(of, "longest wait, longer by", longer.max(0.0), "s").at_most(60.0),
                Figure::new(of, "longest wait", ahead, "s"),
            ]
        })
    });
    figures.collect::<Vec<_>>().into()
}

fn longest_wait_s(report: &Report) -> f64 {
    let first = report.first_wait_ms(0, END_S);
    count(first.max(report.retry_wait_ms(0, END_S))) / 1000.0
}
