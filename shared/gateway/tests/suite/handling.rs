//! How the queue worker handles queue messages.

use postrider_domain::delivery::{Force, Status};
use postrider_domain::retry::RetrySettings;
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::worker::queue::{Handled, Needless};
use postrider_ports::clock::Clock;
use postrider_ports::queue::QueueMessage;
use postrider_testkit::builders::{event_id, webhook_id};
use postrider_testkit::receiver::Answer;

use crate::stage::{Stage, tenant};

fn only<T>(mut all: Vec<T>) -> T {
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[tokio::test]
async fn a_message_is_attempted_and_delivered() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let handled = stage.handle(stage.line.take()).await;
    assert_eq!(handled, [Ok(Handled::Attempted)]);
    assert_eq!(stage.row(id).await.status, Status::Delivered);
    assert_eq!(stage.receiver.requests().len(), 1);
    assert!(stage.line.take().is_empty(), "nothing is left to do");
}

/// A warm function caches a tenant's webhooks for a few seconds.
#[tokio::test]
async fn a_webhook_newer_than_the_cache_is_attempted_at_once() {
    let stage = Stage::set().await;
    let dispatcher = stage.dispatcher();
    for _ in 0..2 {
        let webhook = stage.webhook().await;
        let id = stage.publish(webhook).await;
        let messages = stage.line.take();
        let handled = dispatcher.handle(messages, stage.in_a_minute()).await;
        assert_eq!(handled, [Ok(Handled::Attempted)]);
        assert_eq!(stage.row(id).await.status, Status::Delivered);
    }
}

/// However recently this process has read the webhooks.
#[tokio::test]
async fn changed_settings_apply_to_the_next_attempt() {
    let stage = Stage::set().await;
    let dispatcher = stage.dispatcher();
    let webhook = stage.webhook().await;
    for path in ["/before", "/after"] {
        let url: url::Url = stage.receiver.url().parse().unwrap();
        let target_url = url.join(path).unwrap().into();
        let edit = |draft| WebhookDraft {
            target_url,
            ..draft
        };
        let manage = &stage.gateway.manage;
        manage.change(&tenant(), webhook, edit).await.unwrap();
        stage.publish(webhook).await;
        let messages = stage.line.take();
        let handled = dispatcher.handle(messages, stage.in_a_minute()).await;
        assert_eq!(handled, [Ok(Handled::Attempted)]);
        assert_eq!(only(stage.receiver.take_requests()).path, path);
    }
}

/// Its message said that it was fresh.
#[tokio::test]
async fn a_row_that_became_a_retry_meanwhile_waits_for_credit() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let fresh = only(stage.line.take_attempts());
    assert!(fresh.fresh);
    stage.handle(vec![fresh.clone()]).await;
    stage.clock.set(stage.row(id).await.next_retry_at.unwrap());
    let (store, now) = (&stage.ports.store, stage.clock.now());
    let settings = stage.gateway.manage.get(&tenant(), webhook).await;
    let limits = settings.unwrap().settings.limits();
    let flow = stage.flow(webhook).await;
    let tenant = tenant();
    let taken = store.take_credit(&tenant, webhook, &flow, 1, limits, now);
    assert_eq!(taken.await, Ok(1), "another retry has the credit");
    let handled = stage.handle(vec![fresh]).await;
    assert_eq!(handled, [Ok(Handled::Postponed)]);
    assert_eq!(stage.receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_failed_attempt_does_not_fail_the_message_and_sends_the_next_one() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let handled = stage.handle(stage.line.take()).await;
    assert_eq!(handled, [Ok(Handled::Attempted)]);
    let row = stage.row(id).await;
    assert_eq!(row.status, Status::Failed);
    assert_eq!(stage.line.take(), [QueueMessage::of(&row)]);
}

#[tokio::test]
async fn a_row_due_too_far_ahead_for_a_message_is_left_to_the_poller() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    for _ in 0..4 {
        let message = only(stage.line.take());
        stage.clock.set(message.not_before().unwrap());
        assert_eq!(stage.handle(vec![message]).await, [Ok(Handled::Attempted)]);
    }
    let due_at = stage.row(id).await.next_retry_at.unwrap();
    assert_eq!(due_at.since(stage.in_a_minute()).get(), 3_540_000);
    assert!(stage.line.take().is_empty(), "an hour ahead");
}

#[tokio::test]
async fn an_early_message_is_sent_again_without_an_attempt() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    stage.handle(stage.line.take()).await;
    let early = only(stage.line.take());
    let handled = stage.handle(vec![early.clone()]).await;
    assert_eq!(handled, [Ok(Handled::SentAgain)]);
    assert_eq!(stage.line.take(), [early]);
    assert_eq!(stage.receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_message_for_another_time_is_dropped() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let first = stage.line.take();
    stage.handle(first.clone()).await;
    stage.line.take();
    let handled = stage.handle(first).await;
    assert_eq!(handled, [Ok(Handled::Dropped(Needless::Superseded))]);
    assert!(stage.line.take().is_empty());
}

