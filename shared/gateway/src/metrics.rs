//! The metrics of this process. They cost next to nothing while no recorder is installed. Labels have few, fixed values:
//! never an id, never text from a publisher or receiver.

use metrics::{counter, describe_counter, describe_histogram, histogram};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::flow::Change;
use postrider_domain::stats::LATENCY_BOUNDS_MS;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::sender::OwnFaultKind;

use crate::attempt::Attempted;
use crate::ingest::Repeated;

/// Accepted events, by whether they were new.
pub const EVENTS: &str = "postrider_events_total";
/// Events that do not match the schema of their type, by whether they were accepted.
pub const SCHEMA_MISMATCHES: &str = "postrider_schema_mismatches_total";
/// Attempts, by outcome.
pub const ATTEMPTS: &str = "postrider_attempts_total";
pub const ATTEMPT_SECONDS: &str = "postrider_attempt_seconds";
/// Deliveries that an attempt finished, by status.
pub const FINISHED: &str = "postrider_deliveries_finished_total";
/// From the event to its delivery, including retries.
pub const LATENCY_SECONDS: &str = "postrider_delivery_latency_seconds";

/// Results that could never be written: the store is damaged, or holds something that this version cannot read.
pub const UNWRITABLE: &str = "postrider_unwritable_results_total";

/// Changes of webhooks' rate limits, by kind.
pub const FLOW_CHANGES: &str = "postrider_rate_limit_changes_total";

/// Requests that were not sent because of a fault of the gateway's own, by kind.
pub const OWN_FAULTS: &str = "postrider_own_faults_total";

/// Histogram bounds of attempts, in seconds. No attempt takes longer than 36 s.
pub const ATTEMPT_BOUNDS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// Histogram bounds of latencies, in seconds.
#[must_use]
pub fn latency_bounds() -> Vec<f64> {
    LATENCY_BOUNDS_MS.map(seconds).to_vec()
}

/// Registers the help texts of all metrics.
pub fn describe() {
    describe_counter!(EVENTS, "Events accepted; result is new or repeated");
    describe_counter!(
        SCHEMA_MISMATCHES,
        "Events whose payload does not match the schema of their type; result is accepted or rejected"
    );
    describe_counter!(
        ATTEMPTS,
        "Attempts made; outcome is delivered, failed, dead or stale"
    );
    describe_histogram!(ATTEMPT_SECONDS, "How long attempts took");
    describe_counter!(
        FINISHED,
        "Deliveries that an attempt finished; status is delivered or dead"
    );
    describe_counter!(
        OWN_FAULTS,
        "Requests not sent because of the gateway's own machine; kind is descriptors, memory, ports, network or setup"
    );
    describe_histogram!(
        LATENCY_SECONDS,
        "From event to delivered, including retries"
    );
    describe_counter!(
        FLOW_CHANGES,
        "Changes of webhooks' rate limits; change is entered, cut, raised, opened or reset"
    );
    describe_counter!(
        UNWRITABLE,
        "Results of attempts that the store rejected; their deliveries are sent again, ever less often"
    );
}

/// Shows counters of rare events as 0 until the first one, so that an alert on an increase sees it.
pub fn start_at_zero() {
    counter!(UNWRITABLE).increment(0);
    for result in ["accepted", "rejected"] {
        counter!(SCHEMA_MISMATCHES, "result" => result).increment(0);
    }
    for change in Change::NAMES {
        counter!(FLOW_CHANGES, "change" => change).increment(0);
    }
    for kind in OwnFaultKind::ALL {
        counter!(OWN_FAULTS, "kind" => kind.as_str()).increment(0);
    }
}

pub(crate) fn schema_mismatch(result: &'static str) {
    counter!(SCHEMA_MISMATCHES, "result" => result).increment(1);
}

pub(crate) fn flow_changed(change: Change) {
    counter!(FLOW_CHANGES, "change" => change.as_str()).increment(1);
}

pub(crate) fn unwritable() {
    counter!(UNWRITABLE).increment(1);
}

pub(crate) fn accepted(repeated: Repeated) {
    let result = match repeated {
        Repeated::No => "new",
        Repeated::Yes => "repeated",
    };
    counter!(EVENTS, "result" => result).increment(1);
}

/// Counts a POST. If its result was not written, it counts as `stale`, so that no delivery is counted twice.
pub(crate) fn attempted(transition: Transition, written: &Result<Attempted>, elapsed_ms: u32) {
    let outcome = match (written, transition) {
        (Ok(Attempted::Done(_)), Transition::Deliver) => "delivered",
        (Ok(Attempted::Done(_)), Transition::Retry { .. }) => "failed",
        (Ok(Attempted::Done(_)), Transition::Die { .. }) => "dead",
        (Ok(Attempted::Stale | Attempted::NotStarted | Attempted::GivenBack(_)) | Err(_), _) => {
            "stale"
        }
    };
    counter!(ATTEMPTS, "outcome" => outcome).increment(1);
    histogram!(ATTEMPT_SECONDS).record(seconds(u64::from(elapsed_ms)));
}

/// Counts a request that was not sent; it is not an attempt.
pub(crate) fn own_fault(kind: OwnFaultKind) {
    counter!(OWN_FAULTS, "kind" => kind.as_str()).increment(1);
}

/// Counts a row after an attempt, if the attempt finished it.
pub(crate) fn finished(after: &Delivery, at: Timestamp) {
    let status = match after.status {
        Status::Pending | Status::Failed => return,
        Status::Delivered => {
            let latency = at.since(after.created_at);
            histogram!(LATENCY_SECONDS).record(seconds(latency.get()));
            "delivered"
        }
        Status::Dead => "dead",
    };
    counter!(FINISHED, "status" => status).increment(1);
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds beyond 2^53 are 285,000 years"
)]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
