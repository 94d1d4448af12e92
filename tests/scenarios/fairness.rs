use std::collections::BTreeMap;

use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::ids::TenantId;
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::signature::{SignedRequest, verify_standard};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::settings::WorkerSettings;
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::{Answer, Receiver};

use super::world::World;

fn assert_rate(sent_at: &BTreeMap<Timestamp, usize>, per_second: usize) {
    for at in sent_at.keys() {
        let second = sent_at.range(*at..at.plus(Millis::from_seconds(1)));
        assert!(
            second.map(|(_, count)| count).sum::<usize>() <= per_second,
            "{sent_at:?}"
        );
    }
}

#[tokio::test]
async fn retries_of_one_webhook_are_limited_to_its_retry_rate() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let mut before = Vec::new();
    for _ in 0..9 {
        let id = world.publish(webhook.id).await;
        before.push(world.row(id).await);
    }
    world.receiver.answer(Answer::status(200));
    world.clock.advance(Millis::from_seconds(30));
    assert_eq!(world.cycle().await.started, 1);
    let waiting = before.iter().skip(1);
    for row in waiting {
        assert_eq!(
            world.row(row.id).await,
            *row,
            "a row that waits is not written to"
        );
    }
    let sent_at = world.pass(Millis::from_seconds(5)).await;
    assert_eq!(sent_at.values().sum::<usize>(), 8);
    assert_rate(&sent_at, 5);
    for row in before {
        assert_eq!(world.row(row.id).await.status, Status::Delivered);
    }
}

#[tokio::test]
async fn first_attempts_are_not_limited_by_the_retry_rate() {
    let world = World::new().await;
    let webhook = world
        .create(WebhookDraft {
            name: "strict".into(),
            target_url: world.receiver.url(),
            event_types: vec!["*".into()],
            retry_rate: Some(1),
            ..WebhookDraft::default()
        })
        .await;
    for _ in 0..20 {
        world.post(webhook.id).await;
    }
    world.idle().await;
    assert_eq!(world.receiver.requests().len(), 20);
}

#[tokio::test]
async fn all_attempts_of_a_webhook_keep_to_its_max_rate() {
    let world = World::new().await;
    let webhook = world
        .create(WebhookDraft {
            name: "strict".into(),
            target_url: world.receiver.url(),
            event_types: vec!["*".into()],
            retry_rate: Some(10),
            max_rate: Some(10),
            ..WebhookDraft::default()
        })
        .await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(world.post(webhook.id).await);
    }
    world.receiver.answer(Answer::status(500));
    let mut sent_at = world.pass(Millis::new(950)).await;
    world.receiver.answer(Answer::status(200));
    assert_eq!(sent_at.values().sum::<usize>(), 10);
    for (n, id) in ids.iter().enumerate() {
        let is_attempted = world.row(*id).await.attempts_total > 0;
        assert_eq!(is_attempted, n < 10, "the oldest go first: {n}");
    }
    for (at, count) in world.pass(Millis::from_seconds(40)).await {
        *sent_at.entry(at).or_default() += count;
    }
    assert_eq!(sent_at.values().sum::<usize>(), 40);
    assert_rate(&sent_at, 11);
    for id in ids {
        assert_eq!(world.row(id).await.status, Status::Delivered);
    }
}

#[tokio::test]
async fn a_webhook_never_has_more_attempts_in_flight_than_its_max_in_flight() {
    let world = World::new().await;
    let webhook = world
        .create(WebhookDraft {
            name: "narrow".into(),
            target_url: world.receiver.url(),
            event_types: vec!["*".into()],
            max_in_flight: Some(2),
            ..WebhookDraft::default()
        })
        .await;
    world.receiver.hold();
    for _ in 0..10 {
        world.post(webhook.id).await;
        world.begin_cycle().await;
    }
    world.receiver.received(2).await;
    assert_eq!(world.begin_cycle().await.started, 0);
    assert_eq!(world.receiver.requests().len(), 2);
    world.receiver.open();
    world.idle().await;
    loop {
        let started = world.cycle().await.started;
        assert!(started <= 2, "{started}");
        if started == 0 {
            break;
        }
    }
    assert_eq!(world.receiver.requests().len(), 10);
}

#[tokio::test]
async fn a_receiver_that_hangs_does_not_delay_the_others() {
    let bound = WorkerSettings {
        per_webhook: 4,
        total: 64,
        ..WorkerSettings::default()
    };
    let world = World::with(bound).await;
    let hanging = world.webhook(RetrySettings::default()).await;
    let well = Receiver::start().await;
    let other = world
        .webhook_at(&well.url(), RetrySettings::default())
        .await;
    world.receiver.hold();
    for _ in 0..20 {
        world.post(hanging.id).await;
    }
    world.begin_cycle().await;
    world.receiver.received(4).await;
    for n in 1..=5 {
        world.post(other.id).await;
        world.begin_cycle().await;
        well.received(n).await;
    }
    assert_eq!(
        world.receiver.requests().len(),
        4,
        "no more than the limit are in flight"
    );
    world.receiver.open();
    world.idle().await;
    while world.cycle().await.started > 0 {}
    assert_eq!(world.receiver.requests().len(), 20);
}

