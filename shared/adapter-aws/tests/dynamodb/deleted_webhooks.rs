//! What cannot be read does not keep the rows of deleted webhooks from being ended.

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::delivery::Status;
use postrider_testkit::builders::NOW;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::fixture;

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// As many as one step of the walk reads.
#[tokio::test]
async fn a_page_of_unreadable_rows_does_not_hold_up_the_walk() {
    const ROWS: i64 = 100;
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let row = scene.row(webhook).await;
    for n in 0..ROWS {
        let garbage = tables.client.put_item();
        let garbage = garbage.table_name(&tables.tables.deliveries);
        let of = format!("{}#{webhook}#00", scene.tenant);
        let garbage = garbage
            .item("pk", text(&format!("garbage#{n}")))
            .item("sk", text(&format!("garbage#{n}")))
            .item("by_webhook", text(&of))
            .item("created_at", number(n));
        garbage.send().await.unwrap();
    }
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW);
    deleted.await.unwrap();
    tables.flush().await;
    let store = &scene.handle.store;
    let ended = store.end_deliveries_of_deleted_webhooks(10, NOW).await;
    assert_eq!(ended, Ok(1));
    assert_eq!(scene.stored(row).await.status, Status::Dead);
}
