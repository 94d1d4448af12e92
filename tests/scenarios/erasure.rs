//! `features/erasure.feature`.

use bytes::Bytes;
use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::event::Origin;
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::retry::RetrySettings;
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::ingest::{EventDraft, Published};
use postrider_testkit::receiver::Answer;

use super::world::World;

const KEY: KeyId = KeyId::from_bytes([7; 16]);

async fn publish(world: &World, tenant: &TenantId, body: String) -> Published {
    let draft = EventDraft {
        event_type: "task.completed".to_owned(),
        body: Bytes::from(body),
        content_type: "text/plain".to_owned(),
        session_id: Some("session-1".to_owned()),
        webhook_id: None,
        origin: Origin::Api,
    };
    let published = world.gateway().ingest.publish(tenant, draft, None).await;
    published.unwrap()
}

fn files_with(world: &World, canary: &str) -> Vec<String> {
    let canary = canary.as_bytes();
    let holds = |bytes: &[u8]| bytes.windows(canary.len()).any(|window| window == canary);
    let files = world.files().into_iter();
    let files = files.filter(|(_, bytes)| holds(bytes));
    files.map(|(name, _)| name).collect()
}

#[tokio::test]
async fn the_bytes_of_an_erased_event_are_in_no_file() {
    let world = World::new().await;
    world.webhook(RetrySettings::default()).await;
    let tenant = TenantId::default();
    let mut erased = Vec::new();
    // Before, between and after other events, so that pages are shared.
    for (canary, length) in [("small-canary", 40), ("large-canary", 60_000)] {
        world.receiver.answer(Answer::status(200));
        for _ in 0..3 {
            publish(&world, &tenant, "other".repeat(40)).await;
        }
        world.idle().await;
        let echoed = format!("echo-of-{canary}");
        world.receiver.answer(Answer::status(500).body(&echoed));
        let body = format!("{canary}{}", "x".repeat(length));
        let published = publish(&world, &tenant, body).await;
        world.idle().await;
        assert_eq!(
            world.row(published.deliveries[0]).await.status,
            Status::Failed
        );
        for text in [canary, &echoed] {
            assert_ne!(files_with(&world, text), Vec::<String>::new(), "{text}");
        }
        erased.push((canary, echoed, published));
    }
    for (canary, echoed, published) in erased {
        let erasing = &world.gateway().erasing;
        let erasure = erasing.erase_event(&tenant, published.event, KEY).await;
        assert!(erasure.unwrap().has_ended());
        for text in [canary, &echoed] {
            assert_eq!(files_with(&world, text), Vec::<String>::new(), "{text}");
        }
        let row = world.row(published.deliveries[0]).await;
        assert_eq!((row.status, row.attempts_total), (Status::Dead, 1));
        assert_eq!(row.last_status, None);
    }
}

#[tokio::test]
async fn an_open_delivery_of_an_erased_event_is_never_sent() {
    let world = World::new().await;
    world.webhook(RetrySettings::default()).await;
    world.receiver.answer(Answer::status(500));
    let tenant = TenantId::default();
    let published = publish(&world, &tenant, "body".to_owned()).await;
    world.idle().await;
    let sent = world.receiver.requests().len();
    let session = "session-1".parse().unwrap();
    let erasure = world.gateway().erasing.erase_session(&tenant, session, KEY);
    let erasure = erasure.await.unwrap();
    assert!(erasure.has_ended(), "{erasure:?}");
    assert_eq!((erasure.erased.events, erasure.erased.deliveries), (1, 1));
    let row = world.row(published.deliveries[0]).await;
    assert_eq!(
        (row.status, row.dead_cause),
        (Status::Dead, Some(DeadCause::Erased))
    );
    world.pass(Millis::from_seconds(3600)).await;
    assert_eq!(world.receiver.requests().len(), sent);
}

#[tokio::test]
async fn the_deletion_of_a_tenant_survives_a_crash_and_nothing_of_it_is_sent() {
    let mut world = World::new().await;
    let acme: TenantId = "acme".parse().unwrap();
    let draft = WebhookDraft {
        name: "all".to_owned(),
        target_url: world.receiver.url(),
        event_types: vec!["**".to_owned()],
        ..WebhookDraft::default()
    };
    let manage = &world.gateway().manage;
    manage.create(&acme, draft, None).await.unwrap();
    world.receiver.answer(Answer::status(500));
    for n in 0..120 {
        publish(&world, &acme, format!("body {n}")).await;
    }
    world.idle().await;
    let sent = world.receiver.requests().len();
    let owner = TenantId::default();
    let deletion = world.gateway().delete_tenant(&owner, &acme, KEY).await;
    let deletion = deletion.unwrap();
    assert!(!deletion.has_ended());
    world.restart().await;
    world.pass(Millis::from_seconds(3600)).await;
    let erasing = &world.gateway().erasing;
    let ended = erasing.get(&owner, deletion.id).await.unwrap();
    assert!(ended.has_ended(), "{ended:?}");
    assert_eq!((ended.erased.events, ended.by), (120, KEY));
    assert_eq!(world.store().tenant(&acme).await, Ok(None));
    assert_eq!(world.receiver.requests().len(), sent);
}
