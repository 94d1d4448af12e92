//! The stream steps that this process has finished recently.

use std::collections::{HashSet, VecDeque};

/// How many steps are remembered: those of the last batches, each of at most a thousand records.
const REMEMBERED: usize = 10_000;

/// A step done for a record, at most once per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// The webhook's state includes it.
    HealthUpdated,
    /// The counters include it.
    Counted,
    /// The feed includes it.
    Notified,
}

#[derive(Default)]
pub(super) struct Done {
    steps: HashSet<(Step, String)>,
    order: VecDeque<(Step, String)>,
}

impl Done {
    pub(super) fn has(&self, step: Step, id: &str) -> bool {
        self.steps.contains(&(step, id.to_owned()))
    }

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
    fn a_step_is_remembered_until_many_others_follow() {
        let mut done = Done::default();
        done.note(Step::Notified, "first");
        assert!(done.has(Step::Notified, "first") && !done.has(Step::Counted, "first"));
        for n in 0..REMEMBERED {
            done.note(Step::HealthUpdated, &n.to_string());
        }
        assert!(!done.has(Step::Notified, "first"));
        assert_eq!(done.order.len(), done.steps.len());
    }
}
