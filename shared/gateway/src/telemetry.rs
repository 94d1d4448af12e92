//! Log lines. Each has a sentence as its message, a stable code in `event` and the facts in fields. Fields come from an
//! allow-list: never a body, a signature, a secret or a query string.

mod decision;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Delivery};
use postrider_domain::event::Event;
use postrider_domain::flow::{Change, Rates};
use postrider_domain::ids::{DeliveryId, ErasureId, JobId, TenantId, WebhookId};
use postrider_domain::inbound::Rejection;
use postrider_domain::json_schema::PayloadFault;
use postrider_domain::outcome::{Answer, Outcome};
use postrider_domain::source::Source;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::erasures::{Erased, Erasure};
use postrider_ports::sender::OwnFault;
use postrider_ports::watch::PeriodSweep;
use postrider_ports::{Error, Result};
use tracing::{debug, error, info, warn};

use crate::attempt::Attempted;
use crate::ingest::{Published, Repeated};
use crate::poll::Ticked;
use crate::poll::backlogs::BacklogsSeen;
use crate::{GatewayError, metrics};

pub(crate) use decision::{Decision, outcome};

/// Logs and counts an attempt, with the result of writing it.
pub(crate) fn attempted(decision: &Decision<'_>, attempt: &Attempt, written: &Result<Attempted>) {
    metrics::attempted(decision.transition, written, attempt.timings.total_ms);
    decision::log(decision, attempt, written);
}

/// Logs and counts a new event that does not match its schema.
pub(crate) fn schema_mismatch_accepted(
    event: &Event,
    faults: &[PayloadFault],
    published: &Published,
) {
    if faults.is_empty() || published.repeated == Repeated::Yes {
        return;
    }
    metrics::schema_mismatch("accepted");
    warn!(
        event = "event.schema_mismatch",
        tenant = %event.tenant,
        event_id = %event.id,
        event_type = %event.event_type,
        faults = faults.len(),
        "accepted an event whose payload does not match the schema of its type"
    );
}

pub(crate) fn schema_mismatch_rejected(event: &Event, faults: &[PayloadFault]) {
    metrics::schema_mismatch("rejected");
    info!(
        event = "event.schema_mismatch_rejected",
        tenant = %event.tenant,
        event_type = %event.event_type,
        faults = faults.len(),
        "rejected an event whose payload does not match the schema of its type"
    );
}

pub(crate) fn lease_lost(claimed: &Claimed) {
    warn!(
        event = "delivery.lease_lost",
        delivery_id = %claimed.delivery().id,
        "another process claimed the delivery during its attempt"
    );
}

pub(crate) fn renewal_failed(claimed: &Claimed, reason: &Error) {
    warn!(
        event = "delivery.renewal_failed",
        delivery_id = %claimed.delivery().id,
        %reason,
        "the lease of the delivery could not be renewed"
    );
}

pub(crate) fn result_unwritable(claimed: &Claimed, pause: Millis, reason: &Error) {
    error!(
        event = "delivery.result_unwritable",
        delivery_id = %claimed.delivery().id,
        retry_in_ms = pause.get(),
        %reason,
        "the result of the attempt cannot be written; the delivery is held back and will be sent again"
    );
}

pub(crate) fn write_failed(claimed: &Claimed, reason: &Error) {
    warn!(
        event = "delivery.write_failed",
        delivery_id = %claimed.delivery().id,
        %reason,
        "the result of the attempt could not be written, trying again"
    );
}

pub(crate) fn attempt_abandoned(claimed: &Claimed, reason: &Error) {
    error!(
        event = "delivery.attempt_abandoned",
        delivery_id = %claimed.delivery().id,
        %reason,
        "the result of the attempt cannot be written; the delivery will be attempted again"
    );
}

pub(crate) fn attempt_not_counted(claimed: &Claimed, why: &'static str) {
    debug!(
        event = "delivery.attempt_not_counted",
        delivery_id = %claimed.delivery().id,
        why,
        "the attempt does not count"
    );
}

/// Debug, because all attempts in flight may end like this; the worker logs a warning for all of them.
pub(crate) fn given_back(claimed: &Claimed, fault: &OwnFault) {
    debug!(
        event = "delivery.given_back",
        delivery_id = %claimed.delivery().id,
        kind = fault.kind.as_str(),
        %fault,
        "the gateway could not send, the delivery is unchanged"
    );
}

