//! Deliveries that are added to a stored event.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::Delivery;
use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_ports::interventions::Added;

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

/// It is attempted and listed like any other.
pub async fn an_event_that_no_webhook_got_is_delivered_later(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let event = stored_event(&scene, &[]).await;
    let row = late(&event, scene.webhook().await.id);
    assert_eq!(add(&scene, &row).await, Added::Done);
    fixture.flush().await;
    assert_eq!(scene.stored(row.id).await, row);
    let listed = scene.rows_of(&scene.tenant, event.id).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&row));
    scene.attempt(row.id, Transition::Deliver, after(100)).await;
    assert!(!scene.stored(row.id).await.status.is_open());
}

/// So a receiver does not get it twice by mistake.
pub async fn a_webhook_has_at_most_one_row_of_an_event(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let event = stored_event(&scene, &[webhook]).await;
    let id = DeliveryId {
        event: event.id,
        webhook,
    };
    let before = scene.stored(id).await;
    assert_eq!(add(&scene, &late(&event, webhook)).await, Added::Exists);
    assert_eq!(scene.stored(id).await, before);
    let other = late(&event, scene.webhook().await.id);
    assert_eq!(add(&scene, &other).await, Added::Done);
    assert_eq!(add(&scene, &other).await, Added::Exists);
}

/// Also not one of another tenant.
pub async fn nothing_is_added_to_an_event_that_is_not_stored(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let unknown = late(&scene.event(NOW), webhook);
    assert_eq!(add(&scene, &unknown).await, Added::EventMissing);
    let event = stored_event(&scene, &[]).await;
    let foreign = Delivery {
        tenant: "somewhere-else".parse().unwrap(),
        ..late(&event, webhook)
    };
    assert_eq!(add(&scene, &foreign).await, Added::EventMissing);
}

async fn stored_event(scene: &Scene, webhooks: &[WebhookId]) -> Event {
    let event = scene.event(NOW);
    let acceptance = scene.plan(event.clone(), webhooks).await;
    scene.accept_new(acceptance).await;
    event
}

fn late(event: &Event, webhook: WebhookId) -> Delivery {
    let at = after(100);
    Delivery {
        created_at: at,
        next_retry_at: Some(at),
        ..builders::row(event, webhook)
    }
}

async fn add(scene: &Scene, row: &Delivery) -> Added {
    scene.add_delivery(row.clone()).await.unwrap()
}
