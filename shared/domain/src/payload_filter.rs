//! Filters over an event's payload, in the event-pattern language of Amazon EventBridge.
//!
//! Own code, because the crate for this (`quamina` 0.6) has neither `$or` nor `anything-but` of a prefix, suffix or wildcard, adds
//! operators that EventBridge does not have, and cannot tell which condition failed. A filter here is a small tree that is walked
//! along the payload, with a limit on the work.

mod compile;
mod condition;
mod evaluate;
mod explain;
mod fold;
mod number;
mod payload;
mod wildcard;

#[cfg(test)]
mod aws_examples;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::invalid::Invalid;
use condition::Condition;
use evaluate::Evaluation;
pub(crate) use number::compare as compare_numbers;
pub use payload::Payload;

/// The longest filter, as JSON without spaces. EventBridge's own limit, with its highest quota.
pub const MAX_FILTER_BYTES: usize = 4096;
/// How deep objects and `$or` may be nested.
pub const MAX_FILTER_DEPTH: usize = 10;
/// The most conditions; each value of a list counts.
pub const MAX_FILTER_CONDITIONS: usize = 100;
/// The most `*` in all wildcards together.
pub const MAX_FILTER_WILDCARDS: usize = 20;
/// The most work that a filter may cause per payload: fields, values and stretches of text that are looked at. A small payload
/// needs a few dozen.
pub const MAX_FILTER_STEPS: u32 = 1_000_000;

/// A checked filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct PayloadFilter {
    source: Value,
    root: Fields,
}

/// All fields must match, and one alternative of each `$or`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    fields: Vec<(String, Node)>,
    alternatives: Vec<Fields>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Below(Fields),
    /// One must hold.
    Conditions(Vec<Condition>),
}

impl PayloadFilter {
    /// # Errors
    /// All errors at once, under `field`. Each names the place in the filter as a JSON pointer.
    pub fn compile(field: &str, source: Value) -> Result<Self, Invalid> {
        let root = compile::compile(field, &source)?;
        Ok(Self { source, root })
    }

    /// As it was submitted.
    #[must_use]
    pub const fn source(&self) -> &Value {
        &self.source
    }

    /// Whether it matches. It never matches a body that is not a JSON object or array.
    #[must_use]
    pub fn matches(&self, payload: &Payload) -> bool {
        let mut evaluation = Evaluation::new();
        payload
            .value()
            .is_some_and(|value| evaluation.fields_match(&self.root, Some(value)))
    }

    /// The conditions that keep it from matching, as JSON pointers into the filter; none if it matches. A pointer to an object
    /// or to the whole filter, which is empty, means that its conditions hold, but not all for the same element of an array.
    #[must_use]
    pub fn failed(&self, payload: &Payload) -> Vec<String> {
        if self.matches(payload) {
            return Vec::new();
        }
        explain::failed(&self.root, payload.value())
    }
}

impl TryFrom<Value> for PayloadFilter {
    type Error = Invalid;

    fn try_from(source: Value) -> Result<Self, Invalid> {
        Self::compile("filter", source)
    }
}

impl From<PayloadFilter> for Value {
    fn from(filter: PayloadFilter) -> Self {
        filter.source
    }
}
