//! Probes of failed webhooks.

use std::sync::Arc;

use postrider_domain::delivery::DeadCause;
use postrider_domain::flow::FLOOR_MILLI;
use postrider_domain::health::{Health, StatusReason, WebhookStatus};
use postrider_domain::ids::WebhookId;
use postrider_domain::time::Timestamp;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::scene::die;
use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

/// A webhook that failed at [`NOW`], with or without `auto_resume`.
async fn failed(fixture: &impl Fixture, scene: &Scene, auto_resume: bool) -> WebhookId {
    let mut webhook = builders::webhook(&scene.tenant, scene.draw());
    webhook.settings.auto_resume = auto_resume;
    let id = webhook.id;
    scene.create_webhook(webhook).await.unwrap();
    let row = scene.row(id).await;
    let exhausted = die(DeadCause::ExhaustedFailingWebhook);
    scene.attempt(row, exhausted, NOW).await;
    fixture.flush().await;
    assert_eq!(scene.health(id).await.status, WebhookStatus::Failed);
    id
}

async fn due(scene: &Scene, now: Timestamp) -> Vec<WebhookId> {
    let due = scene.probes_due(100, now).await.unwrap();
    let ours = due
        .into_iter()
        .filter(|(tenant, _)| *tenant == scene.tenant);
    ours.map(|(_, id)| id).collect()
}

