//! Publishing: what it costs, and where rows of stopped and limited webhooks go.

use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_domain::time::Millis;
use postrider_gateway::worker::queue::Handled;
use postrider_ports::queue::QueueMessage;
use postrider_testkit::builders::NOW;

use postrider_testkit::store_suite::Fixture;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_whose_message_was_lost_is_found_by_the_poller() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    stage.queue.take();
    stage.tables.flush().await;
    stage.clock.advance(Millis::from_seconds(200));
    assert_eq!(stage.tick().await.messages_sent, 1);
    assert_eq!(stage.work().await, [Ok(Handled::Attempted)]);
    assert!(stage.is_delivered(id).await);
}

/// However long the batch: a version read and calls to the queue that a single event would have.
#[tokio::test]
async fn a_batch_of_a_hundred_events_reads_the_version_once_and_calls_the_queue_once() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    stage.queue.take();
    let calls = stage.queue.calls();
    stage.meter.take();
    let requests = (0..100).map(|_| Stage::request(webhook)).collect();
    let ingest = &stage.gateway.ingest;
    for published in ingest.publish_all(&stage.scene.tenant, requests).await {
        published.unwrap();
    }
    assert_eq!(stage.meter.take().reads, 1.0);
    assert_eq!(stage.queue.calls(), calls + 1);
    assert_eq!(stage.queue.take().len(), 100);
}

/// Publishing does not look at the webhook; the message that comes does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_stopped_and_limited_webhooks_are_moved_to_their_backlogs() {
    let stage = Stage::set().await;
    for status in [WebhookStatus::Paused, WebhookStatus::Failed] {
        let webhook = stage.webhook().await;
        // The API function knows the webhook as active.
        stage.publish(webhook).await;
        stage.work().await;
        stage.scene.set_status(webhook, status).await;
        let id = stage.publish(webhook).await;
        assert!(!stage.row(id).await.in_backlog);
        assert_eq!(stage.work().await, [Ok(Handled::Postponed)]);
        let waiting = stage.scene.waiting(webhook, AttemptKind::First).await;
        assert_eq!(waiting, [id], "{status:?}");
    }
    let limited = stage.webhook().await;
    stage.scene.limit(limited, 10, NOW).await;
    let id = stage.publish(limited).await;
    assert_eq!(stage.work().await, [Ok(Handled::Postponed)]);
    assert!(stage.row(id).await.in_backlog);
    assert_eq!(stage.receiver.requests().len(), 2);
}

/// The status of a webhook is not part of what a function caches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_webhook_is_drained_by_a_function_that_knew_it_as_paused() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.scene.set_status(webhook, WebhookStatus::Paused).await;
    let id = stage.publish(webhook).await;
    assert_eq!(stage.work().await, [Ok(Handled::Postponed)]);
    let manage = &stage.gateway.manage;
    manage.resume(&stage.scene.tenant, webhook).await.unwrap();
    stage.clock.advance(Millis::from_seconds(2));
    let drain = stage.queue.take();
    assert!(matches!(drain[..], [QueueMessage::Drain(_)]), "{drain:?}");
    let handled = stage.handle_while_time_passes(drain).await;
    assert!(stage.is_delivered(id).await, "{handled:?}");
}