pub(crate) fn give_back_failed(claimed: &Claimed, reason: &Error) {
    warn!(
        event = "delivery.give_back_failed",
        delivery_id = %claimed.delivery().id,
        %reason,
        "a delivery that was not sent is held until its lease expires"
    );
}

pub(crate) fn worker_paused(webhook: WebhookId, fault: &OwnFault) {
    warn!(
        event = "worker.paused",
        webhook_id = %webhook,
        kind = fault.kind.as_str(),
        %fault,
        "the gateway could not send, new attempts wait a second"
    );
}

/// Only the host of the URL is logged: the rest may contain a credential.
pub(crate) fn shadowing(row: &Delivery, host: Option<&str>) {
    info!(
        event = "delivery.shadow_sent",
        delivery_id = %row.id,
        webhook_id = %row.id.webhook,
        tenant = %row.tenant,
        host,
        "sending a shadow request"
    );
}

pub(crate) fn shadowed(row: &Delivery, outcome: &Outcome) {
    info!(
        event = "delivery.shadowed",
        delivery_id = %row.id,
        webhook_id = %row.id.webhook,
        tenant = %row.tenant,
        status_code = outcome.status(),
        phase = failed_phase(outcome),
        elapsed_ms = outcome.timings.total_ms,
        "the shadow request got {}",
        answer(outcome)
    );
}

pub(crate) fn webhook_probed(
    webhook: &Webhook,
    number: u32,
    outcome: &Outcome,
    next_probe_at: Option<Timestamp>,
) {
    info!(
        event = "webhook.probed",
        webhook_id = %webhook.id,
        tenant = %webhook.tenant,
        number,
        status_code = outcome.status(),
        phase = failed_phase(outcome),
        elapsed_ms = outcome.timings.total_ms,
        next_probe_at_ms = next_probe_at.map(Timestamp::as_millis),
        "probe {number} of the failed webhook got {}",
        answer(outcome)
    );
}

fn failed_phase(outcome: &Outcome) -> Option<&'static str> {
    match &outcome.result {
        Answer::Response(_) => None,
        Answer::Failed(failure) => Some(failure.phase.as_str()),
    }
}

fn answer(outcome: &Outcome) -> String {
    match &outcome.result {
        Answer::Response(response) => format!("HTTP status {}", response.status),
        Answer::Failed(failure) => format!("no response: {}", failure.kind),
    }
}

pub(crate) fn probe_failed(webhook: WebhookId, reason: &Error) {
    warn!(
        event = "webhook.probe_failed",
        webhook_id = %webhook,
        %reason,
        "the probe of the webhook could not be sent or recorded"
    );
}

pub(crate) fn drain_failed(webhook: WebhookId, reason: &Error) {
    warn!(
        event = "flow.update_failed",
        webhook_id = %webhook,
        %reason,
        "the limiter or the backlog of the webhook could not be updated"
    );
}

pub(crate) fn flow_changed(webhook: WebhookId, change: Change) {
    metrics::flow_changed(change);
    let Rates {
        from_milli,
        to_milli,
    } = change.rates();
    match change {
        Change::Entered(_) => info!(
            event = "flow.limited",
            webhook_id = %webhook,
            from_milli,
            to_milli,
            "the receiver cannot keep up; the webhook is rate limited"
        ),
        Change::Opened(_) | Change::Reset(_) => info!(
            event = "flow.opened",
            webhook_id = %webhook,
            from_milli,
            to_milli,
            "the webhook is no longer rate limited"
        ),
        Change::Cut(_) | Change::Raised(_) => debug!(
            event = "flow.adjusted",
            webhook_id = %webhook,
            from_milli,
            to_milli,
            "the rate of the webhook was adjusted"
        ),
    }
}

pub(crate) fn count_failed(webhook: WebhookId, reason: &Error) {
    warn!(
        event = "flow.count_failed",
        webhook_id = %webhook,
        %reason,
        "the backlog of the webhook could not be counted"
    );
}

pub(crate) fn cycle_failed(reason: &Error) {
    warn!(
        event = "worker.cycle_failed",
        %reason,
        "the worker could not find or claim due deliveries, trying again"
    );
}

pub(crate) fn sweep_failed(step: &'static str, reason: &Error) {
    warn!(event = "sweep.failed", step, %reason, "the housekeeping step {step} failed");
}

