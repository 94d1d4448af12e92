//! Rows of stopped webhooks wait, those of deleted ones die, and none is lost.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status, Unclaimable};
use postrider_domain::health::WebhookStatus;
use postrider_domain::time::Millis;
use postrider_ports::deliveries::Claim;
use postrider_ports::queue::AttemptMessage;

use super::scene::retry_at;
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// Whether it was accepted before or after the webhook was stopped.
pub async fn a_row_of_a_stopped_webhook_cannot_be_claimed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for status in [
        WebhookStatus::Paused,
        WebhookStatus::Failed,
        WebhookStatus::Disabled,
    ] {
        let webhook = scene.webhook().await.id;
        let before = scene.row(webhook).await;
        scene.set_status(webhook, status).await;
        let mut rows = vec![before];
        if status != WebhookStatus::Disabled {
            rows.push(scene.row(webhook).await);
        }
        for id in rows {
            let claim = scene.try_claim(id, NOW).await;
            assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Parked)));
            assert!(scene.stored(id).await.lease_owner.is_none());
        }
        fixture.flush().await;
        assert_eq!(scene.backlog(after(60)).await, []);
    }
}

/// Unclaimed, failed and parked ones alike.
pub async fn rows_of_a_deleted_webhook_die_when_they_are_claimed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (pending, failed) = (scene.row(webhook).await, scene.failed(webhook).await);
    let parked = scene.set_aside_row(webhook).await;
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    let early = scene.try_claim(failed, NOW).await;
    assert!(
        matches!(early, Claim::Unclaimable(Unclaimable::NotDue(_))),
        "it dies when it is due"
    );
    fixture.flush().await;
    assert_eq!(scene.released(10, NOW).await, [parked]);
    for id in [pending, failed, parked] {
        assert!(matches!(
            scene.try_claim(id, after(60)).await,
            Claim::WebhookDeleted
        ));
        let row = scene.stored(id).await;
        assert_eq!(
            (row.status, row.dead_cause),
            (Status::Dead, Some(DeadCause::WebhookDeleted))
        );
        assert!(matches!(
            scene.try_claim(id, after(60)).await,
            Claim::Unclaimable(Unclaimable::Closed)
        ));
    }
    fixture.flush().await;
    let dead = scene.notification_kinds().await;
    let dead = dead.iter().filter(|kind| *kind == "delivery.dead");
    assert_eq!(dead.count(), 3);
}

/// Also one that fails during the pause.
pub async fn no_row_is_stranded_when_a_webhook_is_paused_and_resumed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, NOW).await;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    scene.finish(&claimed, retry_at(after(60)), NOW).await;
    let claim = scene.try_claim(id, after(60)).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Parked)));
    scene.set_status(webhook, WebhookStatus::Active).await;
    fixture.flush().await;
    scene.released(10, after(60)).await;
    fixture.flush().await;
    assert_eq!(scene.backlog(after(61)).await, [(after(60), id)]);
    scene.attempt(id, Transition::Deliver, after(60)).await;
}

/// It does not wait for an operator: the next release gives it a turn, and it is not sent before.
pub async fn a_row_set_aside_is_released_at_a_turn(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (first, failed) = (scene.row(webhook).await, scene.failed(webhook).await);
    let (before, retry) = (scene.stored(first).await, scene.stored(failed).await);
    let messages = vec![AttemptMessage::of(&before), AttemptMessage::of(&retry)];
    scene.set_aside(messages, after(60)).await.unwrap();
    assert_eq!(scene.stored(first).await, before.park());
    assert_eq!(scene.stored(failed).await, retry.park());
    let claim = scene.try_claim(first, after(60)).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Parked)));
    fixture.flush().await;
    assert_eq!(scene.backlog(after(120)).await, []);
    assert_eq!(scene.released(10, after(61)).await, [first, failed]);
    assert_eq!(
        scene.stored(first).await,
        before.park().unpark_at(after(61))
    );
    let turn = after(61).plus(Millis::new(200));
    assert_eq!(scene.stored(failed).await, retry.park().unpark_at(turn));
    scene.claimed(first, after(61)).await;
}

/// Another process holds it, or it is now due at another time.
pub async fn a_held_or_changed_row_is_not_set_aside(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (held, moved, done) = (
        scene.row(webhook).await,
        scene.row(webhook).await,
        scene.row(webhook).await,
    );
    let mut messages = Vec::new();
    for id in [held, moved, done] {
        messages.push(AttemptMessage::of(&scene.stored(id).await));
    }
    scene.claimed(held, NOW).await;
    scene.attempt(moved, retry_at(after(60)), NOW).await;
    scene.attempt(done, Transition::Deliver, NOW).await;
    scene.set_aside(messages, after(1)).await.unwrap();
    for id in [held, moved, done] {
        assert!(!scene.stored(id).await.parked);
    }
}

/// Also rows that are due much later, and parked ones.
pub async fn rows_of_a_deleted_webhook_are_ended(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (deleted, kept) = (scene.webhook().await.id, scene.webhook().await.id);
    let later = scene.row(deleted).await;
    scene.attempt(later, retry_at(after(90_000)), NOW).await;
    let held = scene.row(deleted).await;
    scene.claimed(held, NOW).await;
    let other = scene.row(kept).await;
    let parked = scene.set_aside_row(deleted).await;
    scene
        .delete_webhook(&scene.tenant, deleted, NOW)
        .await
        .unwrap();
    fixture.flush().await;
    let store = &scene.handle.store;
    store.release(10, NOW, NOW).await.unwrap();
    fixture.flush().await;
    assert_eq!(
        store.end_deliveries_of_deleted_webhooks(1, NOW).await,
        Ok(1),
        "no more than its limit"
    );
    assert_eq!(
        store.end_deliveries_of_deleted_webhooks(10, NOW).await,
        Ok(1)
    );
    fixture.flush().await;
    assert_eq!(
        store.end_deliveries_of_deleted_webhooks(10, NOW).await,
        Ok(0)
    );
    for id in [later, parked] {
        let row = scene.stored(id).await;
        assert_eq!(row.status, Status::Dead);
        assert_eq!(row.dead_cause, Some(DeadCause::WebhookDeleted));
    }
    assert!(
        scene.stored(held).await.status.is_open(),
        "it is being attempted"
    );
    assert!(scene.stored(other).await.status.is_open());
}
