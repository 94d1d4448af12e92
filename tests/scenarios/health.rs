use std::collections::BTreeMap;

use postrider_domain::delivery::{DeadCause, Force, Status};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::retry::{Classifier, Profile, RetrySettings};
use postrider_domain::route::Unroutable;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;
use postrider_ports::clock::Clock;
use postrider_ports::interventions::Requeued;
use postrider_testkit::receiver::Answer;
use serde_json::Value;

use super::world::World;

const SECONDS: fn(u64) -> Millis = Millis::from_seconds;

fn draft(world: &World) -> WebhookDraft {
    WebhookDraft {
        name: "Upload Notifications".into(),
        target_url: world.receiver.url(),
        event_types: vec!["task.*".into()],
        retry_rate: Some(8),
        ..WebhookDraft::default()
    }
}

/// A webhook that fails with its first exhausted delivery, after one retry.
fn fragile(world: &World) -> WebhookDraft {
    WebhookDraft {
        retry: Some(RetrySettings {
            profile: Profile::PublicApi,
            jitter_bps: Some(0),
            max_attempts: Some(2),
            ..RetrySettings::default()
        }),
        ..draft(world)
    }
}

/// A failed webhook with this many deliveries on hold.
async fn failed_with(
    world: &World,
    draft: WebhookDraft,
    waiting: usize,
) -> (WebhookId, Vec<DeliveryId>) {
    world.receiver.answer(Answer::status(500));
    let webhook = world.create(draft).await.id;
    let id = world.publish(webhook).await;
    world.exhaust(id).await;
    assert_eq!(status(world, webhook).await, WebhookStatus::Failed);
    let mut ids = Vec::new();
    for _ in 0..waiting {
        ids.push(world.publish(webhook).await);
    }
    let _ = world.receiver.take_requests();
    (webhook, ids)
}

async fn status(world: &World, webhook: WebhookId) -> WebhookStatus {
    world.hook(webhook).await.health.status
}

async fn are_all(world: &World, ids: &[DeliveryId], status: Status) -> bool {
    for id in ids {
        if world.row(*id).await.status != status {
            return false;
        }
    }
    true
}

fn busiest_second(sent_at: &BTreeMap<Timestamp, usize>) -> usize {
    let second = |at: &Timestamp| sent_at.range(*at..at.plus(SECONDS(1)));
    let counts = sent_at.keys().map(|at| second(at).map(|(_, n)| n).sum());
    counts.max().unwrap_or(0)
}

#[tokio::test]
async fn a_webhook_degrades_fails_is_resumed_and_recovers() {
    let world = World::new().await;
    let retry = RetrySettings {
        profile: Profile::PublicApi,
        jitter_bps: Some(0),
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await.id;
    world.publish(webhook).await;
    world.receiver.answer(Answer::status(500));
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(world.publish(webhook).await);
    }
    assert!(world.hook(webhook).await.health.is_degraded());
    assert_eq!(world.notifications_of("webhook.degraded").await.len(), 1);
    world.pass(SECONDS(7200)).await;
    let health = world.hook(webhook).await.health;
    assert_eq!(health.status, WebhookStatus::Failed);
    let dead = world.notifications_of("delivery.dead").await.len();
    assert!(dead >= 1, "one was exhausted");
    for kind in ["webhook.degraded", "webhook.failed"] {
        assert_eq!(world.notifications_of(kind).await.len(), 1, "{kind}, once");
    }
    ids.push(world.publish(webhook).await);
    world.receiver.answer(Answer::status(200));
    let resumed = world.resume(webhook).await;
    assert_eq!(
        (resumed.health.status, resumed.health.failure_count),
        (WebhookStatus::Active, 0)
    );
    assert_eq!(world.rate(webhook).await, 1000);
    world.pass(SECONDS(60)).await;
    for id in ids {
        assert!(!world.row(id).await.status.is_open());
    }
    for _ in 0..12 {
        world.publish(webhook).await;
        world.pass(SECONDS(2)).await;
    }
    assert!(!world.flow(webhook).await.limited);
    assert_eq!(status(&world, webhook).await, WebhookStatus::Active);
    assert_eq!(world.notifications_of("webhook.failed").await.len(), 1);
    assert_eq!(world.notifications_of("webhook.resumed").await.len(), 1);
}

