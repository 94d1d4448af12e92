//! The DynamoDB of the simulation deletes what has expired.
#![allow(clippy::panic, reason = "test code")]

use postrider_simulation::dynamodb::{Database, View, schema};
use serde_json::json;

const TABLE: &str = "deliveries";
const LAG_MS: i64 = 5000;

/// A reader at this time.
struct At(i64);

impl View for At {
    fn now_ms(&self) -> i64 {
        self.0
    }

    fn index_lag_ms(&mut self) -> i64 {
        0
    }

    fn is_stale(&mut self) -> bool {
        false
    }

    fn page_limit(&mut self) -> Option<usize> {
        None
    }

    fn expiry_lag_ms(&mut self) -> i64 {
        LAG_MS
    }
}

fn put(database: &mut Database, sk: &str, expires_at: &str) {
    let item = json!({ "pk": { "S": "p" }, "sk": { "S": sk }, "expires_at": { "N": expires_at } });
    let request = json!({ "TableName": TABLE, "Item": item });
    let reply = database.handle("PutItem", &request, &mut At(0));
    assert_eq!(reply.status, 200);
}

#[test]
fn an_item_is_deleted_after_it_has_expired_unless_it_was_prolonged() {
    let mut database = Database::new(schema(TABLE, "configs"));
    put(&mut database, "expires", "100");
    put(&mut database, "prolonged", "100");
    put(&mut database, "prolonged", "200");
    database.take_changes(TABLE);

    assert_eq!(database.expire(&mut At(104_999)), Some(105_000));
    assert!(database.take_changes(TABLE).is_empty());
    assert!(database.item(TABLE, "p", "expires").is_some());

    assert_eq!(database.expire(&mut At(105_000)), Some(205_000));
    let changes = database.take_changes(TABLE);
    let [removed] = &changes[..] else {
        panic!("{changes:?}");
    };
    assert_eq!(removed.sk(), "expires");
    let record = removed.record();
    assert_eq!(record["eventName"], "REMOVE");
    let deleted_by = &record["userIdentity"]["principalId"];
    assert_eq!(deleted_by, "dynamodb.amazonaws.com");
}
