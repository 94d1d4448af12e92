use postrider_domain::delivery::{Force, Status};
use postrider_domain::event::Origin;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::retry::{Classifier, RetrySettings};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;
use postrider_gateway::error::Conflict;
use postrider_gateway::ingest::{EventDraft, Repeated};
use postrider_gateway::settings::WorkerSettings;
use postrider_ports::history::Filter;
use postrider_ports::jobs::{Count, JobState};
use postrider_testkit::receiver::Answer;

use super::world::World;

fn draft(webhook: WebhookId, body: &'static str) -> EventDraft {
    EventDraft {
        event_type: "task.completed".into(),
        body: body.into(),
        content_type: "application/json".into(),
        session_id: None,
        webhook_id: Some(webhook.to_string()),
        origin: Origin::Api,
    }
}

#[tokio::test]
async fn a_publisher_that_disconnects_midway_leaves_nothing_stuck() {
    let settings = WorkerSettings {
        per_webhook: 2,
        ..WorkerSettings::default()
    };
    let world = World::with(settings).await;
    let tenant = TenantId::default();
    let webhook = world.webhook(RetrySettings::default()).await;
    world.publish(webhook.id).await;
    for _ in 0..10 {
        let publish = world
            .gateway()
            .ingest
            .publish(&tenant, draft(webhook.id, "{}"), None);
        tokio::select! {
            biased;
            _ = publish => {}
            () = std::future::ready(()) => {}
        }
    }
    let id = world.publish(webhook.id).await;
    while world.cycle().await.started > 0 {}
    assert_eq!(world.row(id).await.status, Status::Delivered);
    let page = world
        .store()
        .list(&tenant, &Filter::default(), 100, None)
        .await
        .unwrap();
    assert!(
        page.items.iter().all(|row| row.status == Status::Delivered),
        "{:?}",
        page.items
    );
    assert_eq!(page.items.len(), world.receiver.requests().len());
}

#[tokio::test]
async fn a_repeated_call_returns_the_first_result() {
    let world = World::new().await;
    let tenant = TenantId::default();
    let webhook = world.webhook(RetrySettings::default()).await;
    let ingest = &world.gateway().ingest;
    let first = ingest
        .publish(&tenant, draft(webhook.id, "1"), Some("key"))
        .await
        .unwrap();
    world.idle().await;
    let again = ingest
        .publish(&tenant, draft(webhook.id, "1"), Some("key"))
        .await
        .unwrap();
    assert_eq!(
        (first.repeated, again.repeated),
        (Repeated::No, Repeated::Yes)
    );
    assert_eq!(
        (first.event, &first.deliveries),
        (again.event, &again.deliveries)
    );
    let other = ingest
        .publish(&tenant, draft(webhook.id, "2"), Some("key"))
        .await;
    assert!(matches!(other, Err(GatewayError::KeyReused)), "{other:?}");
    world
        .gateway()
        .manage
        .delete(&tenant, webhook.id)
        .await
        .unwrap();
    let late = ingest
        .publish(&tenant, draft(webhook.id, "1"), Some("key"))
        .await
        .unwrap();
    assert_eq!(
        (late.repeated, late.deliveries),
        (Repeated::Yes, first.deliveries)
    );
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_bulk_retry_requeues_every_dead_delivery_once() {
    let world = World::new().await;
    let tenant = TenantId::default();
    let draft = WebhookDraft {
        name: "bulk".into(),
        target_url: world.receiver.url(),
        event_types: vec!["*".into()],
        retry_rate: Some(10_000),
        retry: Some(RetrySettings {
            classifier: Some(Classifier::ByStatus),
            ..RetrySettings::default()
        }),
        ..WebhookDraft::default()
    };
    let webhook = world.create(draft).await;
    world.publish(webhook.id).await;
    world.receiver.answer(Answer::status(404));
    for _ in 0..450 {
        world.post(webhook.id).await;
        world.cycle().await;
    }
    world.receiver.answer(Answer::status(200));
    world.clock.advance(postrider_domain::time::Millis::new(1));
    let retries = &world.gateway().retries;
    assert_eq!(
        retries.count(&tenant, Filter::default()).await.unwrap(),
        Count::Exactly(450)
    );
    let (begun, ()) = tokio::join!(retries.begin(&tenant, Filter::default()), world.sweep());
    let begun = begun.unwrap();
    assert_eq!((begun.matched, begun.state), (450, JobState::Running));
    world.sweep().await;
    let job = retries.job(&tenant, begun.id).await.unwrap();
    assert_eq!((job.done, job.failed, job.state), (450, 0, JobState::Done));
    loop {
        let cycle = world.cycle().await;
        match cycle.next_at {
            _ if cycle.started > 0 => {}
            Some(next) => world.clock.set(next),
            None => break,
        }
    }
    assert_eq!(world.receiver.requests().len(), 1 + 450 + 450);
}

#[tokio::test]
async fn retry_now_is_rejected_when_it_does_not_apply() {
    let world = World::new().await;
    let tenant = TenantId::default();
    let webhook = world.webhook(RetrySettings::default()).await;
    let retry = async |id, force| match world.gateway().retries.retry_now(&tenant, id, force).await
    {
        Err(GatewayError::Conflict(conflict)) => Some(conflict),
        Ok(_) => None,
        other @ Err(_) => panic!("{other:?}"),
    };
    let delivered = world.publish(webhook.id).await;
    assert_eq!(retry(delivered, Force::No).await, Some(Conflict::Delivered));
    world.receiver.hold();
    let in_flight = world.post(webhook.id).await;
    world.receiver.received(2).await;
    assert_eq!(retry(in_flight, Force::No).await, Some(Conflict::InFlight));
    world.receiver.open();
    world.idle().await;
    assert_eq!(retry(delivered, Force::Delivered).await, None);
    assert_eq!(retry(delivered, Force::No).await, Some(Conflict::Pending));
    world.cycle().await;
    let row = world.row(delivered).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 2));
}