#[tokio::test]
async fn waiting_deliveries_go_out_slowly_at_first_and_then_as_fast_as_the_receiver_takes_them() {
    let world = World::new().await;
    let (webhook, ids) = failed_with(&world, fragile(&world), 60).await;
    world.receiver.answer(Answer::status(200));
    world.resume(webhook).await;
    assert_eq!(world.rate(webhook).await, 1000);
    let sent_at = world.pass(SECONDS(60)).await;
    assert!(are_all(&world, &ids, Status::Delivered).await);
    let (first, _) = sent_at.first_key_value().unwrap();
    let in_second = |n: u64| {
        let second = sent_at.range(first.plus(SECONDS(n))..first.plus(SECONDS(n + 1)));
        second.map(|(_, count)| count).sum::<usize>()
    };
    assert_eq!([0, 1].map(in_second), [1, 1], "{sent_at:?}");
    for n in 2..10 {
        // A tenth of a second's worth of credit may come on top.
        assert!(in_second(n) <= in_second(n - 1) * 2 + 4, "{sent_at:?}");
    }
}

#[tokio::test]
async fn a_resumed_webhook_whose_receiver_is_still_down_fails_again_and_is_reported_as_repeated() {
    let world = World::new().await;
    let patient = WebhookDraft {
        retry: Some(RetrySettings {
            profile: Profile::PublicApi,
            jitter_bps: Some(0),
            ..RetrySettings::default()
        }),
        ..draft(&world)
    };
    let (webhook, ids) = failed_with(&world, patient, 6).await;
    world.resume(webhook).await;
    world.pass(SECONDS(600)).await;
    assert_eq!(status(&world, webhook).await, WebhookStatus::Failed);
    assert_eq!(world.receiver.requests().len(), 3);
    assert!(are_all(&world, &ids[3..], Status::Pending).await);
    let failed = world.notifications_of("webhook.failed").await;
    let again = failed.iter().map(|one| {
        let event: Value = serde_json::from_str(&one.event).unwrap();
        event["data"]["again"] == true
    });
    assert_eq!(again.collect::<Vec<_>>(), [false, true]);
    world.receiver.answer(Answer::status(200));
    world.resume(webhook).await;
    world.pass(SECONDS(60)).await;
    assert!(
        are_all(&world, &ids, Status::Delivered).await,
        "none is lost"
    );
}

#[tokio::test]
async fn a_single_success_after_a_resume_ends_the_probation() {
    let world = World::new().await;
    let (webhook, _) = failed_with(&world, fragile(&world), 4).await;
    world.receiver.answer_next([Answer::status(200)]);
    world.resume(webhook).await;
    world.pass(SECONDS(4)).await;
    let health = world.hook(webhook).await.health;
    assert!(health.is_degraded() && !health.on_probation, "{health:?}");
}

#[tokio::test]
async fn a_single_failure_limits_nothing() {
    let world = World::new().await;
    for code in [429, 503, 500] {
        let webhook = world.create(draft(&world)).await.id;
        world
            .receiver
            .answer_next([200, code, 200].map(Answer::status));
        for sent in 1..=3 {
            world.publish(webhook).await;
            assert!(!world.flow(webhook).await.limited, "{code} {sent}");
        }
    }
}

#[tokio::test]
async fn a_receiver_that_is_down_is_called_once_or_twice_per_second_until_it_answers() {
    for code in [500, 503, 429] {
        let world = World::new().await;
        let webhook = world.create(draft(&world)).await.id;
        world.receiver.answer(Answer::status(code));
        let mut attempted = 0;
        while !world.flow(webhook).await.limited && attempted < 100 {
            world.clock.advance(Millis::new(50));
            world.publish(webhook).await;
            attempted += 1;
        }
        assert!((4..=10).contains(&attempted), "{code}: {attempted}");
        let before = world.receiver.requests().len();
        for _ in 0..20 {
            world.publish(webhook).await;
        }
        world.pass(SECONDS(4)).await;
        let sent_at = world.pass(SECONDS(6)).await;
        assert!(busiest_second(&sent_at) <= 3, "{code}: {sent_at:?}");
        assert!(world.receiver.requests().len() - before <= 25, "{code}");
    }
}

