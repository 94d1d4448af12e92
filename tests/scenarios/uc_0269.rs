use postrider_domain::delivery::Status;
use postrider_domain::retry::RetrySettings;
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::Answer;

use super::world::World;

#[tokio::test]
async fn webhookrouter_restart_dispatches_past_due_failed_rows() {
    let mut world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let webhook = world.webhook(RetrySettings::default()).await;
    for _ in 0..3 {
        world.publish(webhook.id).await;
    }
    world.receiver.answer(Answer::status(200));
    world.clock.advance(Millis::from_seconds(31));
    world.restart().await;
    let started_at = world.clock.now();
    let first = world.cycle().await;
    assert_eq!(
        first.started, 1,
        "one goes out at once, the others at the retry rate"
    );
    assert_eq!(world.receiver.requests().len(), 4);
    while world.receiver.requests().len() < 6 {
        let next = world
            .cycle()
            .await
            .next_at
            .expect("rows wait for the retry rate");
        world.clock.set(next);
        world.cycle().await;
    }
    assert!(world.clock.now().since(started_at) <= Millis::from_seconds(5));
}

#[tokio::test]
async fn webhookrouter_restart_does_not_re_queue_dead_rows() {
    let mut world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let retry = RetrySettings {
        max_attempts: Some(1),
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await;
    let ids = [
        world.publish(webhook.id).await,
        world.publish(webhook.id).await,
    ];
    let before = [world.row(ids[0]).await, world.row(ids[1]).await];
    assert_eq!(
        before.clone().map(|row| row.status),
        [Status::Dead, Status::Dead]
    );
    world.clock.advance(Millis::from_seconds(86_400));
    world.restart().await;
    let cycle = world.cycle().await;
    assert_eq!((cycle.started, cycle.next_at), (0, None));
    assert_eq!([world.row(ids[0]).await, world.row(ids[1]).await], before);
    assert_eq!(world.receiver.requests().len(), 2);
}

#[tokio::test]
async fn rows_due_later_still_wait_after_a_restart() {
    let mut world = World::new().await;
    world.receiver.answer_next([Answer::status(500)]);
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    let due_at = world.row(id).await.next_retry_at;
    world.restart().await;
    let cycle = world.cycle().await;
    assert_eq!((cycle.started, cycle.next_at), (0, due_at));
    world.next_attempt(id).await;
    assert_eq!(world.row(id).await.status, Status::Delivered);
}

#[tokio::test]
async fn starting_writes_nothing() {
    let mut world = World::new().await;
    world
        .receiver
        .answer_next([500, 500, 200].map(Answer::status));
    let one_attempt = RetrySettings {
        max_attempts: Some(1),
        ..RetrySettings::default()
    };
    let one_attempt = world.webhook(one_attempt).await;
    let dead = world.publish(one_attempt.id).await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let failed = world.publish(webhook.id).await;
    let delivered = world.publish(webhook.id).await;
    world.receiver.hold();
    let in_flight = world.post(webhook.id).await;
    world.receiver.received(4).await;
    let ids = [in_flight, failed, delivered, dead];
    let mut before = Vec::new();
    for id in ids {
        before.push(world.row(id).await);
    }
    let statuses: Vec<_> = before.iter().map(|row| row.status).collect();
    let every_status = [
        Status::Pending,
        Status::Failed,
        Status::Delivered,
        Status::Dead,
    ];
    assert_eq!(statuses, every_status);
    world.restart().await;
    for (id, before) in ids.into_iter().zip(before) {
        assert_eq!(world.row(id).await, before);
    }
}

#[tokio::test]
async fn attempts_in_flight_when_the_process_died_are_repeated_in_the_first_cycle() {
    let mut world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    world.receiver.hold();
    let id = world.post(webhook.id).await;
    world.receiver.received(1).await;
    world.restart().await;
    world.receiver.open();
    assert_eq!(world.cycle().await.started, 1);
    let row = world.row(id).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
    assert_eq!(
        world.receiver.requests().len(),
        2,
        "at most one more than was in flight"
    );
}
