//! Events are stored once, with their rows.

use std::sync::Arc;

use bytes::Bytes;
use postrider_domain::decide::Transition;
use postrider_domain::event::{Event, MAX_BODY_BYTES};
use postrider_domain::ids::{DeliveryId, EventId, WebhookId};
use postrider_ports::deliveries::{Accepted, Claim};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{Fixture, Scene};
use crate::bodies::{Family, random_bytes};
use crate::builders::{self, NOW};

/// The event, its rows and their contents.
pub async fn an_accepted_event_is_stored_with_its_rows(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await, scene.webhook().await);
    let event = scene.event(NOW);
    let acceptance = scene.plan(event.clone(), &[a.id, b.id]).await;
    let accepted = scene.accept_one(acceptance.clone()).await.unwrap();
    assert!(matches!(accepted, Accepted::New));
    let stored = scene.handle.store.event(&scene.tenant, event.id).await;
    assert_eq!(*stored.unwrap().unwrap(), event);
    for new in &acceptance.rows {
        assert_eq!(scene.stored(new.id).await, *new);
        let attempts = scene.attempts(&scene.tenant, new.id).await;
        assert_eq!(attempts, Ok(Vec::new()));
    }
}

/// The second call finds the first one's rows and writes nothing.
pub async fn a_repeated_request_is_a_duplicate(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    let event = keyed(&scene, "k");
    let first = scene.plan(event.clone(), &[a, b]).await;
    scene.accept_new(first).await;
    let again = scene.plan(event.clone(), &[a]).await;
    match scene.accept_one(again).await.unwrap() {
        Accepted::Duplicate {
            event: id,
            mut deliveries,
            completed,
        } => {
            assert_eq!(completed, [], "the first call was not interrupted");
            deliveries.sort();
            let of = |webhook| DeliveryId {
                event: event.id,
                webhook,
            };
            assert_eq!((id, deliveries), (event.id, vec![of(a), of(b)]));
        }
        other => panic!("{other:?}"),
    }
    fixture.flush().await;
    assert_eq!(scene.all(&Default::default(), 10).await.len(), 2);
}

/// Nothing of the second request is stored.
pub async fn another_request_under_the_same_key_is_a_conflict(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let event = keyed(&scene, "k");
    let first = scene.plan(event.clone(), &[webhook]).await;
    scene.accept_new(first).await;
    let other = Event {
        body: Bytes::from_static(b"other"),
        ..event.clone()
    };
    let other = scene.plan(other, &[webhook]).await;
    let accepted = scene.accept_one(other).await.unwrap();
    assert!(matches!(accepted, Accepted::Conflict), "{accepted:?}");
    let stored = scene.handle.store.event(&scene.tenant, event.id).await;
    assert_eq!(stored.unwrap().unwrap().body, event.body);
}

/// A publisher who repeats a call gets its result, whatever happened to the webhooks since.
pub async fn a_duplicate_is_known_even_when_the_plan_is_outdated(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let acceptance = scene.plan(keyed(&scene, "k"), &[webhook]).await;
    scene.accept_new(acceptance.clone()).await;
    scene.webhook().await;
    let accepted = scene.accept_one(acceptance).await.unwrap();
    assert!(
        matches!(accepted, Accepted::Duplicate { .. }),
        "{accepted:?}"
    );
}

/// Neither the event nor a row.
pub async fn an_outdated_plan_writes_nothing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let acceptance = scene.plan(scene.event(NOW), &[webhook]).await;
    scene.webhook().await;
    let accepted = scene.accept_one(acceptance.clone()).await.unwrap();
    assert!(matches!(accepted, Accepted::Outdated), "{accepted:?}");
    let id = acceptance.rows[0].id;
    assert_eq!(scene.delivery(&scene.tenant, id).await, Ok(None));
    assert_eq!(
        scene.handle.store.event(&scene.tenant, id.event).await,
        Ok(None)
    );
}

/// It can be looked up, and repeated.
pub async fn an_event_without_a_webhook_is_stored(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let event = scene.event(NOW);
    let acceptance = scene.plan(event.clone(), &[]).await;
    scene.accept_new(acceptance.clone()).await;
    let stored = scene.handle.store.event(&scene.tenant, event.id).await;
    assert_eq!(*stored.unwrap().unwrap(), event);
    let again = scene.accept_one(acceptance).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { deliveries, .. } if deliveries.is_empty()));
}

/// Publishers that send the same request at the same time.
pub async fn one_of_concurrent_equal_requests_is_new(fixture: impl Fixture) {
    let scene = Arc::new(Scene::of(fixture.handle()));
    let webhook = scene.webhook().await.id;
    let acceptance = scene.plan(keyed(&scene, "k"), &[webhook]).await;
    let barrier = Arc::new(Barrier::new(16));
    let mut calls = JoinSet::new();
    for _ in 0..16 {
        let (scene, acceptance, barrier) = (scene.clone(), acceptance.clone(), barrier.clone());
        calls.spawn(async move {
            barrier.wait().await;
            let accepted = scene.accept_one(acceptance).await.unwrap();
            matches!(accepted, Accepted::New)
        });
    }
    let new = calls.join_all().await.into_iter().filter(|new| *new);
    assert_eq!(new.count(), 1);
}

