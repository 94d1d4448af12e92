use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::outcome::Phase;
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::route::Unroutable;
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::{Answer, Receiver};
use tokio::io::AsyncWriteExt;

use super::world::World;

fn public_api() -> RetrySettings {
    RetrySettings {
        profile: Profile::PublicApi,
        jitter_bps: Some(0),
        ..RetrySettings::default()
    }
}

async fn world_with_webhook() -> (World, WebhookId) {
    let world = World::new().await;
    let webhook = world.webhook(public_api()).await.id;
    (world, webhook)
}

async fn exhausted() -> (World, WebhookId, DeliveryId) {
    let (world, webhook) = world_with_webhook().await;
    world.receiver.answer(Answer::status(503));
    let id = world.publish(webhook).await;
    world.exhaust(id).await;
    (world, webhook, id)
}

#[tokio::test]
async fn retries_follow_five_to_the_power_of_n_seconds() {
    let (world, webhook) = world_with_webhook().await;
    world.receiver.answer(Answer::status(500));
    let id = world.publish(webhook).await;
    assert_eq!(
        world.exhaust(id).await,
        [5_000, 25_000, 125_000, 625_000, 3_125_000]
    );
    assert_eq!(world.row(id).await.attempt_count, 6);
}

#[tokio::test]
async fn server_errors_are_retried() {
    let (world, webhook) = world_with_webhook().await;
    for status in [500, 502, 503, 504] {
        world.receiver.answer(Answer::status(status));
        let id = world.publish(webhook).await;
        // After the 503 its attempts are rate limited.
        world.cycle().await;
        let row = world.row(id).await;
        assert_eq!(row.status, Status::Failed, "{status}");
        assert!(row.next_retry_at.is_some(), "{status}");
    }
}

#[tokio::test]
async fn connection_problems_are_retried() {
    let world = World::new().await;
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let refusing = world.webhook_at(&closed, public_api()).await;
    let row = world.row(world.publish(refusing.id).await).await;
    assert_eq!(row.status, Status::Failed);

    let slow = world
        .create(WebhookDraft {
            name: "slow".into(),
            target_url: world.receiver.url(),
            event_types: vec!["*".into()],
            timeout_seconds: Some(1),
            retry: Some(public_api()),
            ..WebhookDraft::default()
        })
        .await;
    world.receiver.hold();
    let row = world.row(world.publish(slow.id).await).await;
    assert_eq!(row.status, Status::Failed);
}

#[tokio::test]
async fn client_errors_are_final() {
    let (world, webhook) = world_with_webhook().await;
    for status in [400, 401, 403, 404, 405] {
        world.receiver.answer(Answer::status(status));
        let row = world.row(world.publish(webhook).await).await;
        assert_eq!(
            (row.status, row.attempt_count),
            (Status::Dead, 1),
            "{status}"
        );
        assert_eq!(row.dead_cause, Some(DeadCause::Rejected));
    }
    assert_eq!(
        world.hook(webhook).await.health.status,
        WebhookStatus::Active
    );
}

#[tokio::test]
async fn redirects_count_as_delivered_and_are_not_followed() {
    let (world, webhook) = world_with_webhook().await;
    let elsewhere = Receiver::start().await;
    world
        .receiver
        .answer(Answer::status(301).header("location", &elsewhere.url()));
    let row = world.row(world.publish(webhook).await).await;
    assert_eq!(row.status, Status::Delivered);
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_malformed_response_is_final() {
    let world = World::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let garbage = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"this is not HTTP at all\r\n\r\n")
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
    });
    let webhook = world.webhook_at(&url, public_api()).await;
    let row = world.row(world.publish(webhook.id).await).await;
    garbage.await.unwrap();
    assert_eq!(
        (row.status, row.attempt_count),
        (Status::Dead, 1),
        "{:?}",
        row.error_detail
    );
}

#[tokio::test]
async fn rate_limited_with_retry_after_waits_as_long_as_requested() {
    let (world, webhook) = world_with_webhook().await;
    world
        .receiver
        .answer(Answer::status(429).header("retry-after", "60"));
    let row = world.row(world.publish(webhook).await).await;
    assert_eq!(
        row.next_retry_at,
        Some(world.clock.now().plus(Millis::from_seconds(60)))
    );
    assert_eq!((row.status, row.attempt_count), (Status::Failed, 1));
}