#[tokio::test]
async fn a_receiver_that_recovers_gets_what_waited_and_is_no_longer_limited() {
    let world = World::new().await;
    let webhook = world.create(draft(&world)).await.id;
    world.receiver.answer(Answer::status(503));
    let mut ids = Vec::new();
    for _ in 0..60 {
        world.clock.advance(Millis::new(50));
        ids.push(world.publish(webhook).await);
    }
    assert!(world.flow(webhook).await.limited);
    world.receiver.answer(Answer::status(200));
    world.pass(SECONDS(90)).await;
    assert!(are_all(&world, &ids, Status::Delivered).await);
    assert!(!world.flow(webhook).await.limited);
    let before = world.receiver.requests().len();
    for _ in 0..10 {
        world.publish(webhook).await;
    }
    assert_eq!(
        world.receiver.requests().len() - before,
        10,
        "first attempts start at once again"
    );
}

/// The document behind `gateway` allows no more.
#[tokio::test]
async fn retries_never_exceed_the_retry_rate_while_other_attempts_may() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await.id;
    let mut ids = Vec::new();
    for _ in 0..100 {
        world.clock.advance(Millis::new(50));
        ids.push(world.publish(webhook).await);
    }
    world.receiver.answer(Answer::status(200));
    world.clock.advance(SECONDS(30));
    let sent_at = world.pass(SECONDS(120)).await;
    assert!(
        busiest_second(&sent_at) > 5,
        "first attempts go faster: {sent_at:?}"
    );
    assert!(are_all(&world, &ids, Status::Delivered).await);
    let retried: Vec<_> = world
        .receiver
        .requests()
        .into_iter()
        .filter(|request| request.header("x-webhook-retry") != "0")
        .collect();
    assert!(
        (9..=12).contains(&retried.len()),
        "the others were held back"
    );
    // One webhook, so the time of arrival tells the rate.
    let arrived = retried
        .iter()
        .map(|request| request.header("webhook-timestamp").to_owned());
    let mut by_second = BTreeMap::<String, usize>::new();
    for second in arrived {
        *by_second.entry(second).or_default() += 1;
    }
    assert!(by_second.values().all(|count| *count <= 5), "{by_second:?}");
}

#[tokio::test]
async fn a_receiver_stops_one_message_with_a_header() {
    let world = World::new().await;
    let webhook = world.create(draft(&world)).await.id;
    let stop = Answer::status(500).header("webhook-delivery", "abort-message");
    world.receiver.answer_next([stop]);
    let row = world.row(world.publish(webhook).await).await;
    assert_eq!(
        (row.status, row.dead_cause, row.attempt_count),
        (Status::Dead, Some(DeadCause::Aborted), 1)
    );
    let dead = world.notifications_of("delivery.dead").await;
    assert!(dead[0].event.contains("receiver said stop"));
    assert_eq!(status(&world, webhook).await, WebhookStatus::Active);
    let next = world.row(world.publish(webhook).await).await;
    assert_eq!(next.status, Status::Delivered);
}

#[tokio::test]
async fn a_receiver_disables_its_webhook_with_a_header() {
    let world = World::new().await;
    let webhook = world.create(draft(&world)).await.id;
    let no_more = Answer::status(503).header("webhook-delivery", "disable");
    world.receiver.answer(no_more);
    let id = world.publish(webhook).await;
    assert_eq!(world.row(id).await.dead_cause, Some(DeadCause::Declined));
    assert_eq!(status(&world, webhook).await, WebhookStatus::Disabled);
    assert_eq!(world.notifications_of("webhook.disabled").await.len(), 1);
    let named = world.try_publish(Some(webhook)).await;
    assert!(
        matches!(named, Err(GatewayError::Unroutable(Unroutable::Disabled))),
        "{named:?}"
    );
    let now = world.clock.now();
    let store = world.store();
    let back = store
        .requeue(&TenantId::default(), id, Force::No, now)
        .await;
    assert_eq!(back, Ok(Requeued::WebhookDisabled));
}

