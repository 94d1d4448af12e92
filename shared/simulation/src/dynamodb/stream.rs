//! Changes of items, as Lambda gets them from the stream.

use serde_json::{Value, json};

use super::keys::Key;
use super::value::TableItem;

/// One change of an item.
#[derive(Clone, Debug)]
pub struct ItemChange {
    pub number: u64,
    pub at_ms: i64,
    pub before: Option<TableItem>,
    pub after: Option<TableItem>,
    /// Whether the item was deleted because it had expired.
    pub is_expiry: bool,
}

impl ItemChange {
    fn image(&self) -> &TableItem {
        let image = self.after.as_ref().or(self.before.as_ref());
        image.expect("a change has an image")
    }

    /// The partition key of the item.
    #[must_use]
    pub fn pk(&self) -> String {
        Key::of(self.image()).pk
    }

    /// The sort key of the item.
    #[must_use]
    pub fn sk(&self) -> String {
        Key::of(self.image()).sk
    }

    /// The record of the stream.
    #[must_use]
    pub fn record(&self) -> Value {
        let name = match (&self.before, &self.after) {
            (None, Some(_)) => "INSERT",
            (Some(_), Some(_)) => "MODIFY",
            (_, None) => "REMOVE",
        };
        let mut dynamodb = json!({
            "ApproximateCreationDateTime": self.at_ms / 1000,
            "Keys": Key::of(self.image()).item(),
            "SequenceNumber": format!("{:021}", self.number),
            "SizeBytes": 1,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        });
        for (name, image) in [("NewImage", &self.after), ("OldImage", &self.before)] {
            if let Some(image) = image {
                dynamodb[name] = Value::Object(image.clone());
            }
        }
        let mut record = json!({
            "eventID": format!("{:032x}", self.number),
            "eventName": name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": dynamodb,
        });
        if self.is_expiry {
            let service = json!({ "type": "Service", "principalId": "dynamodb.amazonaws.com" });
            record["userIdentity"] = service;
        }
        record
    }
}
