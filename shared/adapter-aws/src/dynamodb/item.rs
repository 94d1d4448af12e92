//! Attribute values, and items as serde values.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::time::Timestamp;
use postrider_ports::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::unreadable;

/// An item in the SDK's representation.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A string attribute.
pub(super) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(super) fn n(number: impl ToString) -> AttributeValue {
    #[expect(clippy::needless_pass_by_value, reason = "numbers are small")]
    fn text(number: impl ToString) -> String {
        number.to_string()
    }
    AttributeValue::N(text(number))
}

/// A timestamp in milliseconds.
pub(super) fn ms(at: Timestamp) -> AttributeValue {
    n(at.as_millis())
}

pub(super) fn instant(item: &Item, name: &str) -> Option<Timestamp> {
    let text = item.get(name)?.as_n().ok()?;
    text.parse().ok().map(Timestamp::from_millis)
}

/// A timestamp in seconds, as required by time to live.
pub(super) fn seconds(at: Timestamp) -> AttributeValue {
    n(at.as_seconds())
}

/// Serializes a value into attributes.
pub(super) fn to_item(value: &impl Serialize) -> Result<Item> {
    serde_dynamo::to_item(value).map_err(|error| Error::Broken(error.to_string()))
}

/// Serializes a value into one attribute.
pub(super) fn value_of(value: &impl Serialize) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(value).map_err(|error| Error::Broken(error.to_string()))
}

/// Deserializes attributes; unknown ones are ignored. Errors name `what`, never the values.
pub(super) fn from_item<T: DeserializeOwned>(item: Item, what: &str) -> Result<T> {
    serde_dynamo::from_item(item).map_err(|_| unreadable(what))
}
