//! What a cycle of the embedded worker reads, and what it does without a free slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use postrider_domain::delivery::Status;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::flow::FlowStates;
use postrider_ports::queue::{DrainMessage, Queue};
use postrider_ports::schedule::{AgendaPage, Ask, DueRows, Schedule};

use crate::stage::{Stage, tenant};

/// Counts the reads.
struct Counted {
    schedule: Arc<dyn Schedule>,
    pages: AtomicUsize,
    looks: AtomicUsize,
}

impl Counted {
    /// Pages of the agenda and looks at webhooks since the last call.
    fn take(&self) -> (usize, usize) {
        let take = |count: &AtomicUsize| count.swap(0, Ordering::SeqCst);
        (take(&self.pages), take(&self.looks))
    }
}

#[async_trait]
impl Schedule for Counted {
    async fn agenda(
        &self,
        after: Option<&(TenantId, WebhookId)>,
        limit: usize,
        now: Timestamp,
    ) -> Result<AgendaPage> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.schedule.agenda(after, limit, now).await
    }

    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asks: &[Ask],
        now: Timestamp,
    ) -> Result<Vec<DueRows>> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.schedule.due(tenant, webhook, asks, now).await
    }
}

async fn pause(stage: &Stage, webhook: WebhookId) {
    let (paused, now) = (WebhookStatus::Paused, stage.clock.now());
    let (store, tenant) = (&stage.ports.store, tenant());
    let set = store.set_webhook_status(&tenant, webhook, paused, now);
    assert!(set.await.unwrap().is_some());
}

#[tokio::test]
async fn a_cycle_reads_only_webhooks_with_due_rows_however_many_are_stopped() {
    let stage = Stage::set().await;
    for _ in 0..30 {
        let webhook = stage.webhook().await;
        stage.publish(webhook).await;
        pause(&stage, webhook).await;
    }
    let webhook = stage.webhook().await;
    for _ in 0..3 {
        stage.publish(webhook).await;
    }
    let counted = Arc::new(Counted {
        schedule: stage.schedule(),
        pages: AtomicUsize::default(),
        looks: AtomicUsize::default(),
    });
    let worker = stage.embedded_worker_of(Arc::clone(&counted) as _, &WorkerSettings::default());
    assert_eq!(worker.cycle().await.unwrap().started, 3);
    assert_eq!(counted.take(), (1, 1));
    worker.idle().await;
    assert_eq!(worker.cycle().await.unwrap().started, 0);
    assert_eq!(counted.take(), (0, 0), "nothing is due");
    stage.line.take();
    stage.publish(webhook).await;
    InProcessQueue(Arc::clone(&worker))
        .send(stage.line.take())
        .await;
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    assert_eq!(counted.take(), (0, 1));
    worker.idle().await;
}

/// The clock jumped while it was attempted.
#[tokio::test]
async fn a_row_under_way_whose_lease_has_lapsed_hides_no_free_row() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let under_way = stage.publish(webhook).await;
    stage.receiver.hold();
    let settings = WorkerSettings {
        per_webhook: 2,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_of(stage.schedule(), &settings);
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    stage.receiver.received(1).await;
    stage.clock.advance(Millis::from_seconds(3600));
    let free = stage.publish(webhook).await;
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    stage.receiver.open();
    worker.idle().await;
    for id in [under_way, free] {
        let row = stage.row(id).await;
        assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
    }
}

async fn is_limited(stage: &Stage, worker: &Arc<EmbeddedWorker>, webhook: WebhookId) -> bool {
    let found = stage.gateway.manage.get(&tenant(), webhook).await;
    let flows = InProcessQueue(Arc::clone(worker));
    let status = flows.flows(&[found.unwrap()]).await;
    status.unwrap().remove(0).limited
}

/// Another webhook holds the only slot.
#[tokio::test]
async fn the_limit_of_a_webhook_ends_although_no_slot_is_free() {
    let stage = Stage::set().await;
    let (busy, resumed) = (stage.webhook().await, stage.webhook().await);
    stage.publish(busy).await;
    stage.receiver.hold();
    let settings = WorkerSettings {
        per_webhook: 1,
        total: 1,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_of(stage.schedule(), &settings);
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    stage.receiver.received(1).await;
    pause(&stage, resumed).await;
    let manage = &stage.gateway.manage;
    manage.resume(&tenant(), resumed).await.unwrap();
    let drain = DrainMessage {
        tenant: tenant(),
        webhook: resumed,
        not_before: stage.clock.now(),
    };
    let queue = InProcessQueue(Arc::clone(&worker));
    queue.send(vec![drain.into()]).await;
    for (seconds, expected) in [(10, true), (60, false)] {
        for _ in 0..seconds {
            assert_eq!(worker.cycle().await.unwrap().started, 0);
            stage.clock.advance(Millis::from_seconds(1));
        }
        assert_eq!(is_limited(&stage, &worker, resumed).await, expected);
    }
    stage.receiver.open();
    worker.idle().await;
}