/// The other items are stored.
pub async fn one_item_of_a_batch_fails_alone(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let first = scene.plan(keyed(&scene, "a"), &[webhook]).await;
    let twin = Event {
        body: Bytes::from_static(b"other"),
        ..keyed(&scene, "a")
    };
    let twin = scene.plan(twin, &[webhook]).await;
    let mut outdated = scene.plan(keyed(&scene, "b"), &[webhook]).await;
    outdated.config_version -= 1;
    let last = scene.plan(keyed(&scene, "c"), &[webhook]).await;
    let results = scene.accept(vec![first, twin, outdated, last]).await;
    let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let [first, twin, Accepted::Outdated, Accepted::New] = &results[..] else {
        panic!("{results:?}");
    };
    // A store may process a batch in any order.
    let alone = |one: &Accepted, other: &Accepted| {
        matches!((one, other), (Accepted::New, Accepted::Conflict))
    };
    assert!(alone(first, twin) || alone(twin, first), "{results:?}");
}

/// More than AWS services accept in one call.
pub async fn a_batch_of_a_hundred_and_thirty_is_stored_whole(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let mut batch = Vec::new();
    for _ in 0..130 {
        batch.push(scene.plan(scene.event(NOW), &[webhook]).await);
    }
    let ids: Vec<_> = batch.iter().map(|one| one.rows[0].id).collect();
    for accepted in scene.accept(batch).await {
        assert!(matches!(accepted, Ok(Accepted::New)), "{accepted:?}");
    }
    for id in ids {
        scene.stored(id).await;
    }
}

/// More than AWS services accept in one transaction.
pub async fn an_event_for_sixty_webhooks_is_stored_whole(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let mut webhooks: Vec<WebhookId> = Vec::new();
    for _ in 0..60 {
        webhooks.push(scene.webhook().await.id);
    }
    let acceptance = scene.plan(scene.event(NOW), &webhooks).await;
    scene.accept_new(acceptance.clone()).await;
    for new in acceptance.rows {
        scene.stored(new.id).await;
    }
}

/// Random bytes: of the sizes at which a store may change how it keeps them, and of the largest one.
pub async fn a_body_of_any_size_comes_back_byte_for_byte(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for bytes in [0, 1, 300 * 1024, 300 * 1024 + 1, MAX_BODY_BYTES] {
        let event = Event {
            body: random_bytes(7, bytes),
            ..scene.event(NOW)
        };
        deliver_whole(&scene, event, webhook).await;
    }
}

/// Stores may deflate it.
pub async fn the_largest_json_comes_back_byte_for_byte(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for family in [Family::GitHub, Family::RandomIds] {
        let event = Event {
            body: family.body(7, MAX_BODY_BYTES),
            ..scene.event(NOW)
        };
        deliver_whole(&scene, event, webhook).await;
    }
}

async fn deliver_whole(scene: &Scene, event: Event, webhook: WebhookId) {
    let id = DeliveryId {
        event: event.id,
        webhook,
    };
    let acceptance = scene.plan(event.clone(), &[webhook]).await;
    scene.accept_new(acceptance).await;
    let Claim::Claimed(delivery) = scene.try_claim(id, NOW).await else {
        panic!("not claimed");
    };
    // Not `assert_eq`, which would print megabytes.
    assert!(
        delivery.event.body == event.body,
        "{} bytes",
        event.body.len()
    );
    let stored = scene.handle.store.event(&scene.tenant, event.id).await;
    assert!(*stored.unwrap().unwrap() == event);
    scene
        .finish(&delivery.claimed, Transition::Deliver, NOW)
        .await;
}

/// Nor is its body, wherever it is stored.
pub async fn another_large_request_under_the_same_key_is_a_conflict(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let [first, other] = [1, 2].map(|seed| Event {
        body: random_bytes(seed, MAX_BODY_BYTES),
        ..keyed(&scene, "large")
    });
    let acceptance = scene.plan(first.clone(), &[webhook]).await;
    scene.accept_new(acceptance.clone()).await;
    let conflict = scene.plan(other, &[webhook]).await;
    let accepted = scene.accept_one(conflict).await.unwrap();
    assert!(matches!(accepted, Accepted::Conflict), "{accepted:?}");
    let again = scene.accept_one(acceptance).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { .. }), "{again:?}");
    let stored = scene.handle.store.event(&scene.tenant, first.id).await;
    assert!(*stored.unwrap().unwrap() == first);
}

fn keyed(scene: &Scene, key: &str) -> Event {
    Event {
        id: EventId::keyed(&scene.tenant, "api", key),
        ..builders::event(&scene.tenant, 0, NOW)
    }
}
