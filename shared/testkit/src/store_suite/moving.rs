//! Data that comes from another gateway.

use std::sync::Arc;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::{Event, Origin};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::outcome::Timings;
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::{Accepted, Claim};
use postrider_ports::transfers::{Adopted, MovedDelivery, MovedEvent};

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

/// Once: what was sent elsewhere is not sent here.
pub async fn an_adopted_event_has_its_rows_and_attempts(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (one, other) = (scene.webhook().await, scene.webhook().await);
    let event = scene.event(NOW);
    let moved = moved(&event, [failed(&event, &one), delivered(&event, &other)]);
    let adopted = scene.adopt_event(moved.clone(), after(60)).await.unwrap();
    assert_eq!(ids(&adopted).len(), 2, "{adopted:?}");
    let (stored, hash) = scene
        .event_with_hash(&scene.tenant, event.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&*stored, hash), (&event, moved.request_hash));
    for delivery in &moved.deliveries {
        let row = scene.stored(delivery.row.id).await;
        assert_eq!(row, delivery.row);
        let attempts = scene.attempts(&scene.tenant, row.id).await;
        assert_eq!(attempts, Ok(delivery.attempts.clone()));
    }
    let again = scene.adopt_event(moved, after(61)).await.unwrap();
    assert_eq!(ids(&again), []);
}

/// It was notified and counted there.
pub async fn what_happened_elsewhere_is_neither_notified_nor_counted(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let event = Event {
        origin: Origin::Source(builders::source_id(1)),
        ..scene.event(NOW)
    };
    let moved = moved(&event, [delivered(&event, &webhook)]);
    scene.adopt_event(moved, after(1)).await.unwrap();
    fixture.flush().await;
    assert_eq!(scene.notifications().await, []);
    let stats = scene.stats(&scene.tenant, None, NOW.hour(), after(7200));
    assert_eq!(stats.await, Ok(Vec::new()));
}

pub async fn an_adopted_open_row_is_claimed_when_it_is_due(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let event = scene.event(NOW);
    let moved = moved(&event, [failed(&event, &webhook)]);
    let id = moved.deliveries[0].row.id;
    scene.adopt_event(moved, NOW).await.unwrap();
    assert!(matches!(
        scene.try_claim(id, NOW).await,
        Claim::Unclaimable(_)
    ));
    let claim = scene.try_claim(id, after(30)).await;
    let Claim::Claimed(claimed) = claim else {
        panic!("{claim:?}")
    };
    assert_eq!(claimed.event.body, event.body);
}

pub async fn an_adopted_row_of_a_paused_webhook_waits(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    scene.set_status(webhook.id, WebhookStatus::Paused).await;
    let event = scene.event(NOW);
    let moved = moved(&event, [failed(&event, &webhook)]);
    let id = moved.deliveries[0].row.id;
    scene.adopt_event(moved, NOW).await.unwrap();
    let claim = scene.try_claim(id, after(30)).await;
    assert!(matches!(claim, Claim::Unclaimable(_)), "{claim:?}");
}

/// The publisher repeats its request after the move.
pub async fn a_repeated_request_for_an_adopted_event_is_a_duplicate(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (one, other) = (scene.webhook().await, scene.webhook().await);
    let event = scene.event(NOW);
    let moved = moved(&event, [delivered(&event, &one)]);
    let id = moved.deliveries[0].row.id;
    scene.adopt_event(moved, NOW).await.unwrap();
    let plan = scene.plan(event, &[one.id, other.id]).await;
    let accepted = scene.accept_one(plan).await.unwrap();
    let Accepted::Duplicate {
        deliveries,
        completed,
        ..
    } = accepted
    else {
        panic!("{accepted:?}")
    };
    assert_eq!((deliveries, completed.len()), (vec![id], 0));
    assert_eq!(scene.stored(id).await.status, Status::Delivered);
}

pub async fn a_different_event_with_the_same_id_is_not_adopted(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let event = scene.event(NOW);
    let stored = scene.plan(event.clone(), &[]).await;
    scene.accept_new(stored).await;
    let mut moved = moved(&event, [failed(&event, &webhook)]);
    moved.request_hash.0[0] ^= 1;
    let id = moved.deliveries[0].row.id;
    let adopted = scene.adopt_event(moved, NOW).await;
    assert_eq!(adopted, Ok(Adopted::Conflict));
    assert_eq!(scene.delivery(&scene.tenant, id).await, Ok(None));
}

pub async fn tenants_with_a_key_or_a_webhook_are_listed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    assert_eq!(scene.tenants().await, Ok(vec![TenantId::default()]));
    Scene::of_tenant(fixture.handle(), "with-webhook")
        .webhook()
        .await;
    let key = ApiKey {
        id: KeyId::from_bytes([1; 16]),
        tenant: "with-key".parse().unwrap(),
        name: "key".to_owned(),
        scopes: vec![Scope::Publish],
        digest: KeyDigest::of("token"),
        created_at: NOW,
        last_used_at: None,
    };
    scene.put_key(key).await.unwrap();
    let tenants = scene.tenants().await.unwrap();
    let names: Vec<_> = tenants.iter().map(TenantId::as_str).collect();
    assert_eq!(names, ["default", "with-key", "with-webhook"]);
}

fn moved<const N: usize>(event: &Event, deliveries: [MovedDelivery; N]) -> MovedEvent {
    MovedEvent {
        event: Arc::new(event.clone()),
        request_hash: event.request_hash(None),
        deliveries: deliveries.into(),
    }
}

fn ids(adopted: &Adopted) -> &[postrider_domain::ids::DeliveryId] {
    match adopted {
        Adopted::Done { new } => new,
        Adopted::Conflict => panic!("a conflict"),
    }
}

/// A row that failed once and is due again after 30 seconds.
fn failed(event: &Event, webhook: &Webhook) -> MovedDelivery {
    let error = "HTTP status 500";
    let attempt = Attempt {
        status_code: Some(500),
        error: Some(error.to_owned()),
        response_body: Some("no".to_owned()),
        ..first_attempt()
    };
    MovedDelivery {
        row: Delivery {
            status: Status::Failed,
            next_retry_at: Some(after(30)),
            error_detail: Some(format!("{error}: no")),
            last_status: Some(500),
            ..attempted(event, webhook)
        },
        attempts: vec![attempt],
    }
}

fn delivered(event: &Event, webhook: &Webhook) -> MovedDelivery {
    MovedDelivery {
        row: Delivery {
            status: Status::Delivered,
            next_retry_at: None,
            last_status: Some(200),
            ..attempted(event, webhook)
        },
        attempts: vec![first_attempt()],
    }
}

fn attempted(event: &Event, webhook: &Webhook) -> Delivery {
    Delivery {
        attempt_count: 1,
        attempts_total: 1,
        last_attempted_at: Some(NOW),
        version: 2,
        ..builders::row(event, webhook.id)
    }
}

fn first_attempt() -> Attempt {
    Attempt {
        number: 1,
        version: 1,
        at: NOW,
        status_code: Some(200),
        error: None,
        kind: None,
        phase: None,
        timings: Timings {
            total_ms: 25,
            ..Timings::default()
        },
        response_body: None,
    }
}