#[tokio::test]
async fn a_duplicate_message_is_harmless() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let message = only(stage.line.take());
    let handled = stage.handle(vec![message.clone(), message.clone()]).await;
    let doubled = Ok(Handled::Dropped(Needless::Doubled));
    assert_eq!(handled, [Ok(Handled::Attempted), doubled]);
    let handled = stage.handle(vec![message]).await;
    assert_eq!(handled, [Ok(Handled::Dropped(Needless::Closed))]);
    assert_eq!(stage.receiver.requests().len(), 1);
}

#[tokio::test]
async fn two_dispatchers_on_one_delivery_make_one_post() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..20 {
        stage.publish(webhook).await;
        let messages = stage.line.take();
        let (one, other) = (stage.dispatcher(), stage.dispatcher());
        let deadline = stage.in_a_minute();
        let (one, other) = tokio::join!(
            one.handle(messages.clone(), deadline),
            other.handle(messages, deadline)
        );
        let attempted = [only(one), only(other)]
            .into_iter()
            .filter(|handled| *handled == Ok(Handled::Attempted));
        assert_eq!(attempted.count(), 1);
    }
    assert_eq!(stage.receiver.requests().len(), 20);
}

#[tokio::test]
async fn a_message_for_an_unknown_row_does_not_affect_the_others() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let mut messages = stage.line.take_attempts();
    let mut stray = messages[0].clone();
    stray.id.event = event_id(99);
    stray.id.webhook = webhook_id(99);
    messages.insert(0, stray);
    let handled = stage.handle(messages).await;
    let missing = Ok(Handled::Dropped(Needless::Missing));
    assert_eq!(handled, [missing, Ok(Handled::Attempted)]);
}

#[tokio::test]
async fn without_time_for_an_attempt_a_message_is_sent_again() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let messages = stage.line.take();
    // Connecting, the response and the write may take 18 s.
    let too_soon = stage.clock.now().plus(Millis::from_seconds(17));
    let handled = stage.dispatcher().handle(messages.clone(), too_soon).await;
    assert_eq!(handled, [Ok(Handled::SentAgain)]);
    assert_eq!(stage.line.take(), messages);
}

#[tokio::test]
async fn a_closed_queue_fails_the_message_but_not_the_attempt() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(500));
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let messages = stage.line.take();
    stage.line.close();
    let handled = only(stage.handle(messages).await);
    assert!(handled.unwrap_err().is_transient());
    assert_eq!(stage.row(id).await.attempts_total, 1);
}

#[tokio::test]
async fn rows_of_paused_and_deleted_webhooks_are_not_sent() {
    let stage = Stage::set().await;
    let (paused, deleted) = (stage.webhook().await, stage.webhook().await);
    stage.publish(paused).await;
    stage.publish(deleted).await;
    let messages = stage.line.take();
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), paused).await.unwrap();
    manage.delete(&tenant(), deleted).await.unwrap();
    let handled = stage.handle(messages).await;
    let dropped = |why| Ok(Handled::Dropped(why));
    assert_eq!(handled, [Ok(Handled::Postponed), dropped(Needless::Closed)]);
    assert!(stage.receiver.requests().is_empty());
}

#[tokio::test]
async fn an_attempt_longer_than_the_function_leaves_time_to_report_the_others() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let messages = stage.line.take();
    stage.receiver.hold();
    let (dispatcher, deadline) = (stage.dispatcher(), stage.in_a_minute());
    let handling = dispatcher.handle(messages, deadline);
    let passing = async {
        stage.receiver.received(1).await;
        stage.clock.set(deadline.minus(Millis::from_seconds(1)));
    };
    let (handled, ()) = tokio::join!(handling, passing);
    assert!(only(handled).unwrap_err().is_transient());
}

/// The header counts the attempts since the row was created or requeued, and the row counts all of them.
#[tokio::test]
async fn x_webhook_retry_starts_at_0_again_after_a_requeue() {
    let stage = Stage::set().await;
    let retry = RetrySettings {
        max_attempts: Some(2),
        ..RetrySettings::default()
    };
    let draft = WebhookDraft {
        retry: Some(retry),
        ..WebhookDraft::default()
    };
    let webhook = stage.webhook_with(draft).await;
    stage.receiver.answer_next([500, 500].map(Answer::status));
    let id = stage.publish(webhook).await;
    stage.handle_until_closed(id).await;
    assert_eq!(stage.row(id).await.status, Status::Dead);
    // Until there is credit for another retry.
    stage.clock.advance(Millis::from_seconds(1));
    let retries = &stage.gateway.retries;
    retries.retry_now(&tenant(), id, Force::No).await.unwrap();
    stage.handle_until_closed(id).await;
    let requests = stage.receiver.requests();
    let headers = requests.iter().map(|it| it.header("x-webhook-retry"));
    assert_eq!(headers.collect::<Vec<_>>(), ["0", "1", "0"]);
    assert_eq!(stage.row(id).await.attempts_total, 3);
}
