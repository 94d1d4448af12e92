//! A drainer for which everything goes wrong that can.

use postrider_domain::time::Millis;
use postrider_flow_model::table::{Figure, Found, Row};

use crate::simulation::{Drained, Operator, QueueFault, RATE, Trouble, drain_backlog};

const ROWS: usize = 200;
const PATIENCE: Millis = Millis::from_seconds(3600);

pub(super) const ROW: Row = Row {
    name: "faults",
    case: "AWS: drainer killed at every call; pause, resume, delete between any two; `drain` lost, doubled, reordered; index 0 \
           to 300 s late; a row that is written 60 s late",
    bar: "every row leaves the backlog; no second above the rate by more than a tenth",
    before: "–",
    run: faults,
};

fn faults() -> Found {
    let calls = drain_backlog(ROWS, Trouble::NONE, PATIENCE).calls;
    let at_every_call = |of: &str, trouble: fn(usize) -> Trouble| {
        let drained = (0..calls).map(|call| drain_backlog(ROWS, trouble(call), PATIENCE));
        figures(of, drained)
    };
    let mut all = at_every_call("killed", |call| Trouble {
        dies_at_call: Some(call),
        ..Trouble::NONE
    });
    all.extend(at_every_call("paused and resumed", |call| Trouble {
        operator: Operator::PausesAndResumesAt(call),
        ..Trouble::NONE
    }));
    all.extend(at_every_call("deleted", |call| Trouble {
        operator: Operator::DeletesAt(call),
        ..Trouble::NONE
    }));
    let queues = [
        ("queue well", QueueFault::None),
        ("drain lost", QueueFault::Loses),
        ("drain doubled", QueueFault::Doubles),
        ("drain reordered", QueueFault::Reorders),
    ];
    for (of, queue) in queues {
        let lags = (0..=300).step_by(20).map(Millis::from_seconds);
        let late = lags.map(|index_lag| Trouble {
            queue,
            index_lag,
            late_row_after: Some(Millis::from_seconds(60)),
            ..Trouble::NONE
        });
        let of = format!("{of}, index 0 to 300 s late");
        all.extend(figures(
            &of,
            late.map(|trouble| drain_backlog(ROWS, trouble, PATIENCE)),
        ));
    }
    all.into()
}

/// The worst of these runs.
fn figures(of: &str, runs: impl Iterator<Item = Drained>) -> Vec<Figure> {
    let (mut count, mut waiting, mut most) = (0, 0, 0);
    for drained in runs {
        count += 1;
        waiting = waiting.max(drained.waiting);
        most = most.max(drained.most_in_a_second);
    }
    let limit = f64::from(RATE + RATE / 10);
    vec![
        Figure::new(of, "runs", super::count(count), ""),
        Figure::new(of, "left in the backlog", super::count(waiting), "").at_most(0.0),
        Figure::new(of, "most in a second", super::count(most), "").at_most(limit),
    ]
}
