//! What is told of an event's life to whoever collects traces: accepted, attempted, announced. Nothing is done and
//! nothing is kept while nobody has installed a recorder.

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
    /// The caller's own span, while its request is handled.
    static CAUSE: TraceParent;
}

/// Records from now on. One process has one recorder; a second one is ignored.
pub fn install(traces: Arc<dyn Traces>) {
    let _ = RECORDER.set(traces);
}

/// Sends on what was recorded, for a process that may be frozen or ended next.
pub async fn flush() {
    if let Some(recorder) = RECORDER.get() {
        recorder.flush().await;
    }
}

/// The span that a request with these headers is part of; none while nothing is recorded.
#[must_use]
pub fn cause(headers: &HeaderMap) -> Option<TraceParent> {
    RECORDER.get()?;
    let value = headers.get(TraceParent::HEADER)?;
    value.to_str().ok()?.parse().ok()
}

/// Does some work for a request: events that are accepted in it are linked with the span that the request is part of.
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
    if let Some(recorder) = wanting(published.event) {
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

/// Lets the receiver continue the trace, unless the webhook has a header of that name.
pub(crate) fn propagate(claimed: &Claimed, headers: &mut HeaderMap) {
    let id = claimed.delivery().id;
    if wanting(id.event).is_none() {
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

/// An attempt, after its result was written or was found to be stale.
pub(crate) fn attempted(
    claimed: &Claimed,
    webhook: &Webhook,
    completion: &Completion,
    written: &Result<Attempted>,
) {
    if let Some(recorder) = wanting(claimed.delivery().id.event) {
        let outcome = telemetry::outcome(completion.transition, written);
        recorder.record(spans::attempt(claimed, webhook, completion, outcome));
    }
}

/// A store of this process has announced what became of a row, with the row.
pub(crate) fn notified_with(row: &Delivery, clock: &dyn Clock) {
    if let Some(recorder) = wanting(row.id.event) {
        let span = spans::notification_with(row, clock.now());
        span.into_iter().for_each(|span| recorder.record(span));
    }
}

/// An announcement was passed on, or was not and why.
pub fn announced(
    notification: &Notification,
    failure: Option<String>,
    started_at: Timestamp,
    ended_at: Timestamp,
) {
    let Some(delivery) = spans::delivery_of(notification) else {
        return;
    };
    if let Some(recorder) = wanting(delivery.event) {
        let span = spans::notification(
            delivery,
            notification.kind,
            &notification.id,
            &notification.tenant,
        );
        recorder.record(spans::during(span, failure, started_at, ended_at));
    }
}

/// The recorder, if there is one that wants this event.
fn wanting(event: EventId) -> Option<&'static Arc<dyn Traces>> {
    RECORDER
        .get()
        .filter(|recorder| recorder.wants(TraceId::of(event)))
}
