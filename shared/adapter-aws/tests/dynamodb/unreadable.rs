//! What cannot be read does not keep an event from being erased.

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_ports::erasures::EventErased;
use postrider_testkit::builders::after;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::fixture;

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

#[tokio::test]
async fn an_unreadable_row_is_deleted_when_its_event_is_erased_or_deleted() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    for is_deleted in [false, true] {
        let row = scene.row(webhook).await;
        let pk = text(&format!("{}#{}", scene.tenant, row.event));
        let garbage = tables.client.put_item();
        let garbage = garbage
            .table_name(&tables.tables.deliveries)
            .item("pk", pk.clone())
            .item("sk", text("delivery#garbage"));
        garbage.send().await.unwrap();
        let store = &scene.handle.store;
        let erased = if is_deleted {
            store.delete_event(&scene.tenant, row.event, after(1)).await
        } else {
            store.erase_event(&scene.tenant, row.event, after(1)).await
        };
        assert_eq!(erased, Ok(EventErased::Done { deliveries: 1 }));
        let found = tables.client.get_item();
        let found = found
            .table_name(&tables.tables.deliveries)
            .key("pk", pk)
            .key("sk", text("delivery#garbage"));
        assert_eq!(found.send().await.unwrap().item, None);
    }
}
