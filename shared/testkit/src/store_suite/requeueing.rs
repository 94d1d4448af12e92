//! *Retry now*, with all its results.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Delivery, Force, Status, Unclaimable};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_ports::deliveries::{Applied, Claim};
use postrider_ports::interventions::Requeued;

use super::scene::retry_at;
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// The attempt count restarts; attempt numbers continue.
pub async fn a_dead_row_is_requeued_and_its_history_stays(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.dead(scene.webhook().await.id).await;
    let before = scene.stored(id).await;
    let row = done(requeue(&scene, id, Force::No).await);
    assert_eq!(row, before.requeued(after(100)));
    assert_eq!(scene.stored(id).await, row);
    assert_eq!(
        (
            row.status,
            row.attempt_count,
            row.attempts_total,
            row.next_retry_at
        ),
        (Status::Pending, 0, 1, Some(after(100)))
    );
    scene.attempt(id, Transition::Deliver, after(100)).await;
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2]);
    fixture.flush().await;
    assert_eq!(
        scene.notification_kinds().await,
        ["delivery.dead", "delivery.requeued", "delivery.delivered"]
    );
}

/// Although it is not due yet.
pub async fn a_failed_row_is_requeued(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    scene.attempt(id, retry_at(after(10_000)), NOW).await;
    let row = done(requeue(&scene, id, Force::No).await);
    assert_eq!(row.next_retry_at, Some(after(100)));
    scene.claimed(id, after(100)).await;
}

/// So a receiver does not get it twice by mistake.
pub async fn a_delivered_row_is_requeued_only_with_force(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.delivered(scene.webhook().await.id).await;
    let before = scene.stored(id).await;
    assert_eq!(requeue(&scene, id, Force::No).await, Requeued::Delivered);
    assert_eq!(scene.stored(id).await, before);
    done(requeue(&scene, id, Force::Delivered).await);
    scene.attempt(id, Transition::Deliver, after(100)).await;
}

/// There is nothing to requeue.
pub async fn a_pending_row_is_not_requeued(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let before = scene.stored(id).await;
    for force in [Force::No, Force::Delivered] {
        assert_eq!(requeue(&scene, id, force).await, Requeued::Pending);
    }
    assert_eq!(scene.stored(id).await, before);
}

/// Otherwise two processes could attempt it.
pub async fn a_row_in_flight_is_not_requeued(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.failed(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, after(95)).await;
    for force in [Force::No, Force::Delivered] {
        assert_eq!(requeue(&scene, id, force).await, Requeued::InFlight);
    }
    assert_eq!(scene.stored(id).await, *claimed.delivery());
}

/// Nothing changes.
pub async fn a_row_of_a_disabled_or_deleted_webhook_is_not_requeued(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    let before = scene.stored(id).await;
    scene.set_status(webhook, WebhookStatus::Disabled).await;
    assert_eq!(
        requeue(&scene, id, Force::No).await,
        Requeued::WebhookDisabled
    );
    scene
        .delete_webhook(&scene.tenant, webhook, NOW)
        .await
        .unwrap();
    assert_eq!(
        requeue(&scene, id, Force::No).await,
        Requeued::WebhookDisabled
    );
    assert_eq!(scene.stored(id).await, before);
}

/// It waits with the other rows.
pub async fn a_requeued_row_of_a_paused_webhook_waits(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    done(requeue(&scene, id, Force::No).await);
    let claim = scene.try_claim(id, after(100)).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog)));
    scene.set_status(webhook, WebhookStatus::Active).await;
    fixture.flush().await;
    scene.claimed(id, after(100)).await;
}

/// Of an unknown event.
pub async fn an_unknown_row_is_missing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = DeliveryId {
        event: scene.event(NOW).id,
        webhook,
    };
    assert_eq!(requeue(&scene, id, Force::No).await, Requeued::Missing);
}

/// An expired lease is not a reason to reject, and its holder is too late.
pub async fn a_claim_from_before_the_requeue_is_stale(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.failed(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, after(60)).await;
    let row = done(requeue(&scene, id, Force::No).await);
    let late = scene
        .finish(&claimed, Transition::Deliver, after(101))
        .await;
    assert_eq!(late, Applied::Stale);
    assert_eq!(scene.stored(id).await, row);
}

async fn requeue(scene: &Scene, id: DeliveryId, force: Force) -> Requeued {
    let requeued = scene.requeue(&scene.tenant, id, force, after(100)).await;
    requeued.unwrap()
}

fn done(requeued: Requeued) -> Delivery {
    match requeued {
        Requeued::Done(row) => *row,
        other => panic!("{other:?}"),
    }
}
