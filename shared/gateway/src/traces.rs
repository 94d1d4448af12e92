//! Spans of an event: accepted, attempted, notified. Nothing is recorded until a recorder is installed.

mod spans;

use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use postrider_domain::delivery::{Claimed, Completion, Delivery};
use postrider_domain::event::Event;
use postrider_domain::ids::EventId;
use postrider_domain::notification::Notification;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::spans::{SpanId, TraceId, TraceParent};
use postrider_ports::traces::Traces;

use crate::attempt::Attempted;
use crate::ingest::Published;
use crate::telemetry;

static RECORDER: OnceLock<Arc<dyn Traces>> = OnceLock::new();

tokio::task_local! {
    /// The caller's span while its request is handled.
    static CAUSE: TraceParent;
}

/// Starts recording. A process has one recorder; a second one is ignored.
pub fn install(traces: Arc<dyn Traces>) {
    let _ = RECORDER.set(traces);
}

/// Exports the recorded spans, for a process that may be frozen or stopped next.
pub async fn flush() {
    if let Some(recorder) = RECORDER.get() {
        recorder.flush().await;
    }
}

/// The span that a request with these headers belongs to; `None` without a recorder.
#[must_use]
pub fn cause(headers: &HeaderMap) -> Option<TraceParent> {
    RECORDER.get()?;
    let value = headers.get(TraceParent::HEADER)?;
    value.to_str().ok()?.parse().ok()
}

/// Links the events that `work` accepts to the span of its request.
pub async fn caused_by<T>(cause: Option<TraceParent>, work: impl Future<Output = T>) -> T {
    match cause {
        Some(cause) => CAUSE.scope(cause, work).await,
        None => work.await,
    }
}

pub(crate) fn accepted(
    event: &Event,
    published: &Published,
    started_at: Timestamp,
    clock: &dyn Clock,
) {
    if let Some(recorder) = recorder_for(published.event) {
        let link = CAUSE.try_with(|cause| *cause).ok();
        recorder.record(spans::accept(
            event,
            published,
            link,
            started_at,
            clock.now(),
        ));
    }
}

/// Lets the receiver continue the trace, unless the webhook sets this header itself.
pub(crate) fn propagate(claimed: &Claimed, headers: &mut HeaderMap) {
    let id = claimed.delivery().id;
    if recorder_for(id.event).is_none() {
        return;
    }
    let parent = TraceParent {
        trace: TraceId::of(id.event),
        span: SpanId::of_attempt(id, claimed.version()),
        sampled: true,
    };
    if let Ok(value) = parent.to_string().parse() {
        headers.entry(TraceParent::HEADER).or_insert(value);
    }
}

/// Called after the write, whose result is part of the span.
pub(crate) fn attempted(
    claimed: &Claimed,
    webhook: &Webhook,
    completion: &Completion,
    written: &Result<Attempted>,
) {
    if let Some(recorder) = recorder_for(claimed.delivery().id.event) {
        let outcome = telemetry::outcome(completion.transition, written);
        recorder.record(spans::attempt(claimed, webhook, completion, outcome));
    }
}

/// For a store in this process, which writes the notification together with the row.
pub(crate) fn notified_with(row: &Delivery, clock: &dyn Clock) {
    if let Some(recorder) = recorder_for(row.id.event) {
        let span = spans::notification_with(row, clock.now());
        span.into_iter().for_each(|span| recorder.record(span));
    }
}

/// A notification was published, or failed for this reason.
pub fn announced(
    notification: &Notification,
    failure: Option<String>,
    started_at: Timestamp,
    ended_at: Timestamp,
) {
    let Some(delivery) = spans::delivery_of(notification) else {
        return;
    };
    if let Some(recorder) = recorder_for(delivery.event) {
        let span = spans::notification(
            delivery,
            notification.kind,
            &notification.id,
            &notification.tenant,
        );
        recorder.record(spans::during(span, failure, started_at, ended_at));
    }
}

/// The recorder, if it samples this event.
fn recorder_for(event: EventId) -> Option<&'static Arc<dyn Traces>> {
    RECORDER
        .get()
        .filter(|recorder| recorder.wants(TraceId::of(event)))
}
