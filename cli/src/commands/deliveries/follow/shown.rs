//! The last shown state of each delivery, so that a list after a gap repeats none.

use std::collections::HashMap;

use postrider_api_types::Word;
use postrider_domain::delivery::Status;

use super::line::Line;

/// With more deliveries than this, it starts over: some may be shown twice after a gap.
const MAX_DELIVERIES: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Shown(HashMap<String, (Word<Status>, u32)>);

impl Shown {
    pub(super) fn add(&mut self, line: &Line<'_>) {
        if self.0.len() >= MAX_DELIVERIES {
            self.0.clear();
        }
        self.0.insert(line.id().to_owned(), line.state());
    }

    pub(super) fn has(&self, line: &Line<'_>) -> bool {
        self.0.get(line.id()) == Some(&line.state())
    }
}
