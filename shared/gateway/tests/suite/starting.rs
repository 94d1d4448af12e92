//! Deliveries that begin in the process that accepted their event, at once or as soon as a slot is free.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use postrider_domain::delivery::Status;
use postrider_domain::event::Origin;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::Millis;
use postrider_domain::webhook::{FASTEST_MAX_RATE, Webhook, WebhookDraft};
use postrider_gateway::ingest::{EventDraft, Repeated};
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_ports::clock::Clock;
use postrider_ports::queue::Queue;
use postrider_ports::sender::{OwnFault, OwnFaultKind, Post, Posted, Sender};
use postrider_ports::start_now::StartNow;
use postrider_testkit::receiver::Answer;

use crate::stage::{Stage, tenant};

/// How long a test waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(10);
/// From this many deliveries that wait for a slot on, publishers are slowed down, and for how long.
const CROWDED: usize = 1024;
const SLOWED_DOWN_FOR: Millis = Millis::new(100);

/// A worker with one slot per webhook, in the process of the gateway.
async fn one_slot() -> (Stage, Arc<EmbeddedWorker>) {
    let mut stage = Stage::set().await;
    let settings = WorkerSettings {
        per_webhook: 1,
        ..WorkerSettings::default()
    };
    let worker = stage.embed(stage.sender(), &settings);
    (stage, worker)
}

pub(crate) async fn in_time<T>(event: impl Future<Output = T>) -> T {
    let event = tokio::time::timeout(PATIENCE, event).await;
    event.expect("in time")
}

async fn idle(worker: &EmbeddedWorker) {
    in_time(worker.idle()).await;
}

async fn found(stage: &Stage, webhook: WebhookId) -> Webhook {
    let found = stage.gateway.manage.get(&tenant(), webhook).await;
    found.unwrap()
}

async fn assert_delivered(stage: &Stage, id: DeliveryId) {
    let row = stage.row(id).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
}

/// Not attempted, and free to be claimed.
async fn assert_free(stage: &Stage, id: DeliveryId) {
    let row = stage.row(id).await;
    assert_eq!((row.status, row.attempts_total), (Status::Pending, 0));
    assert_eq!(row.lease_owner, None);
}

#[tokio::test]
async fn a_new_delivery_begins_at_once() {
    let (stage, worker) = one_slot().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    idle(&worker).await;
    assert_delivered(&stage, id).await;
}

/// The slot is free when the receiver has answered, or after a failure when the result is written.
#[tokio::test]
async fn a_delivery_that_waited_for_a_slot_begins_as_soon_as_it_is_free() {
    for status in [200, 500] {
        let (stage, worker) = one_slot().await;
        let webhook = stage.webhook().await;
        stage.receiver.hold();
        stage.receiver.answer_next([Answer::status(status)]);
        stage.publish(webhook).await;
        let waiting = stage.publish(webhook).await;
        in_time(stage.receiver.received(1)).await;
        assert!(stage.row(waiting).await.lease_owner.is_some());
        stage.receiver.open();
        idle(&worker).await;
        assert_delivered(&stage, waiting).await;
    }
}

#[tokio::test]
async fn a_delivery_that_waited_does_not_begin_if_its_webhook_was_paused_meanwhile() {
    let (stage, worker) = one_slot().await;
    let webhook = stage.webhook().await;
    stage.receiver.hold();
    let under_way = stage.publish(webhook).await;
    let waiting = stage.publish(webhook).await;
    in_time(stage.receiver.received(1)).await;
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    stage.receiver.open();
    idle(&worker).await;
    assert_delivered(&stage, under_way).await;
    assert_free(&stage, waiting).await;
    manage.resume(&tenant(), webhook).await.unwrap();
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    idle(&worker).await;
    assert_delivered(&stage, waiting).await;
}

/// A fifth of the last 20 attempts were answered with 429.
#[tokio::test]
async fn a_delivery_that_waited_does_not_begin_if_its_webhook_was_limited_meanwhile() {
    let (stage, worker) = one_slot().await;
    let webhook = stage.webhook().await;
    stage.receiver.hold();
    stage.receiver.answer(Answer::status(429));
    for _ in 0..4 {
        stage.publish(webhook).await;
    }
    let waiting = stage.publish(webhook).await;
    stage.receiver.open();
    idle(&worker).await;
    let manage = &stage.gateway.manage;
    let flow = manage.flow(&found(&stage, webhook).await).await.unwrap();
    assert!(flow.limited, "{flow:?}");
    assert_eq!(stage.receiver.requests().len(), 4);
    assert_free(&stage, waiting).await;
    let new = stage.publish(webhook).await;
    assert_free(&stage, new).await;
}

