//! Converts Postrider's spans to OpenTelemetry's.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value as OtelValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use postrider_domain::time::Timestamp;
use postrider_ports::spans::{self, Kind, Span, TraceParent, Value};

pub(crate) fn span(span: Span, scope: InstrumentationScope) -> SpanData {
    let parent = span.parent.map_or(SpanId::INVALID, span_id);
    let mut links = SpanLinks::default();
    links
        .links
        .extend(span.link.map(|link| Link::with_context(linked(link))));
    SpanData {
        span_context: SpanContext::new(
            trace_id(span.trace),
            span_id(span.id),
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        ),
        parent_span_id: parent,
        // The parent may belong to another process; the span does not record that.
        parent_span_is_remote: span.parent.is_some(),
        span_kind: kind(span.kind),
        name: span.name.into(),
        start_time: instant(span.started_at),
        end_time: instant(span.ended_at.max(span.started_at)),
        attributes: span.attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links,
        status: span.failure.map_or(Status::Unset, Status::error),
        instrumentation_scope: scope,
    }
}

fn linked(parent: TraceParent) -> SpanContext {
    let flags = if parent.sampled {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::NOT_SAMPLED
    };
    SpanContext::new(
        trace_id(parent.trace),
        span_id(parent.span),
        flags,
        true,
        TraceState::NONE,
    )
}

fn trace_id(id: spans::TraceId) -> TraceId {
    TraceId::from_bytes(*id.as_bytes())
}

fn span_id(id: spans::SpanId) -> SpanId {
    SpanId::from_bytes(*id.as_bytes())
}

const fn kind(kind: Kind) -> SpanKind {
    match kind {
        Kind::Server => SpanKind::Server,
        Kind::Client => SpanKind::Client,
        Kind::Producer => SpanKind::Producer,
    }
}

fn attribute((name, value): (&'static str, Value)) -> KeyValue {
    let value: OtelValue = match value {
        Value::Text(text) => text.into(),
        Value::Number(number) => number.into(),
        Value::Flag(flag) => flag.into(),
    };
    KeyValue::new(name, value)
}

fn instant(at: Timestamp) -> SystemTime {
    let since_epoch: Duration = at.since(Timestamp::ZERO).into();
    SystemTime::UNIX_EPOCH + since_epoch
}
