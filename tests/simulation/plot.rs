//! Requests over time, as a text chart.

use std::fmt;

use postrider_domain::time::{Millis, Timestamp};

const WIDTH: usize = 60;
/// How long each second has its own line.
const FINE: u64 = 30;
/// How many seconds have one line after that, or a multiple of it.
const COARSE: u64 = 30;
/// The approximate maximum of such lines.
const LINES: u64 = 20;

/// When requests were made after some instant.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) from: Timestamp,
    pub(super) asked: Vec<Timestamp>,
    /// What a full line stands for, in requests per second.
    pub(super) full: u32,
}

impl Timeline {
    fn between(&self, from: u64, to: u64) -> usize {
        let at = |seconds| self.from.plus(Millis::from_seconds(seconds));
        let before = |end| self.asked.partition_point(|asked| *asked < end);
        before(at(to)) - before(at(from))
    }

    fn seconds(&self) -> u64 {
        let last = self.asked.last().copied().unwrap_or(self.from);
        last.since(self.from).get() / 1000 + 1
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "   seconds  requests  a second")?;
        let end = self.seconds();
        let coarse = COARSE * (end / (COARSE * LINES)).max(1);
        let mut from = 0;
        while from < end {
            let step = if from < FINE { 1 } else { coarse };
            let to = (from + step).min(end);
            let (count, span) = (self.between(from, to), usize::try_from(to - from).unwrap());
            let tenths = count * 10 / span;
            let bar = "█".repeat((count * WIDTH).div_ceil(span * self.full as usize));
            let stretch = format!("{from}–{to}");
            writeln!(
                f,
                "{stretch:>10} {count:>9} {:>6}.{}  {bar}",
                tenths / 10,
                tenths % 10
            )?;
            from = to;
        }
        Ok(())
    }
}
