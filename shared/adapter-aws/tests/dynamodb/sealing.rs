//! Secrets in the table: sealed with their tenant's data key.

use postrider_domain::headers::CustomHeaders;
use postrider_domain::webhook::WebhookSettings;
use postrider_ports::configs::{Created, Webhooks};
use postrider_ports::{Error, mail::Contacts};
use postrider_testkit::builders;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::{Dynamo, fixture};

async fn items(
    fixture: &Dynamo,
) -> Vec<std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>> {
    let scan = fixture.client.scan().table_name(&fixture.tables.configs);
    scan.send().await.unwrap().items.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_contains_no_secret_in_plain_text() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let plain = builders::webhook(&scene.tenant, 1);
    let headers = CustomHeaders::parse([("authorization", "Bearer canary")]).unwrap();
    let webhook = postrider_domain::webhook::Webhook {
        settings: WebhookSettings {
            headers,
            ..plain.settings.clone()
        },
        ..plain
    };
    let created = scene.create_webhook(webhook.clone()).await;
    assert_eq!(created, Ok(Created::Done));
    for item in items(&fixture).await {
        let mut shown = format!("{item:?}");
        for value in item.values() {
            if let Ok(bytes) = value.as_b() {
                shown.push_str(&String::from_utf8_lossy(bytes.as_ref()));
            }
        }
        let secret = webhook.secrets.current.expose();
        assert!(
            !shown.contains(secret) && !shown.contains("canary"),
            "{shown}"
        );
    }
    // Another process has to ask KMS for the data key.
    let other = fixture.another_process().await;
    let found = other.store.webhook(&scene.tenant, webhook.id).await;
    assert_eq!(found, Ok(Some(webhook)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_key_unseals_nothing_of_another_tenant() {
    let fixture = fixture().await;
    let scenes = ["ours", "theirs"].map(|tenant| Scene::of_tenant(fixture.handle(), tenant));
    for scene in &scenes {
        scene.webhook().await;
    }
    for mut item in items(&fixture).await {
        if item["sk"].as_s().unwrap() == "datakey" && item["pk"].as_s().unwrap() == "theirs" {
            item.insert(
                "pk".to_owned(),
                aws_sdk_dynamodb::types::AttributeValue::S("ours".into()),
            );
            let put = fixture
                .client
                .put_item()
                .table_name(&fixture.tables.configs);
            put.set_item(Some(item)).send().await.unwrap();
        }
    }
    let other = fixture.store_with(fixture.client.clone());
    assert!(other.webhooks(&scenes[1].tenant).await.is_ok());
    let ours = other.webhooks(&scenes[0].tenant).await;
    assert!(matches!(ours, Err(Error::Broken(_))), "{ours:?}");
}

/// Its tenant's other webhooks still get their events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_cannot_be_opened_is_left_out() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let (sound, spoiled) = (scene.webhook().await, scene.webhook().await);
    let text = |text: String| aws_sdk_dynamodb::types::AttributeValue::S(text);
    let spoil = fixture
        .client
        .update_item()
        .table_name(&fixture.tables.configs)
        .key("pk", text(scene.tenant.to_string()))
        .key("sk", text(spoiled.id.to_string()))
        .update_expression("SET sealed = :garbage")
        .expression_attribute_values(
            ":garbage",
            aws_sdk_dynamodb::types::AttributeValue::B(vec![7; 60].into()),
        );
    spoil.send().await.unwrap();
    let list = scene.webhooks(&scene.tenant).await.unwrap();
    assert_eq!(list.webhooks, [sound]);
    let alone = scene.handle.store.webhook(&scene.tenant, spoiled.id).await;
    assert!(matches!(alone, Err(Error::Broken(_))), "{alone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contact_can_be_read_without_unsealing() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let contact = fixture.store.contact(&scene.tenant, webhook.id).await;
    assert_eq!(contact.unwrap().unwrap().name, webhook.settings.name);
    let unknown = fixture
        .store
        .contact(&scene.tenant, builders::webhook_id(99));
    assert_eq!(unknown.await, Ok(None));
}
