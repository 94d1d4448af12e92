//! Attribute values in the JSON of the service.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// An item: attribute names and typed values, such as `{"S": "text"}`.
pub type TableItem = Map<String, Value>;

/// The type and the content of a value.
fn parts(value: &Value) -> (&str, &Value) {
    let object = value.as_object().expect("a typed value");
    let (kind, content) = object.iter().next().expect("a typed value");
    (kind, content)
}

pub(crate) fn text(value: &Value) -> Option<&str> {
    value.get("S").and_then(Value::as_str)
}

pub(crate) fn number(value: &Value) -> Option<i128> {
    let text = value.get("N").and_then(Value::as_str)?;
    Some(text.parse().expect("the store writes whole numbers"))
}

pub(crate) fn of_number(number: i128) -> Value {
    serde_json::json!({ "N": number.to_string() })
}

/// `None` if the values cannot be compared.
pub(crate) fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    let ((kind, a), (other_kind, b)) = (parts(one), parts(other));
    if kind != other_kind {
        return None;
    }
    match kind {
        "N" => Some(number(one)?.cmp(&number(other)?)),
        "S" => Some(text(one)?.cmp(text(other)?)),
        "B" | "BOOL" | "NULL" | "L" | "M" | "SS" => (a == b).then_some(Ordering::Equal),
        unknown => panic!("an unknown type: {unknown}"),
    }
}

pub(crate) fn begins_with(value: &Value, prefix: &Value) -> bool {
    match (text(value), text(prefix)) {
        (Some(text), Some(prefix)) => text.starts_with(prefix),
        (_, _) => false,
    }
}

/// The sum of two numbers, or the union of two sets of texts; `None` if they do not fit.
pub(crate) fn add(to: Option<&Value>, more: &Value) -> Option<Value> {
    let Some(to) = to else {
        return Some(more.clone());
    };
    if let (Some(a), Some(b)) = (number(to), number(more)) {
        return Some(of_number(a + b));
    }
    let texts = |value: &Value| -> Option<Vec<Value>> { value.get("SS")?.as_array().cloned() };
    let mut union = texts(to)?;
    union.extend(texts(more)?);
    union.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    union.dedup();
    Some(serde_json::json!({ "SS": union }))
}

/// About what the service counts as the size of an item.
pub(crate) fn size(item: &TableItem) -> usize {
    let value = |value: &Value| {
        let (kind, content) = parts(value);
        match content {
            Value::String(text) if kind == "B" => text.len() / 4 * 3,
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 1,
            Value::Array(_) | Value::Object(_) => content.to_string().len(),
        }
    };
    item.iter().map(|(name, of)| name.len() + value(of)).sum()
}
