//! The retry rate of a webhook.

use std::collections::HashMap;

use postrider_domain::delivery::Status;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::Millis;
use postrider_gateway::worker::queue::Handled;
use postrider_ports::queue::AttemptMessage;
use postrider_testkit::receiver::Answer;

use crate::stage::Stage;

/// Rows that failed once, and the queue messages of their retries, all due now.
async fn failed_rows(stage: &Stage, webhook: WebhookId, count: usize) -> Vec<AttemptMessage> {
    stage.receiver.answer(Answer::status(500));
    for _ in 0..count {
        stage.publish(webhook).await;
    }
    stage.handle(stage.line.take_attempts()).await;
    let messages = stage.line.take_attempts();
    stage.clock.advance(Millis::from_seconds(30));
    stage.receiver.answer(Answer::status(200));
    messages
}

#[tokio::test]
async fn retries_are_rate_limited_and_each_is_moved_once() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let messages = failed_rows(&stage, webhook, 10).await;
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let handled = stage.handle(messages).await;
    let count = |what| handled.iter().filter(|one| **one == Ok(what)).count();
    assert_eq!(count(Handled::Attempted), 1, "{handled:?}");
    assert_eq!(count(Handled::Postponed), 9);
    let mut moved: HashMap<DeliveryId, usize> = HashMap::new();
    let mut waiting = stage.line.take_attempts();
    waiting.sort_by_key(|message| message.next_retry_at);
    for message in waiting {
        *moved.entry(message.id).or_default() += 1;
        // As late as a queue that rounds delays up.
        stage
            .clock
            .set(message.next_retry_at.plus(Millis::new(950)));
        assert_eq!(stage.handle(vec![message]).await, [Ok(Handled::Attempted)]);
    }
    assert!(
        stage.line.take_attempts().is_empty(),
        "no message is sent again"
    );
    assert!(moved.len() == 9 && moved.values().all(|times| *times == 1));
    for id in ids {
        assert_eq!(stage.row(id).await.status, Status::Delivered);
    }
}

#[tokio::test]
async fn a_queue_that_is_a_little_late_does_not_make_paced_rows_ask_again() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let messages = failed_rows(&stage, webhook, 10).await;
    stage.handle(messages).await;
    let waiting = stage.line.take_attempts();
    stage.clock.advance(Millis::from_seconds(30));
    let handled = stage.handle(waiting).await;
    assert!(
        handled.iter().all(|one| *one == Ok(Handled::Attempted)),
        "{handled:?}"
    );
}

/// All their turns have passed, and they must not go out together. But if they asked again each time, nothing would ever
/// go out while the queue stays late.
#[tokio::test]
async fn rows_whose_turns_passed_in_a_stall_ask_again_once() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let messages = failed_rows(&stage, webhook, 10).await;
    stage.handle(messages).await;
    let waiting = stage.line.take_attempts();
    stage.clock.advance(Millis::from_seconds(600));
    let handled = stage.handle(waiting).await;
    let count = |what| handled.iter().filter(|one| **one == Ok(what)).count();
    assert_eq!(count(Handled::Attempted), 1, "{handled:?}");
    assert_eq!(count(Handled::Postponed), 8);
    let waiting = stage.line.take_attempts();
    assert!(waiting.len() == 8 && waiting.iter().all(|message| message.asked_again));
    stage.clock.advance(Millis::from_seconds(600));
    let handled = stage.handle(waiting).await;
    assert!(
        handled.iter().all(|one| *one == Ok(Handled::Attempted)),
        "{handled:?}"
    );
    assert!(
        stage.line.take_attempts().is_empty(),
        "no message is sent again"
    );
}

#[tokio::test]
async fn first_attempts_are_not_rate_limited() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..10 {
        stage.publish(webhook).await;
    }
    let handled = stage.handle(stage.line.take_attempts()).await;
    assert!(handled.iter().all(|one| *one == Ok(Handled::Attempted)));
    assert_eq!(stage.receiver.requests().len(), 10);
}
