//! Which rows the poller finds.

use postrider_domain::time::Millis;
use postrider_gateway::poll::Ended;
use postrider_gateway::worker::queue::Handled;
use postrider_ports::queue::{AttemptMessage, QueueMessage};
use postrider_testkit::receiver::Answer;

use crate::stage::Stage;

const SECONDS: fn(u64) -> Millis = Millis::from_seconds;

#[tokio::test]
async fn a_lost_message_is_sent_again_after_its_grace() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    stage.line.take();
    stage.clock.advance(SECONDS(180));
    let ticked = stage.tick().await;
    assert_eq!((ticked.messages_sent, ticked.ended), (0, Ended::Complete));
    assert_eq!(ticked.oldest_due_age, Millis::ZERO);
    stage.clock.advance(SECONDS(60));
    let ticked = stage.tick().await;
    assert_eq!(ticked.messages_sent, 1);
    assert_eq!(ticked.oldest_due_age, SECONDS(240));
    let found = stage.line.take();
    let message = AttemptMessage {
        fresh: false,
        ..AttemptMessage::of(&stage.row(id).await)
    };
    assert_eq!(found, [QueueMessage::Attempt(message)]);
    assert_eq!(stage.handle(found).await, [Ok(Handled::Attempted)]);
    assert_eq!(stage.tick().await.messages_sent, 0, "nothing is overdue");
}

#[tokio::test]
async fn a_row_that_was_too_far_ahead_gets_its_message_once_and_in_time() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    for _ in 0..4 {
        let message = stage.line.take().remove(0);
        stage.clock.set(message.not_before().unwrap());
        stage.handle(vec![message]).await;
    }
    let due_at = stage.row(id).await.next_retry_at.unwrap();
    // On the minute; a schedule near the half minute may send a message twice.
    stage.clock.advance(SECONDS(30));
    let mut sent_at = Vec::new();
    while stage.in_a_minute() < due_at {
        stage.clock.advance(SECONDS(60));
        stage.tick().await;
        for message in stage.line.take() {
            assert_eq!(message, QueueMessage::of(&stage.row(id).await));
            sent_at.push(due_at.since(stage.in_a_minute()));
        }
    }
    assert_eq!(sent_at.len(), 1, "{sent_at:?}");
    assert!(sent_at[0] < SECONDS(900) && sent_at[0] > SECONDS(300));
}

#[tokio::test]
async fn while_the_queue_is_deep_only_rows_long_overdue_get_a_message() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    stage.line.take();
    stage.line.pretend_depth(20_001);
    stage.clock.advance(SECONDS(600));
    let ticked = stage.tick().await;
    assert_eq!(ticked.messages_sent, 0);
    assert_eq!(
        ticked.oldest_due_age,
        SECONDS(600),
        "but its age is reported"
    );
    let mut pokes = 0;
    for _ in 0..120 {
        stage.clock.advance(SECONDS(60));
        pokes += stage.tick().await.messages_sent;
    }
    assert_eq!(pokes, 2, "once an hour");
}

#[tokio::test]
async fn more_overdue_rows_than_fit_on_a_page_are_all_found() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..1010 {
        stage.publish(webhook).await;
    }
    stage.line.take();
    stage.clock.advance(SECONDS(240));
    assert_eq!(stage.tick().await.messages_sent, 1010);
}

#[tokio::test]
async fn a_tick_that_cannot_send_messages_reports_it() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    stage.line.close();
    stage.clock.advance(SECONDS(240));
    let ticked = stage.tick().await;
    assert_eq!((ticked.messages_sent, ticked.messages_failed), (0, 1));
    assert_eq!(ticked.ended, Ended::Failed);
}
