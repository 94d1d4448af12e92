//! Every case of the limiter at full length: embedded and AWS, each as the range over the seeds.

mod clock;
mod down;
mod flaky;
mod more;
mod overloaded;

use crate::report::Report;
use crate::run;
use crate::scenario::{Scenario, Shape};
use crate::table::{Figure, Row};

pub use clock::ROW as CLOCK;
pub use down::{PUBLIC_API, TEN_MINUTES as DOWN};
pub use flaky::{A_FEW_PER_CENT as FLAKY, A_QUARTER as QUARTER};
pub use more::ROW as MORE;
pub use overloaded::ROW as OVERLOADED;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

#[must_use]
pub const fn rows() -> [Row; 7] {
    [FLAKY, QUARTER, OVERLOADED, DOWN, PUBLIC_API, CLOCK, MORE]
}

/// The figures of a case in both shapes. `figures` gets the name of the runs and one report.
fn both_shapes(
    name: &str,
    case: Scenario,
    figures: impl Fn(&str, &Report) -> Vec<Figure>,
) -> Vec<Figure> {
    over_seeds(name, case, |of, case| figures(of, &run(case)))
}

fn over_seeds(
    name: &str,
    case: Scenario,
    figures: impl Fn(&str, Scenario) -> Vec<Figure>,
) -> Vec<Figure> {
    let shapes = [(Shape::Embedded, "embedded"), (Shape::Aws, "AWS")];
    let of_shape = |(shape, its_name)| {
        let of = format!("{name}, {its_name}");
        let runs = SEEDS.map(|seed| figures(&of, case.on(shape).seeded(seed)));
        runs.reduce(|one, other| {
            let pairs = one.into_iter().zip(&other);
            pairs
                .map(|(figure, its_like)| figure.and(its_like))
                .collect()
        })
        .unwrap_or_default()
    };
    shapes.into_iter().flat_map(of_shape).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a simulation")]
const fn count(value: u64) -> f64 {
    value as f64
}

fn percent(per_mille: u64) -> String {
    format!("{} %", count(per_mille) / 10.0)
}
