//! How attempts change the state of their webhook.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status, Unclaimable};
use postrider_domain::health::{StatusReason, WebhookStatus};
use postrider_domain::ids::WebhookId;
use postrider_ports::deliveries::{Accepted, Applied, Claim};

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{NOW, after, completion};

/// Whichever delivery they belong to.
pub async fn failures_are_counted_and_a_delivery_clears_them(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.failed(webhook).await;
    scene.dead(webhook).await;
    fixture.flush().await;
    let health = scene.health(webhook).await;
    assert_eq!((health.failure_count, health.is_degraded()), (2, true));
    scene.delivered(webhook).await;
    fixture.flush().await;
    assert_eq!(scene.health(webhook).await.failure_count, 0);
}

/// Not at the fourth failure; again after a success.
pub async fn three_failures_are_notified_once(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let warnings = async || {
        fixture.flush().await;
        let kinds = scene.notification_kinds().await;
        kinds
            .iter()
            .filter(|kind| *kind == "webhook.degraded")
            .count()
    };
    for expected in [0, 0, 1, 1, 1] {
        scene.failed(webhook).await;
        assert_eq!(warnings().await, expected);
    }
    scene.delivered(webhook).await;
    for expected in [1, 1, 2] {
        scene.failed(webhook).await;
        assert_eq!(warnings().await, expected);
    }
}

/// It waits for an operator, and so do new rows.
pub async fn exhaustion_fails_the_webhook_when_its_policy_says_so(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.dead(webhook).await;
    fixture.flush().await;
    assert_eq!(scene.health(webhook).await.status, WebhookStatus::Active);
    let id = scene.row(webhook).await;
    let exhausted = die(DeadCause::ExhaustedFailingWebhook);
    let row = scene.attempt(id, exhausted, after(9)).await;
    assert_eq!(row.status, Status::Dead);
    fixture.flush().await;
    let health = scene.health(webhook).await;
    assert_eq!(
        (health.status, health.changed_at),
        (WebhookStatus::Failed, Some(after(9)))
    );
    // Notifications carry it, so it must not contain the response body, which can be anything.
    let reason = StatusReason::Exhausted {
        retries: 0,
        error: "HTTP status 500".to_owned(),
    };
    assert_eq!(health.reason, Some(reason));
    let kinds = scene.notification_kinds().await;
    assert_eq!(kinds.last().map(String::as_str), Some("webhook.failed"));
    let waiting = scene.row(webhook).await;
    let claim = scene.try_claim(waiting, after(9)).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog)));
}

/// A 410 under the classifier that handles it.
pub async fn a_receiver_that_is_gone_disables_the_webhook(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    scene.attempt(id, die(DeadCause::Gone), NOW).await;
    fixture.flush().await;
    assert_eq!(scene.health(webhook).await.status, WebhookStatus::Disabled);
    assert_eq!(
        scene.notification_kinds().await,
        ["delivery.dead", "webhook.disabled"]
    );
}

/// The attempt saw an older generation of the webhook's state, so it does not count.
pub async fn an_attempt_from_before_a_resume_does_not_undo_it(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (slow, quick) = (scene.row(webhook).await, scene.row(webhook).await);
    let slow = scene.claimed(slow, NOW).await;
    scene
        .attempt(quick, die(DeadCause::ExhaustedFailingWebhook), NOW)
        .await;
    fixture.flush().await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    let late = scene
        .finish(&slow, die(DeadCause::ExhaustedFailingWebhook), after(5))
        .await;
    assert!(matches!(late, Applied::Done(_)));
    fixture.flush().await;
    let health = scene.health(webhook).await;
    assert_eq!(
        (health.status, health.failure_count, health.generation),
        (WebhookStatus::Active, 0, 1)
    );
    // One that saw the new generation counts.
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, after(6)).await;
    let mut done = completion(&claimed, die(DeadCause::ExhaustedFailingWebhook), after(6));
    done.generation = 1;
    scene.apply(&claimed, done, after(6)).await.unwrap();
    fixture.flush().await;
    assert_eq!(scene.health(webhook).await.status, WebhookStatus::Failed);
}

/// An attempt that saw the state of this generation.
async fn attempt(scene: &Scene, webhook: WebhookId, transition: Transition, generation: u32) {
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, NOW).await;
    let mut done = completion(&claimed, transition, NOW);
    done.generation = generation;
    let applied = scene.apply(&claimed, done, NOW).await.unwrap();
    assert!(matches!(applied, Applied::Done(_)));
}

