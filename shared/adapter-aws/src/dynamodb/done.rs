//! What this process has done for the stream lately.

use std::collections::{HashSet, VecDeque};

/// How many steps are remembered: those of the last batches, each of a thousand records at the most.
const REMEMBERED: usize = 10_000;

/// What is done for a record, each at most once by one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Its webhook's state has seen it.
    Judged,
    /// It is in the counters.
    CountedStats,
    /// It is in the feed.
    Told,
}

/// The steps that this process has done lately.
#[derive(Default)]
pub(super) struct Done {
    steps: HashSet<(Step, String)>,
    order: VecDeque<(Step, String)>,
}

impl Done {
    /// Whether it was done.
    pub(super) fn has(&self, step: Step, id: &str) -> bool {
        self.steps.contains(&(step, id.to_owned()))
    }

    /// It is done now.
    pub(super) fn note(&mut self, step: Step, id: &str) {
        let key = (step, id.to_owned());
        if self.steps.insert(key.clone()) {
            self.order.push_back(key);
        }
        while self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.steps.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_remembered_until_many_others_have_come() {
        let mut done = Done::default();
        done.note(Step::Told, "first");
        assert!(done.has(Step::Told, "first") && !done.has(Step::CountedStats, "first"));
        for n in 0..REMEMBERED {
            done.note(Step::Judged, &n.to_string());
        }
        assert!(!done.has(Step::Told, "first"));
        assert_eq!(done.order.len(), done.steps.len());
    }
}