#[tokio::test]
async fn the_header_on_a_successful_response_changes_nothing() {
    let world = World::new().await;
    let webhook = world.create(draft(&world)).await.id;
    let thanks = Answer::status(200).header("webhook-delivery", "disable");
    world.receiver.answer(thanks);
    let row = world.row(world.publish(webhook).await).await;
    assert_eq!(row.status, Status::Delivered);
    assert_eq!(status(&world, webhook).await, WebhookStatus::Active);
}

#[tokio::test]
async fn a_failed_webhook_with_auto_resume_is_probed_and_resumes_automatically() {
    let world = World::new().await;
    let with_auto_resume = WebhookDraft {
        auto_resume: Some(true),
        ..fragile(&world)
    };
    let (webhook, ids) = failed_with(&world, with_auto_resume, 1).await;
    let failed_at = world.clock.now();
    let mut probed_at = Vec::new();
    for _ in 0..500 {
        world.pass(SECONDS(1)).await;
        for request in world.receiver.take_requests() {
            assert_eq!(request.header("x-webhook-event"), "postrider.test");
            assert!(!request.header("webhook-signature").is_empty());
            probed_at.push(world.clock.now().since(failed_at).get() / 60_000);
        }
    }
    assert_eq!(probed_at, [1, 3, 7], "after 1, 2 and 4 minutes");
    let health = world.hook(webhook).await.health;
    assert_eq!((health.status, health.probes), (WebhookStatus::Failed, 3));
    assert!(health.next_probe_at.is_some());
    world.receiver.answer(Answer::status(204));
    world.pass(SECONDS(600)).await;
    assert_eq!(status(&world, webhook).await, WebhookStatus::Active);
    assert!(are_all(&world, &ids, Status::Delivered).await);
    assert_eq!(
        world.receiver.requests().len(),
        2,
        "a probe and the delivery"
    );
    let resumed = world.notifications_of("webhook.resumed").await;
    assert!(resumed[0].event.contains("resumed automatically"));
}

#[tokio::test]
async fn a_failed_webhook_without_auto_resume_is_left_alone() {
    let world = World::new().await;
    let (webhook, _) = failed_with(&world, fragile(&world), 1).await;
    for _ in 0..24 {
        world.clock.advance(SECONDS(3600));
        world.pass(SECONDS(1)).await;
    }
    assert!(world.receiver.requests().is_empty());
    assert_eq!(status(&world, webhook).await, WebhookStatus::Failed);
}

#[tokio::test]
async fn changes_to_schedule_timeout_rate_and_classifier_apply_from_the_next_decision() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await.id;
    let id = world.publish(webhook).await;
    let edit = |draft| WebhookDraft {
        timeout_seconds: Some(1),
        retry_rate: Some(2),
        retry: Some(RetrySettings {
            profile: Profile::Custom,
            delays_seconds: Some(vec![7]),
            jitter_bps: Some(0),
            classifier: Some(Classifier::ByStatus),
            max_attempts: Some(4),
            ..RetrySettings::default()
        }),
        ..draft
    };
    let manage = &world.gateway().manage;
    let tenant = TenantId::default();
    manage.change(&tenant, webhook, edit).await.unwrap();
    assert_eq!(world.rate(webhook).await, 2000);
    assert_eq!(
        world.next_attempt(id).await,
        SECONDS(30),
        "it was decided before"
    );
    assert_eq!(world.next_attempt(id).await, SECONDS(7));
    world.receiver.hold();
    assert_eq!(world.next_attempt(id).await, SECONDS(7));
    let attempts = world.store().attempts(&tenant, id).await.unwrap();
    let error = attempts.last().unwrap().error.as_deref().unwrap();
    assert!(error.starts_with("timeout"), "{error}");
    world.receiver.open();
    world.receiver.answer(Answer::status(404));
    assert_eq!(world.next_attempt(id).await, SECONDS(7));
    let row = world.row(id).await;
    assert_eq!(
        (row.status, row.dead_cause, row.attempt_count),
        (Status::Dead, Some(DeadCause::Rejected), 5)
    );
}