#[tokio::test]
async fn a_paused_webhook_holds_its_deliveries_and_sends_them_when_resumed() {
    let world = World::new().await;
    let tenant = TenantId::default();
    let webhook = world.webhook(RetrySettings::default()).await;
    world
        .gateway()
        .manage
        .pause(&tenant, webhook.id)
        .await
        .unwrap();
    for _ in 0..3 {
        world.publish(webhook.id).await;
    }
    world.cycle().await;
    world.sweep().await;
    world.cycle().await;
    assert!(world.receiver.requests().is_empty());
    world
        .gateway()
        .manage
        .resume(&tenant, webhook.id)
        .await
        .unwrap();
    world.pass(Millis::from_seconds(5)).await;
    assert_eq!(world.receiver.requests().len(), 3);
}

#[tokio::test]
async fn deleting_a_webhook_ends_its_open_deliveries() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    world
        .gateway()
        .manage
        .delete(&TenantId::default(), webhook.id)
        .await
        .unwrap();
    let row = world.row(id).await;
    assert_eq!(
        (row.status, row.dead_cause),
        (Status::Dead, Some(DeadCause::WebhookDeleted))
    );
    let announced = world.notifications_of("delivery.dead").await;
    assert!(announced[0].event.contains("webhook deleted"));
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn changes_to_a_webhook_apply_from_the_next_attempt() {
    let world = World::new().await;
    let tenant = TenantId::default();
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    let elsewhere = Receiver::start().await;
    let manage = &world.gateway().manage;
    let url = elsewhere.url();
    let edit = |draft| WebhookDraft {
        target_url: url.clone(),
        ..draft
    };
    manage.change(&tenant, webhook.id, edit).await.unwrap();
    let rotated = manage
        .rotate_secret(&tenant, webhook.id, None)
        .await
        .unwrap();
    world.next_attempt(id).await;
    let request = elsewhere.requests().remove(0);
    for secret in [&webhook.secrets.current, &rotated.secret] {
        let signed = SignedRequest {
            id: request.header("webhook-id"),
            timestamp: request.header("webhook-timestamp"),
            signatures: request.header("webhook-signature"),
            body: &request.body,
        };
        assert_eq!(
            verify_standard(signed, std::iter::once(secret), world.clock.now()),
            Ok(())
        );
    }
    assert_eq!(world.row(id).await.target_url, elsewhere.url());
}

#[tokio::test]
async fn the_gateway_wakes_when_a_row_is_due_not_only_when_it_polls() {
    let poll_interval = Millis::from_seconds(60);
    let world = World::with(WorkerSettings {
        poll_interval,
        ..WorkerSettings::default()
    })
    .await;
    let running = world.run();
    world.receiver.answer_next([Answer::status(500)]);
    let retry = RetrySettings {
        profile: Profile::Custom,
        delays_seconds: Some(vec![10]),
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await;
    let id = world.publish(webhook.id).await;
    assert_eq!(world.row(id).await.status, Status::Failed);
    world.clock.advance(Millis::from_seconds(10));
    world.receiver.received(2).await;
    world.idle().await;
    assert_eq!(world.row(id).await.status, Status::Delivered);
    running.abort();
}

#[tokio::test]
async fn retries_that_were_due_during_a_pause_are_still_rate_limited() {
    let world = World::new().await;
    let tenant = TenantId::default();
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    for _ in 0..8 {
        world.publish(webhook.id).await;
    }
    world.receiver.answer(Answer::status(200));
    world.clock.advance(Millis::from_seconds(30));
    assert_eq!(world.cycle().await.started, 1);
    world
        .gateway()
        .manage
        .pause(&tenant, webhook.id)
        .await
        .unwrap();
    world.clock.advance(Millis::from_seconds(60));
    world.cycle().await;
    world
        .gateway()
        .manage
        .resume(&tenant, webhook.id)
        .await
        .unwrap();
    let sent_at = world.pass(Millis::from_seconds(30)).await;
    assert_eq!(sent_at.values().sum::<usize>(), 7);
    assert_rate(&sent_at, 5);
}

#[tokio::test]
async fn a_clock_jump_does_not_start_a_second_attempt_alongside_the_first() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    world.receiver.hold();
    let id = world.post(webhook.id).await;
    world.receiver.received(1).await;
    world.clock.jump(Millis::from_seconds(600));
    assert_eq!(world.begin_cycle().await.started, 0);
    world.receiver.open();
    world.idle().await;
    assert_eq!(world.receiver.requests().len(), 1);
    assert_eq!(world.row(id).await.status, Status::Delivered);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hold_up_the_rows_behind_it() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.publish(webhook.id).await);
        world.clock.advance(Millis::new(1));
    }
    let spoil = "UPDATE webhook_deliveries SET event_type = '' WHERE event_id = ?1";
    let spoiled = world.database().execute(spoil, [ids[0].event.to_string()]);
    assert_eq!(spoiled, Ok(1));
    world.receiver.answer(Answer::status(200));
    world.clock.advance(Millis::from_seconds(30));
    world.pass(Millis::from_seconds(10)).await;
    for id in &ids[1..] {
        assert_eq!(world.row(*id).await.status, Status::Delivered);
    }
}
