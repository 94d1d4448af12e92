//! Attribute values, and items as values that serde knows.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::time::Timestamp;
use postrider_ports::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::unreadable;

/// An item as the SDK takes and returns it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A text.
pub(super) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number.
pub(super) fn n(number: impl ToString) -> AttributeValue {
    #[expect(clippy::needless_pass_by_value, reason = "numbers are small")]
    fn text(number: impl ToString) -> String {
        number.to_string()
    }
    AttributeValue::N(text(number))
}

/// An instant, in milliseconds.
pub(super) fn ms(at: Timestamp) -> AttributeValue {
    n(at.as_millis())
}

/// The instant in this attribute, if there is one.
pub(super) fn instant(item: &Item, name: &str) -> Option<Timestamp> {
    let text = item.get(name)?.as_n().ok()?;
    text.parse().ok().map(Timestamp::from_millis)
}

/// An instant, in seconds, as time to live wants it.
pub(super) fn seconds(at: Timestamp) -> AttributeValue {
    n(at.as_seconds())
}

/// A value as the attributes of an item.
pub(super) fn to_item(value: &impl Serialize) -> Result<Item> {
    serde_dynamo::to_item(value).map_err(|error| Error::Broken(error.to_string()))
}

/// A value from the attributes of an item; attributes that it does not know are left aside. `what` is named when it
/// cannot be read; the values never are.
pub(super) fn from_item<T: DeserializeOwned>(item: Item, what: &str) -> Result<T> {
    serde_dynamo::from_item(item).map_err(|_| unreadable(what))
}
