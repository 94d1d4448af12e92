//! Rows of stopped webhooks wait, those of deleted ones die, and none is lost.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status, Unclaimable};
use postrider_domain::health::WebhookStatus;
use postrider_ports::deliveries::Claim;

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
            assert!(matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog)));
            assert!(scene.stored(id).await.lease_owner.is_none());
        }
        fixture.flush().await;
        assert_eq!(scene.backlog(after(60)).await, []);
    }
}

/// Unclaimed and failed ones alike.
pub async fn rows_of_a_deleted_webhook_die_when_they_are_claimed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (pending, failed) = (scene.row(webhook).await, scene.failed(webhook).await);
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    let early = scene.try_claim(failed, NOW).await;
    assert!(
        matches!(early, Claim::Unclaimable(Unclaimable::NotDue(_))),
        "it dies when it is due"
    );
    fixture.flush().await;
    for id in [pending, failed] {
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
    assert_eq!(dead.count(), 2);
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
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog)));
    scene.set_status(webhook, WebhookStatus::Active).await;
    fixture.flush().await;
    scene.attempt(id, Transition::Deliver, after(60)).await;
}

/// Also rows that are due much later, and those that waited for a resume.
pub async fn rows_of_a_deleted_webhook_are_ended(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (deleted, kept) = (scene.webhook().await.id, scene.webhook().await.id);
    let later = scene.row(deleted).await;
    scene.attempt(later, retry_at(after(90_000)), NOW).await;
    let held = scene.row(deleted).await;
    scene.claimed(held, NOW).await;
    let other = scene.row(kept).await;
    scene.set_status(deleted, WebhookStatus::Paused).await;
    let waiting = scene.row(deleted).await;
    scene
        .delete_webhook(&scene.tenant, deleted, NOW)
        .await
        .unwrap();
    fixture.flush().await;
    let store = &scene.handle.store;
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
    for id in [later, waiting] {
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
