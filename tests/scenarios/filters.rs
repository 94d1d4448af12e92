use bytes::Bytes;
use postrider_domain::event::Origin;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::payload_filter::PayloadFilter;
use postrider_domain::webhook::{Webhook, WebhookDraft};
use postrider_gateway::filter_preview::{TriedResult, try_filter};
use postrider_gateway::ingest::EventDraft;
use serde_json::{Value, json};

use super::world::World;

async fn webhook(world: &World, name: &str, filter: Option<Value>) -> Webhook {
    let draft = WebhookDraft {
        name: name.to_owned(),
        target_url: world.receiver.url(),
        event_types: vec!["order.*".to_owned()],
        filter,
        ..WebhookDraft::default()
    };
    world.create(draft).await
}

fn order(body: &'static str, webhook: Option<WebhookId>) -> EventDraft {
    EventDraft {
        event_type: "order.created".to_owned(),
        body: Bytes::from_static(body.as_bytes()),
        content_type: "application/json".to_owned(),
        session_id: None,
        webhook_id: webhook.map(|id| id.to_string()),
        origin: Origin::Api,
    }
}

/// Publishes an order; returns the webhooks that get it.
async fn publish(world: &World, draft: EventDraft) -> Vec<WebhookId> {
    let (ingest, tenant) = (&world.gateway().ingest, TenantId::default());
    let published = ingest.publish(&tenant, draft, None).await.unwrap();
    world.idle().await;
    let deliveries = published.deliveries.iter();
    deliveries.map(|delivery| delivery.webhook).collect()
}

fn above_100() -> Option<Value> {
    Some(json!({"total": [{"numeric": [">", 100]}]}))
}

#[tokio::test]
async fn a_webhook_gets_only_the_events_that_its_filter_matches() {
    let world = World::new().await;
    let large = webhook(&world, "large", above_100()).await.id;
    let all = webhook(&world, "all", None).await.id;
    let body = "{ \"total\" :250.0,\n\"id\": 9007199254740993 }";
    let mut both = publish(&world, order(body, None)).await;
    both.sort();
    let mut expected = [large, all];
    expected.sort();
    assert_eq!(both, expected);
    assert_eq!(
        publish(&world, order(r#"{"total": 20}"#, None)).await,
        [all]
    );
    let received = world.receiver.requests();
    let bodies: Vec<_> = received.iter().map(|request| &request.body).collect();
    assert_eq!(bodies, [body, body, r#"{"total": 20}"#]);
}

#[tokio::test]
async fn a_body_that_is_not_json_never_matches_a_filter() {
    let world = World::new().await;
    let anything = json!({"total": [{"exists": false}]});
    webhook(&world, "filtered", Some(anything)).await;
    let all = webhook(&world, "all", None).await.id;
    assert_eq!(publish(&world, order("total: 250", None)).await, [all]);
}

#[tokio::test]
async fn an_event_that_names_a_webhook_must_match_its_filter() {
    let world = World::new().await;
    let id = webhook(&world, "large", above_100()).await.id;
    let (large, small) = (r#"{"total": 250}"#, r#"{"total": 20}"#);
    assert_eq!(publish(&world, order(small, Some(id))).await, []);
    assert_eq!(publish(&world, order(large, Some(id))).await, [id]);
    let tested = world.gateway().send_test(&TenantId::default(), id).await;
    world.idle().await;
    assert_eq!(tested.unwrap().deliveries.len(), 1);
    assert_eq!(world.receiver.requests().len(), 2);
}

#[tokio::test]
async fn a_changed_filter_applies_to_the_next_event() {
    let world = World::new().await;
    let id = webhook(&world, "large", above_100()).await.id;
    let small = r#"{"total": 20}"#;
    assert_eq!(publish(&world, order(small, None)).await, []);
    let without = |draft| WebhookDraft {
        filter: None,
        ..draft
    };
    let manage = &world.gateway().manage;
    let changed = manage.change(&TenantId::default(), id, without).await;
    assert_eq!(changed.unwrap().settings.filter, None);
    assert_eq!(publish(&world, order(small, None)).await, [id]);
}

#[tokio::test]
async fn a_filter_is_tried_on_the_last_events_before_it_is_saved() {
    let world = World::new().await;
    for name in ["one", "two"] {
        webhook(&world, name, None).await;
    }
    let (large, small) = (r#"{"total": 250}"#, r#"{"total": 20}"#);
    let cancelled = EventDraft {
        event_type: "order.cancelled".to_owned(),
        ..order(large, None)
    };
    for draft in [order(large, None), cancelled, order(small, None)] {
        publish(&world, draft).await;
        world.clock.advance(postrider_domain::time::Millis::new(1));
    }
    let types = ["order.created".parse().unwrap()];
    let filter = PayloadFilter::compile("filter", above_100().unwrap()).unwrap();
    let (store, tenant) = (world.store(), TenantId::default());
    let tried = try_filter(store, &tenant, &types, Some(&filter)).await;
    let results: Vec<_> = tried.unwrap().into_iter().map(|one| one.result).collect();
    let expected = [
        TriedResult::Fails(vec!["/total".to_owned()]),
        TriedResult::OtherType,
        TriedResult::Matches,
    ];
    assert_eq!(results, expected);
}
