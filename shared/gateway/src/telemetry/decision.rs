//! The log line of an attempt: its result, and everything the decision was based on.

use postrider_domain::attempt::Attempt;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::Delivery;
use postrider_domain::outcome::{Answer, Control, FailureKind, Outcome, Phase};
use postrider_domain::retry::{Jitter, Policy};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use tracing::info;

use crate::attempt::Attempted;

/// A decision and its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Decision<'a> {
    /// The row as it was claimed.
    pub(crate) row: &'a Delivery,
    pub(crate) outcome: &'a Outcome,
    pub(crate) policy: &'a Policy,
    pub(crate) decided_at: Timestamp,
    pub(crate) jitter: Jitter,
    pub(crate) transition: Transition,
}

/// Logs one line per attempt. Only a written attempt counts, so the line follows the write: `outcome` is `stale` if another
/// process had claimed the delivery by then. `decision` can be reproduced from the fields after it. For a success those
/// about retries play no part, and on AWS every byte is billed.
pub(super) fn log(decision: &Decision<'_>, attempt: &Attempt, written: &Result<Attempted>) {
    let Decision {
        row,
        policy,
        decided_at,
        jitter: Jitter(jitter),
        transition,
        ..
    } = *decision;
    let next_retry_at = match transition {
        Transition::Retry { next_retry_at } => Some(next_retry_at.as_millis()),
        Transition::Deliver | Transition::Die { .. } => None,
    };
    let retrying = match transition {
        Transition::Deliver => None,
        Transition::Retry { .. } | Transition::Die { .. } => Some(policy),
    };
    let (retry_after, directive) = match &decision.outcome.result {
        Answer::Response(response) => (response.retry_after, response.control),
        Answer::Failed(_) => (None, None),
    };
    info!(
        event = "delivery.attempted",
        delivery_id = %row.id,
        webhook_id = %row.id.webhook,
        tenant = %row.tenant,
        event_type = %row.event_type,
        attempt_number = attempt.number,
        elapsed_ms = attempt.timings.total_ms,
        outcome = outcome(transition, written),
        decision = decided(transition),
        next_retry_at_ms = next_retry_at,
        decided_at_ms = decided_at.as_millis(),
        attempt_count = row.attempt_count.saturating_add(1),
        max_attempts = row.max_attempts,
        status_code = attempt.status_code,
        failure_kind = attempt.kind.map(FailureKind::as_str),
        phase = attempt.phase.map(Phase::as_str),
        retry_after_ms = retry_after.map(|after| after.wait(decided_at).get()),
        directive = directive.map(Control::as_str),
        // Inside the macro: nothing is built for a line that is not written.
        delays_ms = retrying.map(delays),
        max_backoff_ms = retrying.map(|policy| policy.max_backoff.get()),
        jitter_bps = retrying.map(|policy| policy.jitter_bps),
        classifier = policy.classifier.as_str(),
        redirects = policy.redirects.as_str(),
        retry_after = retrying.map(|policy| policy.retry_after.as_str()),
        on_exhausted = retrying.map(|policy| policy.on_exhausted.as_str()),
        retry_budget = retrying.map(|policy| policy.budget.0),
        jitter = retrying.map(|_| jitter),
        "{}",
        sentence(decision, attempt, written)
    );
}

fn delays(policy: &Policy) -> String {
    let delays: Vec<_> = policy
        .delays
        .iter()
        .map(|ms| ms.get().to_string())
        .collect();
    delays.join(",")
}

/// The decision, if it was written.
pub(crate) fn outcome(transition: Transition, written: &Result<Attempted>) -> &'static str {
    match written {
        Ok(Attempted::Done(_)) => decided(transition),
        Ok(Attempted::Stale | Attempted::NotStarted | Attempted::GivenBack(_)) => "stale",
        Err(_) => "not_written",
    }
}

const fn decided(transition: Transition) -> &'static str {
    match transition {
        Transition::Deliver => "delivered",
        Transition::Retry { .. } => "failed",
        Transition::Die { cause } => cause.as_str(),
    }
}

fn sentence(decision: &Decision<'_>, attempt: &Attempt, written: &Result<Attempted>) -> String {
    let row = decision.row;
    let (number, max) = (row.attempt_count.saturating_add(1), row.max_attempts);
    let answer = match (&attempt.error, attempt.status_code) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => format!("HTTP status {status}"),
        (None, None) => "no response".to_owned(),
    };
    let attempt = format!("attempt {number} of {max}");
    match (written, decision.transition) {
        (Ok(Attempted::Stale | Attempted::NotStarted | Attempted::GivenBack(_)), _) => {
            format!(
                "{attempt} does not count because another process claimed the delivery: {answer}"
            )
        }
        (Err(_), _) => format!("{attempt} could not be recorded: {answer}"),
        (Ok(Attempted::Done(_)), Transition::Deliver) => format!("{attempt} delivered: {answer}"),
        (Ok(Attempted::Done(_)), Transition::Retry { next_retry_at }) => {
            let wait = next_retry_at.since(decision.decided_at).get();
            format!(
                "{attempt} failed, retrying in {} s: {answer}",
                wait.div_ceil(1000)
            )
        }
        (Ok(Attempted::Done(_)), Transition::Die { cause }) => {
            format!("{attempt} failed, no retry ({}): {answer}", cause.as_str())
        }
    }
}

#[cfg(test)]
mod tests;
