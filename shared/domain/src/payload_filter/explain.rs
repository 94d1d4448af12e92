//! Finds the conditions that keep a filter from matching.

use serde_json::Value;

use super::evaluate::Evaluation;
use super::{Fields, Node};

/// Never empty; for a filter that does not match.
pub(super) fn failed(root: &Fields, value: Option<&Value>) -> Vec<String> {
    let mut explanation = Explanation {
        evaluation: Evaluation::new(),
        failed: Vec::new(),
    };
    explanation.fields(root, &candidates(value), "");
    if explanation.failed.is_empty() {
        // The steps were used up.
        explanation.failed.push(String::new());
    }
    explanation.failed
}

struct Explanation {
    evaluation: Evaluation,
    failed: Vec<String>,
}

impl Explanation {
    /// Reports each field that none of the values has as required. If every field is found somewhere, but no value has them all,
    /// reports the object itself.
    fn fields(&mut self, fields: &Fields, values: &[Option<&Value>], pointer: &str) {
        let before = self.failed.len();
        for (name, node) in &fields.fields {
            let pointer = format!("{pointer}/{}", escaped(name));
            let below = values
                .iter()
                .map(|value| value.and_then(|value| value.get(name)));
            match node {
                Node::Below(fields) => {
                    let below: Vec<_> = below.flat_map(candidates).collect();
                    self.fields(fields, &below, &pointer);
                }
                Node::Conditions(conditions) => {
                    let mut below = below;
                    if !below.any(|value| self.evaluation.one_holds(conditions, value)) {
                        self.failed.push(pointer);
                    }
                }
            }
        }
        self.alternatives(fields, values, pointer);
        let evaluation = &mut self.evaluation;
        let mut values = values.iter();
        if self.failed.len() == before
            && !values.any(|value| evaluation.fields_match(fields, *value))
        {
            self.failed.push(pointer.to_owned());
        }
    }

    fn alternatives(&mut self, fields: &Fields, values: &[Option<&Value>], pointer: &str) {
        let evaluation = &mut self.evaluation;
        let mut each = values.iter();
        if each.any(|value| evaluation.an_alternative_matches(fields, *value)) {
            return;
        }
        for (n, alternative) in fields.alternatives.iter().enumerate() {
            self.fields(alternative, values, &format!("{pointer}/$or/{n}"));
        }
    }
}

/// The elements of an array, of nested ones too, or the value itself. A missing value counts: its fields are missing.
fn candidates(value: Option<&Value>) -> Vec<Option<&Value>> {
    match value {
        Some(Value::Array(elements)) if !elements.is_empty() => {
            let elements = elements.iter();
            elements.flat_map(|one| candidates(Some(one))).collect()
        }
        _ => vec![value],
    }
}

/// RFC 6901.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
