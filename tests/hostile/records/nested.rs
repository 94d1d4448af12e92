//! JSON texts within JSON: a queue message in its batch, a notification in the envelope of its topic.

use serde_json::{Value, json};

/// The only field of an object that stands for a text.
const NESTED: &str = "$nested";

/// With objects in place of the texts that contain them, so that they can be edited.
pub(super) fn unfolded(value: Value) -> Value {
    if let Value::String(text) = &value
        && let Ok(inner @ Value::Object(_)) = serde_json::from_str(text)
    {
        return json!({ NESTED: unfolded(inner) });
    }
    mapped(value, unfolded)
}

/// With texts again.
pub(super) fn folded(value: Value) -> Value {
    let fields = value.as_object().filter(|fields| fields.len() == 1);
    if let Some(inner) = fields.and_then(|fields| fields.get(NESTED)) {
        return folded(inner.clone()).to_string().into();
    }
    mapped(value, folded)
}

fn mapped(value: Value, map: fn(Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(map).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, value)| (name, map(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