pub(crate) fn retry_job_failed(id: JobId, reason: &GatewayError) {
    warn!(event = "sweep.retry_failed", retry_id = %id, %reason, "a slice of the bulk retry failed");
}

pub(crate) fn erasure_failed(id: ErasureId, reason: &GatewayError) {
    warn!(event = "sweep.erasure_failed", erasure_id = %id, %reason, "a slice of the erasure failed");
}

pub(crate) fn erasure_ended(erasure: &Erasure) {
    let Erased {
        events, deliveries, ..
    } = erasure.erased;
    info!(event = "erasure.ended", erasure_id = %erasure.id, events, deliveries, "an erasure has ended");
}

pub(crate) fn tenant_deletion_begun(tenant: &TenantId, id: ErasureId) {
    info!(event = "tenant.deletion_begun", tenant = %tenant, erasure_id = %id, "the deletion of a tenant has begun");
}

pub(crate) fn retry_failed(id: DeliveryId, reason: &Error) {
    warn!(event = "retry.failed", delivery_id = %id, %reason, "the delivery could not be requeued by a bulk retry");
}

/// Reports how far a sweep has come.
pub(crate) fn swept_lanes(sweep: &PeriodSweep) {
    let PeriodSweep {
        rows, recovered, ..
    } = sweep;
    let ended = sweep.ended_at.is_some();
    info!(
        event = "poll.swept",
        rows, recovered, ended, "the sweep has checked {rows} rows"
    );
}

pub(crate) fn swept(step: &'static str, rows: usize) {
    info!(
        event = "sweep.done",
        step, rows, "the housekeeping step {step} changed {rows} rows"
    );
}

pub(crate) fn chores_unfinished() {
    info!(
        event = "sweep.unfinished",
        "ran out of time before all chores were done; the next run continues"
    );
}

pub(crate) fn ticked(ticked: &Ticked) {
    info!(
        event = "poll.ticked",
        messages_sent = ticked.messages_sent,
        messages_failed = ticked.messages_failed,
        oldest_due_age_seconds = ticked.oldest_due_age.get() / 1000,
        queue_depth = ticked.queue_depth,
        ended = ?ticked.ended,
        "the poller sent {} queue messages",
        ticked.messages_sent
    );
}

pub(crate) fn backlogs_seen(seen: &BacklogsSeen) {
    info!(
        event = "poll.backlogs",
        backlogs = seen.backlogs,
        drains_sent = seen.drains_sent,
        failed = seen.failed,
        oldest_due_age_ms = seen.oldest_due_age.get(),
        complete = seen.is_complete,
        "looked at the backlogs"
    );
}

pub(crate) fn poll_failed(step: &'static str, reason: &Error) {
    warn!(event = "poll.failed", step, %reason, "the poller could not do the step {step}");
}

/// Only the operator sees the reason. Nothing that an unknown sender wrote is logged.
pub(crate) fn inbound_rejected(source: Option<&Source>, reason: Rejection) {
    info!(
        event = "inbound.rejected",
        source_id = source.map(|source| source.id.to_string()),
        tenant = source.map(|source| source.tenant.as_str()),
        %reason,
        "rejected a request to a source: {reason}"
    );
}

/// No part of the request is logged: it may contain a sender's data.
pub(crate) fn rejection_not_stored(source: Option<&Source>, reason: &Error) {
    warn!(
        event = "inbound.rejection_not_stored",
        source_id = source.map(|source| source.id.to_string()),
        %reason,
        "a rejected request could not be stored"
    );
}

pub(crate) fn inbound_answered(source: Option<&Source>) {
    info!(
        event = "inbound.handshake_answered",
        source_id = source.map(|source| source.id.to_string()),
        tenant = source.map(|source| source.tenant.as_str()),
        "answered a sender's verification handshake"
    );
}

pub(crate) fn inbound_accepted(source: &Source, event: &Event, published: &Published) {
    let deliveries = published.deliveries.len();
    info!(
        event = "inbound.accepted",
        source_id = %source.id,
        tenant = %source.tenant,
        event_id = %published.event,
        event_type = %event.event_type,
        body_bytes = event.body.len(),
        deliveries,
        repeated = published.repeated == Repeated::Yes,
        "accepted an event from a source, with {deliveries} deliveries"
    );
}
