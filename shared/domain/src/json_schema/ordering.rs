//! Equality and order of JSON values as JSON Schema sees them: 1 and 1.0 are the same.

use std::cmp::Ordering;

use serde_json::Value;

use crate::payload_filter::compare_numbers;

pub(super) fn equal(left: &Value, right: &Value) -> bool {
    compare(left, right) == Ordering::Equal
}

/// Some order in which only equal values are equal.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => {
            compare_numbers(left, right).unwrap_or(Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let by_length = left.len().cmp(&right.len());
            let mut pairs = left.iter().zip(right).map(|(a, b)| compare(a, b));
            by_length.then_with(|| pairs.find(|it| it.is_ne()).unwrap_or(Ordering::Equal))
        }
        (Value::Object(left), Value::Object(right)) => {
            let by_length = left.len().cmp(&right.len());
            // Both are sorted by name.
            let mut pairs = left
                .iter()
                .zip(right)
                .map(|(a, b)| a.0.cmp(b.0).then_with(|| compare(a.1, b.1)));
            by_length.then_with(|| pairs.find(|it| it.is_ne()).unwrap_or(Ordering::Equal))
        }
        (Value::Null, _)
        | (Value::Bool(_), _)
        | (Value::Number(_), _)
        | (Value::String(_), _)
        | (Value::Array(_), _)
        | (Value::Object(_), _) => rank(left).cmp(&rank(right)),
    }
}

const fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// What a look at all of the value costs, in steps.
pub(super) fn cost(value: &Value) -> usize {
    1 + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() / 64,
        Value::Array(items) => items.iter().map(cost).sum(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.map(|(name, it)| name.len() / 64 + cost(it)).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_look_costs_a_step_per_value_and_per_64_bytes_of_text() {
        let text = |bytes: usize| "x".repeat(bytes);
        for (value, expected) in [
            (json!(null), 1),
            (json!(true), 1),
            (json!(1e300), 1),
            (json!(""), 1),
            (json!(text(63)), 1),
            (json!(text(64)), 2),
            (json!(text(640)), 11),
            (json!([]), 1),
            (json!([1, text(128), [2]]), 1 + 1 + 3 + 2),
            (json!({"a": 1, "b": {}}), 1 + 1 + 1),
            (json!({text(63): 1, text(640): text(64)}), 1 + 1 + 12),
        ] {
            assert_eq!(cost(&value), expected, "{value}");
        }
    }
}
