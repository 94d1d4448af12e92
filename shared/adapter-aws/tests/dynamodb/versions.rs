//! The version of a tenant's webhooks and its copies.

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_ports::deliveries::Accepted;
use postrider_testkit::builders::NOW;
use postrider_testkit::store_suite::{Fixture, Scene};
use std::sync::Arc;

use crate::support::{Dynamo, Metered, fixture};

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

async fn copies(tables: &Dynamo, tenant: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for copy in 0..4 {
        let call = tables.client.get_item().table_name(&tables.tables.configs);
        let call = call
            .key("pk", text(&format!("version#{copy}#{tenant}")))
            .key("sk", text("version"));
        let item = call.send().await.unwrap().item.unwrap();
        found.push(
            item.get("version")
                .unwrap()
                .as_n()
                .unwrap()
                .parse()
                .unwrap(),
        );
    }
    found
}

/// A webhook besides the one of [`Metered`], which has the first number.
async fn another_webhook(scene: &Scene) {
    scene.draw();
    scene.webhook().await;
}

#[tokio::test]
async fn pausing_failing_and_resuming_raise_no_version() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let version = scene.version().await;
    for status in [
        WebhookStatus::Paused,
        WebhookStatus::Failed,
        WebhookStatus::Active,
    ] {
        scene.set_status(webhook, status).await;
        assert_eq!(scene.version().await, version, "{status:?}");
    }
}

#[tokio::test]
async fn every_copy_is_raised() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Disabled).await;
    assert_eq!(copies(&tables, scene.tenant.as_str()).await, [2; 4]);
    scene.webhook().await;
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    assert_eq!(copies(&tables, scene.tenant.as_str()).await, [4; 4]);
}

/// While a change is committed, some copies are behind.
#[tokio::test]
async fn a_copy_that_is_behind_makes_no_plan_outdated_and_reloads_nothing() {
    let metered = Metered::start().await;
    let (tables, scene) = (&metered.tables, &metered.scene);
    let tenant = &scene.tenant;
    another_webhook(scene).await;
    let cache = WebhookCache::new(Arc::clone(&scene.handle.store) as _);
    let known = cache.current(tenant, NOW).await.unwrap();
    for copy in 0..4 {
        let lower = tables
            .client
            .update_item()
            .table_name(&tables.tables.configs)
            .key("pk", text(&format!("version#{copy}#{tenant}")))
            .key("sk", text("version"))
            .update_expression("SET version = :behind")
            .expression_attribute_values(":behind", AttributeValue::N("1".to_owned()));
        lower.send().await.unwrap();
    }
    metered.meter.take();
    let again = cache.current(tenant, NOW).await.unwrap();
    assert!(Arc::ptr_eq(&known, &again));
    assert_eq!(metered.meter.take().reads, 1.0, "the version alone");
    let webhooks: Vec<WebhookId> = known.webhooks.iter().map(|webhook| webhook.id).collect();
    let acceptance =
        postrider_testkit::builders::acceptance(scene.event(NOW), &webhooks, known.version);
    let accepted = scene.accept_one(acceptance).await;
    assert_eq!(accepted, Ok(Accepted::New));
}

#[tokio::test]
async fn concurrent_reloads_share_one() {
    let metered = Metered::start().await;
    let scene = &metered.scene;
    let cache = WebhookCache::new(Arc::clone(&scene.handle.store) as _);
    cache.current(&scene.tenant, NOW).await.unwrap();
    another_webhook(scene).await;
    metered.meter.take();
    cache.current(&scene.tenant, NOW).await.unwrap();
    let one = metered.meter.take().reads;
    another_webhook(scene).await;
    metered.meter.take();
    let calls = (0..20).map(|_| cache.current(&scene.tenant, NOW));
    for loaded in futures_util::future::join_all(calls).await {
        assert_eq!(loaded.unwrap().webhooks.len(), 3);
    }
    let all = metered.meter.take().reads;
    assert!(all <= one + 19.0 + 1.0, "{all} units, {one} for one reload");
}
