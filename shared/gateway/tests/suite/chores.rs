//! Chores that take long, and chores that must wait for others.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::delivery::Status;
use postrider_domain::ids::{DeliveryId, JobId, WebhookId};
use postrider_domain::retry::RetrySettings;
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::history::Filter;
use postrider_ports::jobs::RetryJob;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::receiver::Answer;

use crate::stage::{Stage, tenant};

/// A queue that takes ten seconds per message, except for one webhook.
struct SlowLine {
    clock: Arc<SteppedClock>,
    quick: WebhookId,
}

#[async_trait]
impl Queue for SlowLine {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        if messages
            .iter()
            .any(|message| message.webhook() != self.quick)
        {
            self.clock.advance(Millis::from_seconds(10));
        }
        messages.into_iter().map(|_| Ok(())).collect()
    }

    async fn depth(&self) -> Result<u64> {
        Ok(0)
    }
}

/// A resumed webhook whose rows wait for turns, one per second.
async fn resumed(stage: &Stage, rows: usize) -> (WebhookId, Vec<DeliveryId>) {
    let webhook = stage.webhook().await;
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..rows {
        ids.push(stage.publish(webhook).await);
    }
    manage.resume(&tenant(), webhook).await.unwrap();
    stage.line.take();
    (webhook, ids)
}

async fn parked(stage: &Stage, ids: &[DeliveryId]) -> usize {
    let mut parked = 0;
    for id in ids {
        parked += usize::from(stage.row(*id).await.parked);
    }
    parked
}

/// A bulk retry of one dead delivery.
async fn bulk_retry(stage: &Stage, n: u8) -> DeliveryId {
    let once = RetrySettings {
        max_attempts: Some(1),
        ..RetrySettings::default()
    };
    let webhook = stage.webhook_with(WebhookDraft {
        retry: Some(once),
        ..WebhookDraft::default()
    });
    let webhook = webhook.await;
    let id = stage.publish(webhook).await;
    stage.receiver.answer(Answer::status(500));
    stage.handle(stage.line.take()).await;
    assert_eq!(stage.row(id).await.status, Status::Dead);
    let filter = Filter {
        status: Some(Status::Dead),
        webhook_id: Some(webhook),
        ..Filter::default()
    };
    let job = RetryJob::new(JobId::from_bytes([n; 16]), filter, stage.clock.now());
    let store = &stage.gateway.ports.store;
    store.create_job(&tenant(), job).await.unwrap();
    id
}

#[tokio::test]
async fn rows_are_released_while_bulk_retries_run() {
    let stage = Stage::set().await;
    let mut retried = Vec::new();
    for n in 1..5 {
        retried.push(bulk_retry(&stage, n).await);
    }
    let (webhook, waiting) = resumed(&stage, 20).await;
    assert_eq!(parked(&stage, &waiting).await, 17, "three go out at once");
    let queue = SlowLine {
        clock: Arc::clone(&stage.clock),
        quick: webhook,
    };
    let ahead = Millis::from_seconds(5);
    stage.chores_over(Arc::new(queue), ahead).turn().await;
    for id in retried {
        assert_eq!(stage.row(id).await.status, Status::Pending);
    }
    // Six turns at once, and six more after each slice. Releasing only once, or only after all slices, would find fewer.
    assert_eq!(parked(&stage, &waiting).await, 0);
}

#[tokio::test]
async fn rows_are_released_even_while_messages_of_another_webhook_fill_the_queue() {
    let stage = Stage::set().await;
    let (_, waiting) = resumed(&stage, 5).await;
    stage.line.pretend_depth(20_001);
    stage.chores().await;
    assert_eq!(
        (parked(&stage, &waiting).await, stage.line.take().len()),
        (0, 2)
    );
}