/// After 1, 2, 4 … minutes, at most an hour, and not forever.
pub async fn a_failed_webhook_is_probed_less_and_less_often(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed(&fixture, &scene, true).await;
    assert_eq!(due(&scene, after(59)).await, []);
    let (mut waits, mut now) = (Vec::new(), NOW);
    while let Some(next) = scene.health(webhook).await.next_probe_at {
        waits.push(next.since(now).get() / 60_000);
        now = next;
        if waits.len() < 9 {
            assert_eq!(due(&scene, now).await, [webhook]);
        }
        let begun = scene
            .begin_probe(&scene.tenant, webhook, now)
            .await
            .unwrap();
        let begun = begun.expect("it is due");
        assert_eq!(begun, scene.health(webhook).await);
        assert_eq!(begun.probes as usize, waits.len());
    }
    assert_eq!(waits[..8], [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(waits.len(), 173, "about a week of them");
    assert_eq!(due(&scene, now.plus(after(86_400).since(NOW))).await, []);
}

/// For the others it is no longer due.
pub async fn one_of_many_processes_sends_the_probe(fixture: impl Fixture) {
    const TESTERS: usize = 8;
    let scene = Arc::new(Scene::of(fixture.handle()));
    let webhook = failed(&fixture, &scene, true).await;
    let barrier = Arc::new(Barrier::new(TESTERS));
    let mut testers = JoinSet::new();
    for _ in 0..TESTERS {
        let (scene, barrier) = (scene.clone(), barrier.clone());
        testers.spawn(async move {
            barrier.wait().await;
            let begun = scene.begin_probe(&scene.tenant, webhook, after(60)).await;
            begun.unwrap()
        });
    }
    let begun = testers.join_all().await;
    assert_eq!(begun.iter().flatten().count(), 1);
}

/// The gateway could not send it.
pub async fn a_probe_that_is_given_back_does_not_count(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed(&fixture, &scene, true).await;
    let tenant = &scene.tenant;
    let before = scene.health(webhook).await;
    let begun = scene.begin_probe(tenant, webhook, after(60)).await;
    let begun = begun.unwrap().unwrap();
    let give_back = |probes| scene.give_back_probe(tenant, webhook, probes, after(61));
    give_back(begun.probes + 1).await.unwrap();
    assert_eq!(scene.health(webhook).await, begun, "not the last probe");
    give_back(begun.probes).await.unwrap();
    let given_back = Health {
        next_probe_at: Some(after(61)),
        ..before
    };
    assert_eq!(scene.health(webhook).await, given_back);
    assert_eq!(due(&scene, after(61)).await, [webhook]);
    let again = scene.begin_probe(tenant, webhook, after(61)).await;
    assert_eq!(again.unwrap().unwrap().probes, begun.probes);
}

/// Although the store had already put the webhook aside.
pub async fn the_last_probe_is_due_again_if_it_is_given_back(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed(&fixture, &scene, true).await;
    let (tenant, mut now) = (&scene.tenant, NOW);
    let mut probes = 0;
    while let Some(next) = scene.health(webhook).await.next_probe_at {
        now = next;
        let begun = scene.begin_probe(tenant, webhook, now).await;
        probes = begun.unwrap().unwrap().probes;
    }
    assert_eq!(due(&scene, now).await, []);
    let given_back = scene.give_back_probe(tenant, webhook, probes, now);
    given_back.await.unwrap();
    assert_eq!(due(&scene, now).await, [webhook]);
}

/// If `auto_resume` is turned on later, the webhook is probed at once.
pub async fn a_webhook_without_auto_resume_is_not_probed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (quiet, tested) = (
        failed(&fixture, &scene, false).await,
        failed(&fixture, &scene, true).await,
    );
    assert_eq!(due(&scene, after(60)).await, [tested]);
    let found = scene.handle.store.webhook(&scene.tenant, quiet).await;
    let webhook = found.unwrap().unwrap();
    let mut settings = webhook.settings;
    settings.auto_resume = true;
    let change = postrider_ports::configs::WebhookChange {
        seen: webhook.updated_at,
        settings,
        secrets: webhook.secrets,
        updated_at: after(1),
    };
    let changed = scene.change_webhook(&scene.tenant, quiet, change);
    changed.await.unwrap();
    assert_eq!(due(&scene, after(60)).await.len(), 2);
}

/// As if an operator had resumed it: at the slowest rate, on probation, with a notification, and its rows can be claimed.
pub async fn a_successful_probe_resumes_the_webhook(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed(&fixture, &scene, true).await;
    let waiting = scene.row(webhook).await;
    let begun = scene.begin_probe(&scene.tenant, webhook, after(60)).await;
    let generation = begun.unwrap().unwrap().generation;
    let passed = scene.probe_passed(&scene.tenant, webhook, generation, after(61));
    passed.await.unwrap();
    fixture.flush().await;
    let health = scene.health(webhook).await;
    assert_eq!(
        (health.status, health.failure_count, health.generation),
        (WebhookStatus::Active, 0, generation + 1)
    );
    assert!(health.on_probation && health.next_probe_at.is_none());
    assert_eq!(health.reason, Some(StatusReason::AutoResumed));
    let limiter = scene.limiter(webhook).await;
    assert!(limiter.limited && limiter.rate_milli == FLOOR_MILLI);
    let kinds = scene.notification_kinds().await;
    assert_eq!(kinds.last().map(String::as_str), Some("webhook.resumed"));
    scene.claimed(waiting, after(61)).await;
    assert_eq!(due(&scene, after(10_000)).await, []);
}

/// An operator paused the webhook, or resumed it and it failed again: the response is outdated.
pub async fn a_probe_from_before_an_operator_intervened_does_not_count(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed(&fixture, &scene, true).await;
    let begun = scene.begin_probe(&scene.tenant, webhook, after(60)).await;
    let generation = begun.unwrap().unwrap().generation;
    for status in [
        WebhookStatus::Paused,
        WebhookStatus::Disabled,
        WebhookStatus::Failed,
    ] {
        scene.set_status(webhook, status).await;
        let passed = scene.probe_passed(&scene.tenant, webhook, generation, after(61));
        passed.await.unwrap();
        fixture.flush().await;
        assert_eq!(scene.health(webhook).await.status, status);
    }
}

/// And the next one is due at its usual time.
pub async fn a_probe_dated_by_a_clock_that_ran_ahead_is_due(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed(&fixture, &scene, true).await;
    let ahead = scene
        .begin_probe(&scene.tenant, webhook, after(86_400))
        .await;
    assert!(ahead.unwrap().is_some());
    assert_eq!(due(&scene, after(60)).await, [webhook]);
    let begun = scene
        .begin_probe(&scene.tenant, webhook, after(60))
        .await
        .unwrap();
    let begun = begun.expect("it is due");
    assert_eq!(begun.next_probe_at, Some(after(60 + 240)));
    assert_eq!(due(&scene, after(299)).await, []);
}
