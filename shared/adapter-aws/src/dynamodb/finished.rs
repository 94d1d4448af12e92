//! What a stream record contributes to the key stats.

use postrider_domain::key_stats::Finished;

use super::stream::{Change, Record};

impl Record {
    /// The delivery that this change finished, if any.
    #[must_use]
    pub fn finished(&self) -> Option<Finished> {
        let change = Change::of(self.clone()).ok()?;
        let row = change.row()?;
        Finished::of_change(&row.before, &row.after, row.at)
    }
}
