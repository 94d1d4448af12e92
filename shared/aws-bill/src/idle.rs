//! The usage of a month in which nothing happens.

use crate::assumptions::Assumptions;
use crate::delivery::{GB, Units};
use crate::usage::{Item, Usage};

const MINUTES: f64 = 30.0 * 24.0 * 60.0;
/// How many requests of 20 s a poller of a queue makes in a minute.
const POLLS_A_MINUTE: f64 = 3.0;

/// What the template creates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stack {
    pub alarms: u32,
    pub dashboards: u32,
    /// Metrics that the poller writes.
    pub metrics: u32,
    /// Metrics of the publisher and the watcher, from the first delivery on.
    pub metrics_with_traffic: u32,
    pub keys: u32,
    pub secrets: u32,
    /// Queues whose functions have a maximum concurrency.
    pub queues_with_maximum: u32,
    /// Other queues that a function reads. The notifier reads its queue only with a sender of e-mails.
    pub queues: u32,
}

/// The stack with every default.
pub const STACK: Stack = Stack {
    alarms: 39,
    dashboards: 1,
    metrics: 8,
    metrics_with_traffic: 6,
    keys: 1,
    secrets: 1,
    queues_with_maximum: 2,
    queues: 0,
};

impl Stack {
    /// The usage of a month, if a run of the poller uses these units.
    #[must_use]
    pub fn month(&self, tick: Units, assumed: &Assumptions) -> Usage {
        let count = |number: u32| f64::from(number);
        let polls = |queues: u32, pollers: f64| count(queues) * pollers * POLLS_A_MINUTE * MINUTES;
        let compute = MINUTES * assumed.tick_seconds * assumed.poller_gb;
        let logs = MINUTES * 2.0 * assumed.log_line_bytes / GB;
        Usage::default()
            .with(Item::Dashboards, "stack", count(self.dashboards))
            .with(Item::Alarms, "stack", count(self.alarms))
            .with(Item::Metrics, "poller", count(self.metrics))
            .with(Item::Keys, "stack", count(self.keys))
            .with(Item::Secrets, "first API key", count(self.secrets))
            .with(
                Item::QueueRequests,
                "polls of dispatcher and drainer",
                polls(self.queues_with_maximum, assumed.pollers_with_maximum),
            )
            .with(
                Item::QueueRequests,
                "polls of notifier",
                polls(self.queues, assumed.pollers),
            )
            .with(Item::ReadUnits, "poller", MINUTES * tick.reads)
            .with(Item::WriteUnits, "poller", MINUTES * tick.writes)
            .with(Item::ScheduledInvocations, "poller", MINUTES)
            .with(Item::Invocations, "poller", MINUTES)
            .with(Item::Compute, "poller", compute)
            .with(Item::LogsWritten, "poller", logs)
            .with(
                Item::LogsStored,
                "poller",
                logs * assumed.log_compression * assumed.log_months,
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::Bill;
    use crate::prices::Prices;

    #[test]
    fn an_idle_month_has_a_run_of_the_poller_every_minute() {
        let tick = Units {
            writes: 0.0,
            reads: 10.0,
        };
        let usage = STACK.month(tick, &Assumptions::default());
        assert!((usage.total(Item::ReadUnits) - 432_000.0).abs() < 1e-6);
        assert!((usage.total(Item::Invocations) - 43_200.0).abs() < 1e-6);
        let bill = Bill::of(&usage, &Prices::us_east_1());
        assert!((bill.of_item(Item::Dashboards) - 3.0).abs() < 1e-9);
    }
}