#[tokio::test]
async fn under_the_profile_standard_retry_after_never_shortens_the_schedule() {
    let world = World::new().await;
    let standard = RetrySettings {
        profile: Profile::Standard,
        ..public_api()
    };
    let webhook = world.webhook(standard).await.id;
    world
        .receiver
        .answer(Answer::status(429).header("retry-after", "7"));
    let id = world.publish(webhook).await;
    let waits: Vec<_> = world.exhaust(id).await.iter().map(|ms| ms / 1000).collect();
    assert_eq!(
        waits,
        [7, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    );
}

#[tokio::test]
async fn gone_disables_the_webhook() {
    let (world, webhook) = world_with_webhook().await;
    world.receiver.answer(Answer::status(410));
    let row = world.row(world.publish(webhook).await).await;
    assert_eq!(
        (row.status, row.dead_cause),
        (Status::Dead, Some(DeadCause::Gone))
    );
    assert_eq!(
        world.hook(webhook).await.health.status,
        WebhookStatus::Disabled
    );
    assert_eq!(world.notifications_of("webhook.disabled").await.len(), 1);
    assert!(world.try_publish(None).await.unwrap().deliveries.is_empty());
    let named = world.try_publish(Some(webhook)).await;
    assert!(
        matches!(named, Err(GatewayError::Unroutable(Unroutable::Disabled))),
        "{named:?}"
    );
}

#[tokio::test]
async fn recent_failures_leave_the_webhook_active_but_degraded() {
    let (world, webhook) = world_with_webhook().await;
    world.receiver.answer(Answer::status(500));
    let id = world.publish(webhook).await;
    world.next_attempt(id).await;
    assert_eq!(world.notifications_of("webhook.degraded").await.len(), 0);
    world.next_attempt(id).await;
    let health = world.hook(webhook).await.health;
    assert_eq!(
        (health.status, health.failure_count),
        (WebhookStatus::Active, 3)
    );
    assert!(health.is_degraded());
    world.next_attempt(id).await;
    assert_eq!(
        world.notifications_of("webhook.degraded").await.len(),
        1,
        "once, not per failure"
    );
    world.receiver.answer(Answer::status(200));
    world.next_attempt(id).await;
    assert_eq!(world.hook(webhook).await.health.failure_count, 0);
}

#[tokio::test]
async fn exhausted_retries_fail_the_webhook_and_later_deliveries_wait() {
    let (world, webhook, _) = exhausted().await;
    let health = world.hook(webhook).await.health;
    assert_eq!(health.status, WebhookStatus::Failed);
    assert!(
        health
            .reason
            .unwrap()
            .to_string()
            .contains("after 5 retries")
    );
    assert_eq!(world.notifications_of("webhook.failed").await.len(), 1);
    let sent = world.receiver.requests().len();
    let waiting = world.publish(webhook).await;
    world.clock.advance(Millis::from_seconds(86_400));
    world.cycle().await;
    assert_eq!(world.row(waiting).await.status, Status::Pending);
    assert_eq!(world.receiver.requests().len(), sent);
}

#[tokio::test]
async fn resuming_a_failed_webhook_sends_its_waiting_deliveries() {
    let (world, webhook, dead) = exhausted().await;
    let waiting = world.publish(webhook).await;
    world.receiver.answer(Answer::status(200));
    let resumed = world
        .gateway()
        .manage
        .resume(&TenantId::default(), webhook)
        .await
        .unwrap();
    assert_eq!(
        (resumed.health.status, resumed.health.failure_count),
        (WebhookStatus::Active, 0)
    );
    world.pass(Millis::from_seconds(5)).await;
    assert_eq!(world.row(waiting).await.status, Status::Delivered);
    assert_eq!(world.row(dead).await.status, Status::Dead);
    assert_eq!(world.notifications_of("webhook.resumed").await.len(), 1);
}

#[tokio::test]
async fn an_attempt_times_out_when_the_receiver_never_responds() {
    let world = World::new().await;
    let webhook = world
        .create(WebhookDraft {
            name: "silent".into(),
            target_url: world.receiver.url(),
            event_types: vec!["*".into()],
            timeout_seconds: Some(1),
            ..WebhookDraft::default()
        })
        .await;
    world.receiver.hold();
    let id = world.publish(webhook.id).await;
    let attempts = world
        .store()
        .attempts(&TenantId::default(), id)
        .await
        .unwrap();
    assert_eq!(attempts[0].phase, Some(Phase::FirstByte));
    assert!(attempts[0].error.as_deref().unwrap().starts_with("timeout"));
}

#[tokio::test]
async fn x_webhook_retry_counts_previous_attempts() {
    let (world, webhook) = world_with_webhook().await;
    world
        .receiver
        .answer_next([Answer::status(500), Answer::status(500)]);
    let id = world.publish(webhook).await;
    world.exhaust(id).await;
    let requests = world.receiver.requests();
    let retries: Vec<_> = requests
        .iter()
        .map(|request| request.header("x-webhook-retry"))
        .collect();
    assert_eq!(retries, ["0", "1", "2"]);
}
