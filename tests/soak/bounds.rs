//! What has to stay bounded however long it runs.

use std::fmt;

use crate::usage::Sample;

/// SQLite cuts the log to 64 MiB.
const LOG_MB: f64 = 64.0 * 1.048_576;

/// A figure and its bound.
pub(crate) struct Bound {
    name: &'static str,
    figure: f64,
    most: f64,
}

impl Bound {
    pub(crate) const fn at_most(name: &'static str, figure: f64, most: f64) -> Self {
        Self { name, figure, most }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.figure <= self.most
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_kept() { "" } else { "  missed" };
        let Self { name, figure, most } = self;
        write!(f, "  {name:<44} {figure:>10.1} of {most:>10.1}{verdict}")
    }
}

/// Something that does not grow: the last quarter is compared with the second. In the first, caches fill.
fn steady(
    name: &'static str,
    samples: &[Sample],
    spare: f64,
    figure: impl Fn(&Sample) -> f64,
) -> Bound {
    let quarter = samples.len() / 4;
    let most = |part: &[Sample]| part.iter().map(&figure).fold(0.0, f64::max);
    let (second, last) = (
        most(&samples[quarter..2 * quarter]),
        most(&samples[3 * quarter..]),
    );
    Bound::at_most(name, last, second * 1.25 + spare)
}

pub(crate) fn check(samples: &[Sample]) -> Vec<Bound> {
    let most = |figure: fn(&Sample) -> f64| samples.iter().map(figure).fold(0.0, f64::max);
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let grown = (last.database_mb - first.database_mb) * 1e6;
    let per_request = grown / (last.requests - first.requests).max(1.0);
    // A kill makes the deliveries of a moment late.
    let calm = samples
        .windows(2)
        .filter(|pair| !pair[0].is_disturbed && !pair[1].is_disturbed);
    let mut latenesses: Vec<_> = calm.map(|pair| pair[1].p99_ms).collect();
    latenesses.sort_by(f64::total_cmp);
    // Not the worst one: other work on the machine, or a slow sync of its disk, makes single samples late.
    let middle = latenesses[latenesses.len() / 2];
    vec![
        steady("memory, last quarter, MB", samples, 20.0, |it| it.memory_mb),
        steady("descriptors, last quarter", samples, 64.0, |it| {
            it.descriptors
        }),
        steady("threads, last quarter", samples, 4.0, |it| it.threads),
        Bound::at_most("files in the data directory", most(|it| it.files), 12.0),
        Bound::at_most("log, MB", most(|it| it.log_mb), LOG_MB),
        Bound::at_most("database, bytes per request", per_request, 3000.0),
        Bound::at_most("p99 of lateness, median sample, ms", middle, 500.0),
    ]
}