/// The loop knows when its rate allows the next attempt.
#[tokio::test]
async fn a_delivery_of_a_webhook_with_a_maximum_rate_begins_in_a_cycle() {
    let (stage, worker) = one_slot().await;
    let draft = WebhookDraft {
        max_rate: Some(5),
        ..WebhookDraft::default()
    };
    let webhook = stage.webhook_with(draft).await;
    let id = stage.publish(webhook).await;
    assert_free(&stage, id).await;
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    idle(&worker).await;
    assert_delivered(&stage, id).await;
}

/// Counts what it cannot send.
#[derive(Default)]
pub(crate) struct Unable(AtomicUsize);

#[async_trait]
impl Sender for Unable {
    async fn post(&self, _: Post) -> Posted {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(OwnFault {
            kind: OwnFaultKind::Descriptors,
            detail: "as an example".to_owned(),
        })
    }
}

#[tokio::test]
async fn for_a_second_after_the_gateway_could_not_send_no_delivery_begins_at_once() {
    let mut stage = Stage::set().await;
    let sender = Arc::new(Unable::default());
    let worker = stage.embed(Arc::clone(&sender) as _, &WorkerSettings::default());
    let webhook = stage.webhook().await;
    for (after_ms, expected) in [(0, 1), (999, 1), (1, 2)] {
        stage.clock.advance(Millis::new(after_ms));
        let id = stage.publish(webhook).await;
        idle(&worker).await;
        assert_free(&stage, id).await;
        assert_eq!(sender.0.load(Ordering::SeqCst), expected, "{after_ms} ms");
    }
}

#[tokio::test]
async fn a_worker_that_is_abandoned_writes_nothing_and_takes_no_new_delivery() {
    let mut stage = Stage::set().await;
    let worker = stage.embed(stage.sender(), &WorkerSettings::default());
    let webhook = stage.webhook().await;
    stage.receiver.hold();
    let aborted = stage.publish(webhook).await;
    in_time(stage.receiver.received(1)).await;
    worker.abandon();
    idle(&worker).await;
    let row = stage.row(aborted).await;
    assert_eq!((row.status, row.attempts_total), (Status::Pending, 0));
    let new = stage.publish(webhook).await;
    assert_free(&stage, new).await;
    stage.receiver.open();
    stage.clock.set(row.lease_until.plus(Millis::new(1)));
    let next = stage.embedded_worker();
    assert_eq!(next.cycle().await.unwrap().started, 2);
    idle(&next).await;
    for id in [aborted, new] {
        assert_delivered(&stage, id).await;
    }
}

#[tokio::test]
async fn an_event_that_is_published_twice_keeps_no_reservation() {
    let (stage, worker) = one_slot().await;
    let webhook = stage.webhook().await;
    let mut answers = Vec::new();
    for _ in 0..2 {
        let draft = EventDraft {
            event_type: "task.completed".into(),
            body: Bytes::from_static(b"{}"),
            content_type: "application/json".into(),
            session_id: None,
            webhook_id: Some(webhook.to_string()),
            origin: Origin::Api,
        };
        let ingest = &stage.gateway.ingest;
        let published = ingest.publish(&tenant(), draft, Some("a-key")).await;
        answers.push(published.unwrap().repeated);
        idle(&worker).await;
    }
    assert_eq!(answers, [Repeated::No, Repeated::Yes]);
}

#[tokio::test]
async fn a_publisher_waits_a_moment_while_too_many_deliveries_wait_for_a_slot() {
    let (stage, worker) = one_slot().await;
    let webhook = found(&stage, stage.webhook().await).await;
    let queue = InProcessQueue(worker);
    for _ in 0..=CROWDED {
        assert!(queue.admit().now_or_never().is_some());
        let lease = queue.reserve(&webhook, 0, stage.clock.now());
        assert!(lease.is_some());
    }
    let mut admitted = queue.admit();
    assert!((&mut admitted).now_or_never().is_none());
    stage.clock.advance(SLOWED_DOWN_FOR);
    assert!(admitted.now_or_never().is_some());
}

#[tokio::test]
async fn an_embedded_worker_supports_every_maximum_rate() {
    let (stage, _) = one_slot().await;
    let draft = WebhookDraft {
        max_rate: Some(FASTEST_MAX_RATE),
        ..WebhookDraft::default()
    };
    let webhook = stage.webhook_with(draft).await;
    let settings = found(&stage, webhook).await.settings;
    assert_eq!(settings.max_rate, Some(FASTEST_MAX_RATE));
}

#[tokio::test]
async fn no_message_waits_in_the_queue_of_an_embedded_worker() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.publish(webhook).await;
    let queue = InProcessQueue(stage.embedded_worker());
    assert_eq!(queue.send(stage.line.take()).await, [Ok(())]);
    assert_eq!(queue.depth().await, Ok(0));
}
