//! One span: a step in the life of an event.

use super::{SpanId, TraceId, TraceParent};
use postrider_domain::time::Timestamp;

/// A step in the life of an event. Its attributes are an allow-list, like the fields of a log line: never a body, a
/// signature, a secret, a path or a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    /// `None` for the root.
    pub parent: Option<SpanId>,
    /// A span of another trace that caused it.
    pub link: Option<TraceParent>,
    pub kind: Kind,
    /// One of a few fixed names.
    pub name: &'static str,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub attributes: Vec<(&'static str, Value)>,
    pub failure: Option<String>,
}

/// The kind of a span in OpenTelemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Server,
    Client,
    Producer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}
