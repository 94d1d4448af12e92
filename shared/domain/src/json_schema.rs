//! JSON Schema, dialect 2020-12, for payloads of events.
//!
//! Own code, because the crates for this (`jsonschema` 0.60, `boon` 0.6) have no limit on the work: 3 KB of definitions that refer to
//! each other twice take them hours for one small payload, and every tenant may store schemas. Here each step is counted. They would
//! also add 2.9 and 1.7 MB to each function ([decision 31](../../../docs/decisions/0031-schemas.md)). Nothing is ever fetched: a
//! schema refers only to itself. `format` and the `content…` keywords are annotations, which is the default of the dialect.

mod compile;
mod decimal;
mod evaluate;
mod evaluated;
mod ordering;
mod outline;
mod pattern;
mod rule;

#[cfg(test)]
mod official_suite;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use crate::invalid::Invalid;
use crate::payload_filter::Payload;
pub use outline::{SchemaField, outline};
use rule::Node;

/// The largest schema, as JSON without spaces.
pub const MAX_SCHEMA_BYTES: usize = 32 * 1024;
/// How deep a schema may be nested.
pub const MAX_SCHEMA_DEPTH: usize = 50;
/// The one dialect.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The most faults that are reported, of a payload or of a schema.
pub const MAX_FAULTS: usize = 20;
/// The most work that one payload may cause: rules, values and stretches of text that are looked at. An ordinary payload of 1 MB needs
/// half of it.
pub const MAX_SCHEMA_STEPS: u32 = 4_000_000;
/// How many rules may be under way at the same time, one inside the other. Enough for the 128 levels of the deepest payload.
const MAX_EVALUATION_DEPTH: usize = 500;
/// The longest pointer to a fault, in characters. Names of properties are part of it, and may be long.
const MAX_POINTER_CHARS: usize = 300;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    nodes: Vec<Node>,
    /// Whether a rule needs to know what the others have looked at.
    tracks: bool,
}

/// What is wrong with a payload, and where. Says nothing of the value that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadFault {
    /// A JSON pointer into the payload; empty for the whole of it.
    pub pointer: String,
    pub message: String,
}

impl fmt::Display for PayloadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "the payload {}", self.message),
            pointer => write!(f, "{pointer} {}", self.message),
        }
    }
}

impl Schema {
    /// # Errors
    /// What is wrong, under `field`. Each error names the place in the schema as a JSON pointer.
    pub fn compile(field: &str, source: &Value) -> Result<Self, Invalid> {
        compile::compile(field, source)
    }

    /// What is wrong with the payload; at most [`MAX_FAULTS`].
    #[must_use]
    pub fn faults(&self, payload: &Payload) -> Vec<PayloadFault> {
        match payload.json() {
            Some(value) => self.faults_of(value),
            None => vec![PayloadFault {
                pointer: String::new(),
                message: "must be JSON, nested at most 128 levels deep".to_owned(),
            }],
        }
    }

    #[must_use]
    pub fn faults_of(&self, value: &Value) -> Vec<PayloadFault> {
        evaluate::faults(self, value)
    }
}

/// The name of a property or the position in an array as a step of a JSON pointer.
fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}
