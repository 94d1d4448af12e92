//! Rows of inactive webhooks wait, and none is lost.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status, Unclaimable};
use postrider_domain::health::WebhookStatus;
use postrider_domain::pace::Signal;
use postrider_domain::time::Millis;
use postrider_ports::deliveries::Claim;
use postrider_ports::queue::AttemptMessage;

use super::scene::retry_at;
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

pub async fn rows_accepted_for_a_paused_webhook_are_parked(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for status in [WebhookStatus::Paused, WebhookStatus::Failed] {
        let webhook = scene.webhook().await.id;
        scene.set_status(webhook, status).await;
        let id = scene.row(webhook).await;
        let row = scene.stored(id).await;
        assert!(row.parked && row.lease_owner.is_none());
        let claim = scene.try_claim(id, NOW).await;
        assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Parked)));
    }
}

/// The row was accepted before the pause.
pub async fn a_claim_for_a_paused_webhook_parks_the_row(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for status in [
        WebhookStatus::Paused,
        WebhookStatus::Failed,
        WebhookStatus::Disabled,
    ] {
        let webhook = scene.webhook().await.id;
        let id = scene.row(webhook).await;
        let before = scene.stored(id).await;
        scene.set_status(webhook, status).await;
        let claim = scene.try_claim(id, NOW).await;
        assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Parked)));
        assert_eq!(scene.stored(id).await, before.park());
        fixture.flush().await;
        assert_eq!(scene.backlog(after(60)).await, []);
    }
}

/// And nothing else.
pub async fn release_frees_what_is_parked_for_an_active_webhook(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (resumed, paused) = (scene.webhook().await.id, scene.webhook().await.id);
    for webhook in [resumed, paused] {
        scene.set_status(webhook, WebhookStatus::Paused).await;
    }
    let (freed, kept) = (scene.row(resumed).await, scene.row(paused).await);
    fixture.flush().await;
    assert_eq!(scene.released(100, NOW).await, []);
    scene.set_status(resumed, WebhookStatus::Active).await;
    assert!(
        scene.stored(freed).await.parked,
        "resuming alone frees nothing"
    );
    let before = scene.stored(freed).await;
    fixture.flush().await;
    assert_eq!(scene.released(100, NOW).await, [freed]);
    assert_eq!(scene.stored(freed).await, before.unpark_at(NOW));
    assert!(scene.stored(kept).await.parked);
    fixture.flush().await;
    assert_eq!(scene.released(100, NOW).await, []);
    scene.claimed(freed, NOW).await;
}

/// The longest overdue first.
pub async fn release_respects_its_limit_until_nothing_is_left(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(scene.row_at(webhook, after(n)).await);
    }
    scene.set_status(webhook, WebhookStatus::Active).await;
    for freed in [3, 3, 1, 0] {
        fixture.flush().await;
        assert_eq!(scene.released(3, after(60)).await.len(), freed);
        if freed == 3 {
            assert!(!scene.stored(ids[0]).await.parked);
        }
    }
    for id in ids {
        scene.claimed(id, after(70)).await;
    }
}

/// Unclaimed, failed and parked ones alike.
pub async fn rows_of_a_deleted_webhook_die_when_they_are_claimed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (pending, failed) = (scene.row(webhook).await, scene.failed(webhook).await);
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let parked = scene.row(webhook).await;
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

/// A row that fails during a pause stays open; the next claim parks it; release frees it.
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
    assert_eq!(scene.released(10, after(60)).await, [id]);
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

/// From the slowest rate on, and no further ahead than requested.
pub async fn release_gives_the_turns_of_the_webhooks_rate(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let mut ids = Vec::new();
    for n in 0..9 {
        ids.push(scene.row_at(webhook, after(n)).await);
    }
    scene.set_status(webhook, WebhookStatus::Active).await;
    let release = async |until, now| {
        fixture.flush().await;
        let messages = scene.release(100, until, now).await.unwrap();
        let turns = messages
            .into_iter()
            .map(|message| (message.next_retry_at, message.id));
        turns.collect::<Vec<_>>()
    };
    let probes = (0..3).map(|n| (after(60 + n), ids[usize::try_from(n).unwrap()]));
    assert_eq!(
        release(after(62), after(60)).await,
        probes.collect::<Vec<_>>()
    );
    assert_eq!(release(after(62), after(60)).await, [], "no turn is left");
    for second in 63..80 {
        let fine = scene.report(&scene.tenant, webhook, Signal::Fine, 5, after(second));
        fine.await.unwrap();
    }
    let at = |n: usize| after(80).plus(Millis::new(n as u64 * 200));
    let others = ids[3..].iter().enumerate().map(|(n, id)| (at(n), *id));
    assert_eq!(
        release(after(90), after(80)).await,
        others.collect::<Vec<_>>()
    );
    for id in ids {
        let row = scene.stored(id).await;
        assert!(row.paced && !row.parked);
    }
}

/// Resuming or deleting a webhook processes only its own rows.
pub async fn one_webhooks_release_leaves_the_others_alone(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (resumed, deleted, other) = (
        scene.webhook().await.id,
        scene.webhook().await.id,
        scene.webhook().await.id,
    );
    let mut rows = Vec::new();
    for webhook in [resumed, deleted, other] {
        scene.set_status(webhook, WebhookStatus::Paused).await;
        for n in 0..4 {
            rows.push(scene.row_at(webhook, after(n)).await);
        }
    }
    for webhook in [resumed, other] {
        scene.set_status(webhook, WebhookStatus::Active).await;
    }
    let gone = scene.delete_webhook(&scene.tenant, deleted, NOW).await;
    assert_eq!(gone, Ok(true));
    fixture.flush().await;
    let release = async |webhook, limit| {
        let freed = scene.release_webhook(&scene.tenant, webhook, limit, after(62), after(60));
        let freed = freed.await.unwrap().into_iter();
        let freed = freed.map(|message| (message.next_retry_at, message.id));
        fixture.flush().await;
        freed.collect::<Vec<_>>()
    };
    assert_eq!(release(resumed, 1).await, [(after(60), rows[0])]);
    let others = [(after(61), rows[1]), (after(62), rows[2])];
    assert_eq!(release(resumed, 100).await, others);
    assert_eq!(release(resumed, 100).await, [], "no turn is left");
    let at_once = (0..4).map(|n| (after(n), rows[4 + usize::try_from(n).unwrap()]));
    assert_eq!(release(deleted, 100).await, at_once.collect::<Vec<_>>());
    for id in &rows[8..] {
        assert!(scene.stored(*id).await.parked);
    }
    let elsewhere = Scene::of_tenant(fixture.handle(), "other");
    let freed = elsewhere.release_webhook(&elsewhere.tenant, other, 100, after(62), after(60));
    assert_eq!(freed.await, Ok(Vec::new()));
}

/// They are released to be ended, not sent.
pub async fn a_deleted_webhooks_rows_are_released_without_turns(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    for _ in 0..3 {
        scene.row(webhook).await;
    }
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    fixture.flush().await;
    let messages = scene.release(10, NOW, NOW).await.unwrap();
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| message.next_retry_at == NOW));
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
    scene.set_status(deleted, WebhookStatus::Paused).await;
    let parked = scene.row(deleted).await;
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
