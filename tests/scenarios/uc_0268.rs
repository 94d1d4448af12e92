use postrider_domain::delivery::{Force, Status};
use postrider_domain::ids::TenantId;
use postrider_domain::retry::RetrySettings;
use postrider_domain::signature;
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::Answer;

use super::world::World;

#[tokio::test]
async fn first_delivery_failure_schedules_30_second_retry() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500).body("boom"));
    let webhook = world.webhook(RetrySettings::default()).await;
    let row = world.row(world.publish(webhook.id).await).await;
    assert_eq!((row.status, row.attempt_count), (Status::Failed, 1));
    assert_eq!(
        row.next_retry_at,
        Some(world.clock.now().plus(Millis::from_seconds(30)))
    );
    assert_eq!(row.error_detail.as_deref(), Some("HTTP status 500: boom"));
    assert_eq!(row.last_attempted_at, Some(world.clock.now()));
}

#[tokio::test]
async fn fifth_consecutive_delivery_failure_marks_row_dead_and_emits_webhookdlqevent() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    for _ in 0..3 {
        world.next_attempt(id).await;
    }
    let row = world.row(id).await;
    assert_eq!((row.status, row.attempt_count), (Status::Failed, 4));
    world.next_attempt(id).await;
    let row = world.row(id).await;
    assert_eq!(
        (row.status, row.attempt_count, row.next_retry_at),
        (Status::Dead, 5, None)
    );
    let announced = world.notifications_of("delivery.dead").await;
    assert_eq!(announced.len(), 1);
    let event: serde_json::Value = serde_json::from_str(&announced[0].event).unwrap();
    assert_eq!(event["source"], "gateway:webhooks");
    assert_eq!(event["data"]["name"], "WebhookDLQEvent");
    assert_eq!(event["data"]["webhook_delivery_id"], id.to_string());
    assert_eq!(event["data"]["webhook_id"], webhook.id.to_string());
    assert_eq!(event["data"]["session_id"], "session-1");
}

#[tokio::test]
async fn a_2xx_response_marks_the_row_delivered_and_sends_a_notification() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(204));
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    let row = world.row(id).await;
    assert_eq!(
        (row.status, row.attempt_count, row.next_retry_at),
        (Status::Delivered, 1, None)
    );
    assert_eq!(world.notifications_of("delivery.delivered").await.len(), 1);
    world.clock.advance(Millis::from_seconds(86_400));
    assert_eq!(world.cycle().await.started, 0);
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn the_delays_between_attempts_follow_the_schedule() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    assert_eq!(
        world.exhaust(id).await,
        [30_000, 120_000, 600_000, 3_600_000]
    );
}

#[tokio::test]
async fn six_attempts_use_the_six_hour_delay_of_adr_020() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let retry = RetrySettings {
        max_attempts: Some(6),
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await;
    let id = world.publish(webhook.id).await;
    assert_eq!(
        world.exhaust(id).await,
        [30_000, 120_000, 600_000, 3_600_000, 21_600_000]
    );
}

#[tokio::test]
async fn a_network_error_counts_as_a_failed_attempt() {
    let world = World::new().await;
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let webhook = world.webhook_at(&closed, RetrySettings::default()).await;
    let row = world.row(world.publish(webhook.id).await).await;
    assert_eq!((row.status, row.attempt_count), (Status::Failed, 1));
    let detail = row.error_detail.unwrap();
    assert!(detail.starts_with("connection failed"), "{detail}");
}

#[tokio::test]
async fn a_dead_row_is_not_attempted_again_until_an_operator_retries_it() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    world.exhaust(id).await;
    world.clock.advance(Millis::from_seconds(86_400));
    assert_eq!(world.cycle().await.started, 0);

    world.receiver.answer(Answer::status(200));
    let tenant = TenantId::default();
    let row = world
        .gateway()
        .retries
        .retry_now(&tenant, id, Force::No)
        .await
        .unwrap();
    assert_eq!((row.status, row.attempt_count), (Status::Pending, 0));
    world.cycle().await;
    let row = world.row(id).await;
    assert_eq!(
        (row.status, row.attempt_count, row.attempts_total),
        (Status::Delivered, 1, 6)
    );
    let attempts = world.store().attempts(&tenant, id).await.unwrap();
    let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn every_attempt_carries_the_hmac_of_the_body() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    let request = world.receiver.requests().remove(0);
    assert_eq!(&request.body[..], b"{ \"task\" : 1 }");
    let secret = &webhook.secrets.current;
    let header = request.header("x-observatory-signature");
    assert_eq!(
        signature::verify_plain(header, secret, &request.body),
        Ok(())
    );
    assert_eq!(request.header("x-webhook-signature"), header);
    assert_eq!(world.row(id).await.signature, header);
    assert_eq!(request.header("webhook-id"), id.to_string());
    assert_eq!(request.header("x-webhook-event"), "task.completed");
    assert_eq!(request.header("x-webhook-session"), "session-1");
}