async fn failed_and_resumed(fixture: &impl Fixture, scene: &Scene) -> WebhookId {
    let webhook = scene.webhook().await.id;
    let exhausted = die(DeadCause::ExhaustedFailingWebhook);
    attempt(scene, webhook, exhausted, 0).await;
    fixture.flush().await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    assert!(scene.health(webhook).await.on_probation);
    webhook
}

async fn failures_marked_as_again(scene: &Scene) -> Vec<bool> {
    let notifications = scene.notifications().await.into_iter();
    let failures = notifications.filter(|one| one.kind == "webhook.failed");
    let again = |event: &str| serde_json::from_str::<serde_json::Value>(event).unwrap();
    let again = failures.map(|one| again(&one.event)["data"]["again"] == true);
    again.collect()
}

/// Whatever its policy says about exhaustion. The notification says so, so the owner gets no second e-mail.
pub async fn a_resumed_webhook_that_keeps_failing_is_failed_again(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed_and_resumed(&fixture, &scene).await;
    for expected in [
        WebhookStatus::Active,
        WebhookStatus::Active,
        WebhookStatus::Failed,
    ] {
        attempt(&scene, webhook, retry_at(after(60)), 1).await;
        fixture.flush().await;
        assert_eq!(scene.health(webhook).await.status, expected);
    }
    let health = scene.health(webhook).await;
    assert!(!health.on_probation);
    let error = "HTTP status 500".to_owned();
    let reason = StatusReason::FailedAfterResume { error };
    assert_eq!(health.reason, Some(reason));
    assert_eq!(failures_marked_as_again(&scene).await, [false, true]);
    let kinds = scene.notification_kinds().await;
    assert!(!kinds.contains(&"webhook.degraded".to_owned()), "{kinds:?}");
}

/// After it, three failures are a warning, as for any webhook.
pub async fn a_delivery_ends_the_probation(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = failed_and_resumed(&fixture, &scene).await;
    attempt(&scene, webhook, retry_at(after(60)), 1).await;
    attempt(&scene, webhook, Transition::Deliver, 1).await;
    for _ in 0..3 {
        attempt(&scene, webhook, retry_at(after(60)), 1).await;
    }
    fixture.flush().await;
    let health = scene.health(webhook).await;
    assert_eq!(
        (health.status, health.failure_count, health.on_probation),
        (WebhookStatus::Active, 3, false)
    );
    let kinds = scene.notification_kinds().await;
    assert_eq!(kinds.last().map(String::as_str), Some("webhook.degraded"));
    let exhausted = die(DeadCause::ExhaustedFailingWebhook);
    attempt(&scene, webhook, exhausted, 1).await;
    fixture.flush().await;
    assert_eq!(failures_marked_as_again(&scene).await, [false, false]);
}

/// One that stops only a single delivery does not.
pub async fn a_receiver_can_disable_the_webhook(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    attempt(&scene, webhook, die(DeadCause::Aborted), 0).await;
    fixture.flush().await;
    assert_eq!(scene.health(webhook).await.status, WebhookStatus::Active);
    attempt(&scene, webhook, die(DeadCause::Declined), 0).await;
    fixture.flush().await;
    let health = scene.health(webhook).await;
    assert_eq!(health.status, WebhookStatus::Disabled);
    assert_eq!(health.reason, Some(StatusReason::Declined));
}

/// The row is still written, counted and notified.
pub async fn a_deleted_webhook_has_no_state_to_change(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (a, b) = (scene.row(webhook).await, scene.row(webhook).await);
    let (a, b) = (scene.claimed(a, NOW).await, scene.claimed(b, NOW).await);
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    let version = scene.version().await;
    let gone = scene.finish(&a, die(DeadCause::Gone), NOW).await;
    assert!(matches!(gone, Applied::Done(row) if row.status == Status::Dead));
    let delivered = scene.finish(&b, Transition::Deliver, NOW).await;
    assert!(matches!(delivered, Applied::Done(_)));
    fixture.flush().await;
    assert_eq!(
        scene.notification_kinds().await,
        ["delivery.dead", "delivery.delivered"]
    );
    assert_eq!(scene.version().await, version);
    let found = scene.handle.store.webhook(&scene.tenant, webhook).await;
    assert_eq!(found, Ok(None));
    // An earlier plan is outdated, so no new row is created for it.
    let acceptance = crate::builders::acceptance(scene.event(NOW), &[webhook], version - 1);
    let accepted = scene.accept_one(acceptance).await.unwrap();
    assert!(matches!(accepted, Accepted::Outdated));
}
