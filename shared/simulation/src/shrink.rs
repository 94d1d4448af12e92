//! Makes a failing run smaller: fewer faults, events and operations, while the same promise is broken.

use std::collections::BTreeSet;

use super::audit::Promise;
use super::draws::{Strike, Strikes};
use super::{Plan, Until, run};

/// How many runs it may take.
const RUNS: usize = 300;

struct Shrinking {
    best: Plan,
    promise: Promise,
    runs: usize,
}

/// A smaller plan that breaks the same promise. The plan itself, if it breaks none.
#[must_use]
pub fn shrink(plan: &Plan) -> Plan {
    let outcome = run(plan);
    let Some(violation) = outcome.violation else {
        return plan.clone();
    };
    let until = if outcome.aged_ms > 0 {
        plan.until
    } else {
        Until::Rest
    };
    let mut shrinking = Shrinking {
        best: Plan {
            until,
            strikes: Strikes::Only(outcome.struck.into_iter().collect()),
            ..plan.clone()
        },
        promise: violation.promise,
        runs: 0,
    };
    shrinking.fewer_events();
    shrinking.fewer_strikes();
    shrinking.fewer_events();
    shrinking.best
}

impl Shrinking {
    /// Takes over a plan that still fails.
    fn try_plan(&mut self, plan: &Plan) -> bool {
        if self.runs >= RUNS {
            return false;
        }
        self.runs += 1;
        let outcome = run(plan);
        let fails = outcome
            .violation
            .is_some_and(|it| it.promise == self.promise);
        if fails {
            // What was not reached is not needed.
            let strikes = Strikes::Only(outcome.struck.into_iter().collect());
            self.best = Plan {
                strikes,
                ..plan.clone()
            };
        }
        fails
    }

    fn fewer_events(&mut self) {
        let without = Plan {
            operations: 0,
            ..self.best.clone()
        };
        self.try_plan(&without);
        while self.best.events > 1 {
            let half = Plan {
                events: self.best.events / 2,
                ..self.best.clone()
            };
            let less = Plan {
                events: self.best.events - 1,
                ..self.best.clone()
            };
            if !self.try_plan(&half) && !self.try_plan(&less) {
                return;
            }
        }
    }

    /// Leaves out ever smaller parts of the faults.
    fn fewer_strikes(&mut self) {
        let mut part = self.strikes().len();
        while part > 0 {
            let mut from = 0;
            while from < self.strikes().len() {
                let all = self.strikes();
                let left: BTreeSet<Strike> = all
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| !(from..from + part).contains(index))
                    .map(|(_, strike)| *strike)
                    .collect();
                let fewer = Plan {
                    strikes: Strikes::Only(left),
                    ..self.best.clone()
                };
                if !self.try_plan(&fewer) {
                    from += part;
                }
            }
            part /= 2;
        }
    }

    fn strikes(&self) -> Vec<Strike> {
        match &self.best.strikes {
            Strikes::All | Strikes::Often(_) => Vec::new(),
            Strikes::Only(only) => only.iter().copied().collect(),
        }
    }
}
