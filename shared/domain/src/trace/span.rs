//! One span: a step in the life of an event.

use super::{SpanId, TraceId, TraceParent};
use crate::time::Timestamp;

/// A step in the life of an event. Its attributes are an allow-list, as those of a log line are: never a body, a
/// signature, a secret, a path or a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace of the event.
    pub trace: TraceId,
    /// Its own id.
    pub id: SpanId,
    /// The span it is part of; none for the first.
    pub parent: Option<SpanId>,
    /// A span of another trace that led to it.
    pub link: Option<TraceParent>,
    /// Which way it goes.
    pub kind: Kind,
    /// What happens in it; one of a few words.
    pub name: &'static str,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Value)>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// Which way a step goes, as OpenTelemetry has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It answers somebody.
    Server,
    /// It asks somebody.
    Client,
    /// It tells whoever listens.
    Producer,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Yes or no.
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
