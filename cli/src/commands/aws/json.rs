//! Values in the JSON that the tool prints.

use serde_json::Value;

/// The value at a JSON pointer such as `/Table/TableArn`; null if there is none.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// The elements of the list at a JSON pointer; none if there is no list.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    at(value, pointer).as_array().into_iter().flatten()
}
