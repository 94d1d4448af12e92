//! Rows of inactive webhooks wait, and none is lost.

use postrider_domain::delivery::Unclaimable;
use postrider_domain::health::WebhookStatus;
use postrider_domain::pace::{FLOOR_MILLI, Signal};
use postrider_domain::time::Millis;
use postrider_ports::deliveries::Claim;

use super::pacing::{asked, pace};
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

/// However it was stopped; turns already given remain valid.
pub async fn a_resumed_webhook_starts_at_the_slowest_rate(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for status in [WebhookStatus::Paused, WebhookStatus::Failed] {
        let webhook = scene.webhook().await.id;
        let taken = scene.reserve(&scene.tenant, webhook, asked(2, 1), NOW);
        taken.await.unwrap();
        scene.set_status(webhook, status).await;
        assert_eq!(pace(&scene, webhook).await.slowed, None);
        scene.set_status(webhook, WebhookStatus::Active).await;
        assert_eq!(pace(&scene, webhook).await.rate_milli(8), FLOOR_MILLI);
        let given = scene.reserve(&scene.tenant, webhook, asked(1, 8), NOW);
        assert_eq!(given.await.unwrap().turns, [after(2)]);
    }
}
