//! `features/tenants.feature`.

use bytes::Bytes;
use postrider_domain::event::Origin;
use postrider_domain::ids::TenantId;
use postrider_domain::tenant::{TenantDraft, TenantLimits};
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;
use postrider_gateway::error::Limited;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::usage::{self, Days, TenantUsage};
use postrider_ports::history::Filter;
use postrider_testkit::receiver::Answer;

use super::world::World;

async fn limit(world: &World, limits: TenantLimits) {
    let tenants = &world.gateway().tenants;
    let edit = |draft: TenantDraft| TenantDraft { limits, ..draft };
    tenants.change(&TenantId::default(), edit).await.unwrap();
}

fn webhook(world: &World) -> WebhookDraft {
    WebhookDraft {
        name: "all".to_owned(),
        target_url: world.receiver.url(),
        event_types: vec!["**".to_owned()],
        ..WebhookDraft::default()
    }
}

async fn publish(world: &World, body: &'static str) -> Result<(), GatewayError> {
    let draft = EventDraft {
        event_type: "task.done".to_owned(),
        body: Bytes::from_static(body.as_bytes()),
        content_type: "text/plain".to_owned(),
        session_id: None,
        webhook_id: None,
        origin: Origin::Api,
    };
    let ingest = &world.gateway().ingest;
    let published = ingest.publish(&TenantId::default(), draft, None).await;
    world.idle().await;
    published.map(drop)
}

async fn stored(world: &World) -> usize {
    let store = &world.gateway().ports.store;
    let (tenant, all) = (TenantId::default(), Filter::default());
    let page = store.list(&tenant, &all, 100, None).await;
    page.unwrap().items.len()
}

fn limited(result: Result<(), GatewayError>) -> Limited {
    match result {
        Err(GatewayError::Limited(limited)) => limited,
        other => panic!("{other:?}"),
    }
}

const fn ten_bytes() -> TenantLimits {
    TenantLimits {
        webhooks: None,
        publish_rate: None,
        max_body_bytes: Some(10),
        retention_days: None,
    }
}

#[tokio::test]
async fn a_tenant_is_held_to_its_publish_rate() {
    let world = World::new().await;
    world.create(webhook(&world)).await;
    let two = TenantLimits {
        publish_rate: Some(2),
        ..TenantLimits::default()
    };
    limit(&world, two).await;
    for _ in 0..2 {
        publish(&world, "a").await.unwrap();
    }
    let refused = limited(publish(&world, "a").await);
    assert_eq!(refused, Limited::PublishRate { limit: 2 });
    assert_eq!(stored(&world).await, 2);
    world.clock.advance(Millis::new(500));
    publish(&world, "a").await.unwrap();
}

#[tokio::test]
async fn a_payload_over_the_limit_of_the_tenant_is_refused() {
    let world = World::new().await;
    world.create(webhook(&world)).await;
    limit(&world, ten_bytes()).await;
    let refused = limited(publish(&world, "12345678901").await);
    assert_eq!(refused, Limited::BodyBytes { limit: 10 });
    publish(&world, "1234567890").await.unwrap();
    let received = world.receiver.requests();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].body, "1234567890");
}

#[tokio::test]
async fn a_tenant_has_only_as_many_webhooks_as_it_may() {
    let world = World::new().await;
    let one = TenantLimits {
        webhooks: Some(1),
        ..TenantLimits::default()
    };
    limit(&world, one).await;
    world.create(webhook(&world)).await;
    let (tenant, manage) = (TenantId::default(), &world.gateway().manage);
    let refused = manage.create(&tenant, webhook(&world), None).await;
    let refused = limited(refused.map(drop));
    assert_eq!(refused, Limited::Webhooks { limit: 1 });
    assert_eq!(manage.list(&tenant).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_changed_limit_applies_to_the_next_event() {
    let world = World::new().await;
    publish(&world, "12345678901").await.unwrap();
    limit(&world, ten_bytes()).await;
    let refused = limited(publish(&world, "12345678901").await);
    assert_eq!(refused.field(), "limits.max_body_bytes");
    limit(&world, TenantLimits::default()).await;
    publish(&world, "12345678901").await.unwrap();
}

#[tokio::test]
async fn the_usage_of_a_tenant_is_counted_per_day() {
    let world = World::new().await;
    world.create(webhook(&world)).await;
    world.receiver.answer(Answer::status(500));
    publish(&world, "12345").await.unwrap();
    world.receiver.answer(Answer::status(200));
    world.clock.advance(Millis::from_seconds(60));
    world.cycle().await;
    world.clock.advance(Millis::from_seconds(86_400));
    for _ in 0..2 {
        publish(&world, "123").await.unwrap();
    }
    let ports = &world.gateway().ports;
    let days = Days::until(ports.clock.now(), 2);
    let used = usage::per_day(ports, &TenantId::default(), days).await;
    let used: Vec<_> = used.unwrap().into_iter().map(|(_, used)| used).collect();
    let first = TenantUsage {
        published: 1,
        delivered: 1,
        attempts: 2,
        bytes: 5,
    };
    let second = TenantUsage {
        published: 2,
        delivered: 2,
        attempts: 2,
        bytes: 6,
    };
    assert_eq!(used, [first, second]);
}
