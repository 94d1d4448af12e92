//! Receivers that fail some attempts at any rate.

use super::{both_shapes, count, percent};
use crate::receiver::Receiver;
use crate::scenario::Scenario;
use crate::table::{Figure, Found, Row};

pub const A_FEW_PER_CENT: Row = Row {
    name: "flaky",
    case: "50 and 500/s; 0.5 % and 5 % of 503; `standard`",
    bar: "no first attempt waits for credit; failed ones are retried on schedule",
    before: "measured at 50/s and 0.5 %: 791 of 3,000 delivered after a minute, from then on 5/s",
    run: a_few_per_cent,
};

pub const A_QUARTER: Row = Row {
    name: "quarter",
    case: "15 % and 25 % of 503, 50/s",
    bar: "no first attempt waits longer than ten seconds",
    before: "modelled, with the first draft of these rules: 13/s and 1.1/s delivered",
    run: a_quarter,
};

fn a_few_per_cent() -> Found {
    let cases = [(50, 5), (50, 50), (500, 5), (500, 50)];
    let figures = cases.into_iter().flat_map(|(per_second, per_mille)| {
        let case = Scenario::new(per_second, Receiver::flaky(per_mille)).lasting(600, 600);
        let name = format!("{per_second}/s, {}", percent(per_mille));
        both_shapes(&name, case, |of, report| {
            let first = count(report.first_wait_ms(0, 600));
            let retry = count(report.retry_wait_ms(0, 590));
            let delivered = report.delivered_per_second(30, 600);
            vec![
                Figure::new(of, "longest wait of a first attempt", first, "ms").at_most(0.0),
                Figure::new(of, "of a retry", retry, "ms").at_most(3000.0),
                Figure::new(of, "delivered", delivered, "/s"),
            ]
        })
    });
    figures.collect::<Vec<_>>().into()
}

fn a_quarter() -> Found {
    let figures = [150, 250].into_iter().flat_map(|per_mille| {
        let case = Scenario::new(50, Receiver::flaky(per_mille)).lasting(600, 600);
        both_shapes(&percent(per_mille), case, |of, report| {
            let wait = count(report.first_wait_ms(0, 600));
            let delivered = report.delivered_per_second(30, 600);
            vec![
                Figure::new(of, "longest wait of a first attempt", wait, "ms").at_most(10_000.0),
                Figure::new(of, "delivered", delivered, "/s"),
                Figure::new(of, "limited", count(report.entered), "times"),
            ]
        })
    });
    figures.collect::<Vec<_>>().into()
}
