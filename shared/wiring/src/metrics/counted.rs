//! The process's counters that a function reports to CloudWatch. Each increment is a line: these are rare, and a function may be
//! frozen right after it.

use std::sync::Arc;

use metrics::{
    Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use postrider_adapter_system::SystemClock;
use postrider_gateway::metrics::SCHEMA_MISMATCHES;
use postrider_ports::clock::Clock as _;
use tracing::warn;

use super::{Metric, emit};

/// Reports what is worth a metric on AWS, and ignores the rest.
pub(crate) struct Counted {
    /// The name of the gateway.
    pub(crate) gateway: Arc<str>,
}

/// The name in CloudWatch of a counter that is reported there.
fn reported(counter: &str) -> Option<&'static str> {
    (counter == SCHEMA_MISMATCHES).then_some("schema_mismatches")
}

impl Recorder for Counted {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        reported(key.name()).map_or_else(Counter::noop, |name| {
            let gateway = Arc::clone(&self.gateway);
            Counter::from_arc(Arc::new(Reported { gateway, name }))
        })
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

struct Reported {
    gateway: Arc<str>,
    name: &'static str,
}

impl CounterFn for Reported {
    fn increment(&self, value: u64) {
        let metric = Metric::of(self.name, super::Unit::Count, value);
        if let Err(reason) = emit(&self.gateway, SystemClock.now(), &[metric]) {
            warn!(event = "metrics.failed", %reason, name = self.name, "a metric could not be written");
        }
    }

    /// For totals that another system counts; there are none.
    fn absolute(&self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schema_mismatches_are_reported() {
        assert_eq!(reported(SCHEMA_MISMATCHES), Some("schema_mismatches"));
        assert_eq!(reported(postrider_gateway::metrics::EVENTS), None);
    }
}
