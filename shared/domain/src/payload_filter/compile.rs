//! Checks a filter and turns it into a tree.

mod operators;

use serde_json::{Map, Value};

use super::explain::escaped;
use super::{
    Fields, MAX_FILTER_BYTES, MAX_FILTER_CONDITIONS, MAX_FILTER_DEPTH, MAX_FILTER_WILDCARDS, Node,
};
use crate::invalid::Invalid;

const OR: &str = "$or";

/// # Errors
/// All errors at once, under `field`.
pub(super) fn compile(field: &str, source: &Value) -> Result<Fields, Invalid> {
    if source.to_string().len() > MAX_FILTER_BYTES {
        let limit = format!("must be at most {MAX_FILTER_BYTES} bytes of JSON, without spaces");
        return Err(Invalid::field(field, limit));
    }
    let mut compiler = Compiler {
        field,
        faults: Invalid::default(),
        conditions: 0,
        wildcards: 0,
    };
    let root = compiler.fields(source, "", 1);
    compiler.check_limits();
    compiler.faults.into_result()?;
    root.ok_or_else(|| Invalid::field(field, "must be an event pattern"))
}

/// Every function returns `None` after it has reported an error.
struct Compiler<'a> {
    field: &'a str,
    faults: Invalid,
    conditions: usize,
    wildcards: usize,
}

impl Compiler<'_> {
    fn fields(&mut self, source: &Value, pointer: &str, depth: usize) -> Option<Fields> {
        let Value::Object(map) = source else {
            return self.fault(
                pointer,
                "must be a JSON object, such as {\"status\": [\"open\"]}",
            );
        };
        if map.is_empty() {
            return self.fault(pointer, "must have at least one field");
        }
        if depth > MAX_FILTER_DEPTH {
            let limit = format!("must be nested at most {MAX_FILTER_DEPTH} levels deep");
            return self.fault(pointer, limit);
        }
        self.object(map, pointer, depth)
    }

    fn object(&mut self, map: &Map<String, Value>, pointer: &str, depth: usize) -> Option<Fields> {
        let mut compiled = Some(Fields {
            fields: Vec::with_capacity(map.len()),
            alternatives: Vec::new(),
        });
        for (name, source) in map {
            let pointer = format!("{pointer}/{}", escaped(name));
            if name == OR {
                let alternatives = self.alternatives(source, &pointer, depth);
                compiled = compiled
                    .zip(alternatives)
                    .map(|(fields, alternatives)| Fields {
                        alternatives,
                        ..fields
                    });
            } else {
                let node = self.node(source, &pointer, depth);
                compiled = compiled.zip(node).map(|(mut fields, node)| {
                    fields.fields.push((name.clone(), node));
                    fields
                });
            }
        }
        compiled
    }

    fn alternatives(&mut self, source: &Value, pointer: &str, depth: usize) -> Option<Vec<Fields>> {
        let alternatives = source.as_array().map_or(&[][..], Vec::as_slice);
        if alternatives.len() < 2 {
            return self.fault(pointer, "must be an array of at least two patterns");
        }
        let compiled: Vec<_> = alternatives
            .iter()
            .enumerate()
            .map(|(n, one)| self.fields(one, &format!("{pointer}/{n}"), depth + 1))
            .collect();
        compiled.into_iter().collect()
    }

    fn node(&mut self, source: &Value, pointer: &str, depth: usize) -> Option<Node> {
        match source {
            Value::Object(_) => self.fields(source, pointer, depth + 1).map(Node::Below),
            Value::Array(list) if !list.is_empty() => {
                let conditions: Vec<_> = list
                    .iter()
                    .enumerate()
                    .map(|(n, one)| self.condition(one, &format!("{pointer}/{n}")))
                    .collect();
                let conditions: Option<Vec<_>> = conditions.into_iter().collect();
                conditions.map(Node::Conditions)
            }
            Value::Array(_) => self.fault(pointer, "must have at least one condition"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.fault(
                pointer,
                "must be an array of conditions, such as [\"open\"], or an object",
            ),
        }
    }

    fn check_limits(&mut self) {
        if self.conditions > MAX_FILTER_CONDITIONS {
            let found = self.conditions;
            let limit = format!(
                "must have at most {MAX_FILTER_CONDITIONS} conditions; every value counts, and this has {found}"
            );
            self.report("", &limit);
        }
        if self.wildcards > MAX_FILTER_WILDCARDS {
            let limit = format!("must have at most {MAX_FILTER_WILDCARDS} `*` in its wildcards");
            self.report("", &limit);
        }
    }

    fn fault<T>(&mut self, pointer: &str, problem: impl AsRef<str>) -> Option<T> {
        self.report(pointer, problem.as_ref());
        None
    }

    fn report(&mut self, pointer: &str, problem: &str) {
        let message = match pointer {
            "" => problem.to_owned(),
            pointer => format!("{problem}, at {pointer}"),
        };
        self.faults.add(self.field, message);
    }
}
