//! What is logged. An allow-list of fields: never a body, a signature, a secret or a query string.

use postrider_domain::attempt::Attempt;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Delivery};
use postrider_domain::event::Event;
use postrider_domain::ids::{JobId, WebhookId};
use postrider_domain::inbound::Rejection;
use postrider_domain::outcome::{Answer, Outcome, Phase};
use postrider_domain::retry::Jitter;
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Error;
use tracing::{debug, error, info, warn};

use crate::ingest::{Published, Repeated};
use crate::poll::Ticked;
use crate::{GatewayError, metrics};

/// The one line of an attempt: enough to replay the decision.
pub(crate) fn attempted(
    row: &Delivery,
    attempt: &Attempt,
    transition: Transition,
    Jitter(jitter): Jitter,
) {
    let (outcome, next_retry_at) = match transition {
        Transition::Deliver => ("delivered", None),
        Transition::Retry { next_retry_at } => ("failed", Some(next_retry_at.as_millis())),
        Transition::Die { cause } => (cause.as_str(), None),
    };
    metrics::attempted(transition, attempt.timings.total_ms);
    info!(
        delivery_id = %row.id,
        webhook_id = %row.id.webhook,
        tenant = %row.tenant,
        event_type = %row.event_type,
        attempt_number = attempt.number,
        attempt_count = row.attempt_count.saturating_add(1),
        max_attempts = row.max_attempts,
        status_code = attempt.status_code,
        phase = attempt.phase.map(Phase::as_str),
        elapsed_ms = attempt.timings.total_ms,
        outcome,
        next_retry_at_ms = next_retry_at,
        jitter,
        "delivery.attempted"
    );
}

pub(crate) fn lease_lost(claimed: &Claimed) {
    warn!(delivery_id = %claimed.delivery().id, "delivery.lease_lost");
}

pub(crate) fn renewal_failed(claimed: &Claimed, reason: &Error) {
    warn!(delivery_id = %claimed.delivery().id, %reason, "delivery.renewal_failed");
}

pub(crate) fn write_failed(claimed: &Claimed, reason: &Error) {
    warn!(delivery_id = %claimed.delivery().id, %reason, "delivery.write_failed");
}

pub(crate) fn attempt_abandoned(claimed: &Claimed, reason: &Error) {
    error!(delivery_id = %claimed.delivery().id, %reason, "delivery.attempt_abandoned");
}

pub(crate) fn attempt_not_counted(claimed: &Claimed, why: &'static str) {
    debug!(delivery_id = %claimed.delivery().id, why, "delivery.attempt_not_counted");
}

/// That a shadow goes out. Of its address only the host is said: the rest may hold a credential.
pub(crate) fn shadowing(row: &Delivery, host: Option<&str>) {
    info!(
        delivery_id = %row.id,
        webhook_id = %row.id.webhook,
        tenant = %row.tenant,
        host,
        "delivery.shadow_sent"
    );
}

/// What came of a shadow.
pub(crate) fn shadowed(row: &Delivery, outcome: &Outcome) {
    let phase = match &outcome.result {
        Answer::Response(_) => None,
        Answer::Failed(failure) => Some(failure.phase.as_str()),
    };
    info!(
        delivery_id = %row.id,
        webhook_id = %row.id.webhook,
        tenant = %row.tenant,
        status_code = outcome.status(),
        phase,
        elapsed_ms = outcome.timings.total_ms,
        "delivery.shadowed"
    );
}

/// The one line of a test.
pub(crate) fn webhook_probed(
    webhook: &Webhook,
    number: u32,
    outcome: &Outcome,
    next_probe_at: Option<Timestamp>,
) {
    let phase = match &outcome.result {
        Answer::Response(_) => None,
        Answer::Failed(failure) => Some(failure.phase.as_str()),
    };
    info!(
        webhook_id = %webhook.id,
        tenant = %webhook.tenant,
        number,
        status_code = outcome.status(),
        phase,
        elapsed_ms = outcome.timings.total_ms,
        next_test_at_ms = next_probe_at.map(Timestamp::as_millis),
        "webhook.tested"
    );
}

pub(crate) fn probe_failed(webhook: WebhookId, reason: &Error) {
    warn!(webhook_id = %webhook, %reason, "webhook.test_failed");
}

pub(crate) fn report_failed(webhook: WebhookId, reason: &Error) {
    warn!(webhook_id = %webhook, %reason, "pace.report_failed");
}

pub(crate) fn cycle_failed(reason: &Error) {
    warn!(%reason, "courier.cycle_failed");
}

pub(crate) fn sweep_failed(step: &'static str, reason: &Error) {
    warn!(step, %reason, "sweep.failed");
}

pub(crate) fn retry_job_failed(id: JobId, reason: &GatewayError) {
    warn!(retry_id = %id, %reason, "sweep.retry_failed");
}

pub(crate) fn swept(step: &'static str, rows: usize) {
    info!(step, rows, "sweep.done");
}

pub(crate) fn chores_unfinished() {
    info!("sweep.unfinished");
}

pub(crate) fn ticked(ticked: &Ticked) {
    info!(
        messages_sent = ticked.messages_sent,
        messages_failed = ticked.messages_failed,
        oldest_due_age_seconds = ticked.oldest_due_age.get() / 1000,
        queue_depth = ticked.queue_depth,
        ended = ?ticked.ended,
        "poll.ticked"
    );
}

pub(crate) fn poll_failed(step: &'static str, reason: &Error) {
    warn!(step, %reason, "poll.failed");
}

/// The reason is for the operator alone. What an unknown sender wrote is not repeated.
pub(crate) fn inbound_refused(source: Option<&Source>, reason: Rejection) {
    info!(
        source_id = source.map(|source| source.id.to_string()),
        tenant = source.map(|source| source.tenant.as_str()),
        %reason,
        "inbound.refused"
    );
}

/// What it held is nobody's who reads a log; neither is what an unknown sender wrote.
pub(crate) fn refusal_not_kept(source: Option<&Source>, reason: &Error) {
    warn!(
        source_id = source.map(|source| source.id.to_string()),
        %reason,
        "inbound.refusal_not_kept"
    );
}

pub(crate) fn inbound_answered(source: Option<&Source>) {
    info!(
        source_id = source.map(|source| source.id.to_string()),
        tenant = source.map(|source| source.tenant.as_str()),
        "inbound.handshake_answered"
    );
}

pub(crate) fn inbound_accepted(source: &Source, event: &Event, published: &Published) {
    info!(
        source_id = %source.id,
        tenant = %source.tenant,
        event_id = %published.event,
        event_type = %event.event_type,
        body_bytes = event.body.len(),
        deliveries = published.deliveries.len(),
        repeated = published.repeated == Repeated::Yes,
        "inbound.accepted"
    );
}
