//! The gateway itself cannot send: nothing is booked on the receiver.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::worker::embedded::InProcessQueue;
use postrider_gateway::worker::queue::Handled;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{ProbeMessage, Queue};
use postrider_ports::sender::{OwnFault, OwnFaultKind, Post, Posted, Sender};
use postrider_testkit::receiver::Answer;

use crate::recovering::failed;
use crate::stage::Stage;

/// Has a fault until it is fixed; then the real sender takes over.
struct Faulty {
    fault: Mutex<Option<OwnFaultKind>>,
    /// Only requests to this path have the fault.
    path: &'static str,
    sender: Arc<dyn Sender>,
}

impl Faulty {
    fn new(stage: &Stage, kind: OwnFaultKind, path: &'static str) -> Arc<Self> {
        Arc::new(Self {
            fault: Mutex::new(Some(kind)),
            path,
            sender: stage.sender(),
        })
    }

    fn fix(&self) {
        *self.fault.lock() = None;
    }
}

#[async_trait]
impl Sender for Faulty {
    async fn post(&self, request: Post) -> Posted {
        let fault = *self.fault.lock();
        match fault {
            Some(kind) if request.target_url.path().starts_with(self.path) => Err(OwnFault {
                kind,
                detail: "as an example".to_owned(),
            }),
            Some(_) | None => self.sender.post(request).await,
        }
    }
}

fn second_after(stage: &Stage) -> Timestamp {
    stage.clock.now().plus(Millis::from_seconds(1))
}

async fn health(stage: &Stage, webhook: WebhookId) -> Health {
    let found = stage
        .gateway
        .manage
        .get(&TenantId::default(), webhook)
        .await;
    found.unwrap().health
}

/// Free, due and uncounted.
fn assert_untouched(row: &Delivery) {
    assert_eq!(
        (row.status, row.attempts_total, row.lease_until),
        (Status::Pending, 0, Timestamp::ZERO),
        "{row:?}"
    );
}

#[tokio::test]
async fn without_descriptors_no_attempt_counts_and_new_ones_wait_a_second() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let before = health(&stage, webhook).await;
    let sender = Faulty::new(&stage, OwnFaultKind::Descriptors, "/");
    let worker = stage.embedded_worker_with(Arc::clone(&sender) as _);
    for _ in 0..20 {
        assert_eq!(worker.cycle().await.unwrap().started, 1);
        worker.idle().await;
        assert_untouched(&stage.row(id).await);
        let paused = worker.cycle().await.unwrap();
        let over_at = second_after(&stage);
        assert_eq!((paused.started, paused.next_at), (0, Some(over_at)));
        stage.clock.set(over_at);
    }
    assert_eq!(health(&stage, webhook).await, before);
    sender.fix();
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    worker.idle().await;
    let row = stage.row(id).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
}

#[tokio::test]
async fn without_ports_to_one_receiver_the_others_go_on() {
    let stage = Stage::set().await;
    let crowded = stage.webhook_at("/crowded").await;
    let other = stage.webhook_at("/other").await;
    let waiting = stage.publish(crowded).await;
    let delivered = stage.publish(other).await;
    let sender = Faulty::new(&stage, OwnFaultKind::Ports, "/crowded");
    let worker = stage.embedded_worker_with(sender as _);
    assert_eq!(worker.cycle().await.unwrap().started, 2);
    worker.idle().await;
    assert_untouched(&stage.row(waiting).await);
    let cycle = worker.cycle().await.unwrap();
    worker.idle().await;
    assert_eq!(
        (cycle.started, cycle.next_at),
        (0, Some(second_after(&stage)))
    );
    assert_eq!(stage.row(delivered).await.status, Status::Delivered);
    assert_untouched(&stage.row(waiting).await);
}

#[tokio::test]
async fn a_queue_message_comes_again_and_its_row_is_free() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let messages = stage.line.take();
    let sender = Faulty::new(&stage, OwnFaultKind::Memory, "/");
    let worker = stage.dispatcher_with(Arc::clone(&sender) as _);
    for _ in 0..20 {
        let handled = worker.handle(messages.clone(), stage.in_a_minute()).await;
        assert!(handled[0].is_err(), "{handled:?}");
        assert_untouched(&stage.row(id).await);
    }
    sender.fix();
    let handled = worker.handle(messages, stage.in_a_minute()).await;
    assert_eq!(handled, [Ok(Handled::Attempted)]);
    let row = stage.row(id).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
}

#[tokio::test]
async fn a_probe_that_cannot_be_sent_does_not_count() {
    let stage = Stage::set().await;
    let webhook = failed(&stage).await;
    let before = health(&stage, webhook).await;
    stage.clock.advance(Millis::from_seconds(60));
    let probe = ProbeMessage {
        tenant: TenantId::default(),
        webhook,
    };
    let sender = Faulty::new(&stage, OwnFaultKind::Descriptors, "/");
    let dispatcher = stage.dispatcher_with(Arc::clone(&sender) as _);
    for _ in 0..5 {
        let messages = vec![probe.clone().into()];
        let handled = dispatcher.handle(messages, stage.in_a_minute()).await;
        assert!(handled[0].is_err(), "{handled:?}");
        let given_back = Health {
            next_probe_at: Some(stage.clock.now()),
            ..before.clone()
        };
        assert_eq!(health(&stage, webhook).await, given_back);
    }
    let worker = stage.embedded_worker_with(Arc::clone(&sender) as _);
    let queue = InProcessQueue(Arc::clone(&worker));
    queue.send(vec![probe.clone().into()]).await;
    worker.idle().await;
    assert_eq!(health(&stage, webhook).await.probes, before.probes);
    sender.fix();
    stage.receiver.answer(Answer::status(200));
    queue.send(vec![probe.clone().into()]).await;
    worker.idle().await;
    let paused = health(&stage, webhook).await.status;
    assert_eq!(
        paused,
        WebhookStatus::Failed,
        "the worker pauses for a second"
    );
    stage.clock.advance(Millis::from_seconds(1));
    queue.send(vec![probe.into()]).await;
    worker.idle().await;
    assert_eq!(health(&stage, webhook).await.status, WebhookStatus::Active);
}
