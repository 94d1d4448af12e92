//! What a cycle of the embedded worker reads, and what it does without a free slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_ports::clock::Clock;
use postrider_ports::flow::FlowStates;
use postrider_ports::queue::{DrainMessage, Queue};
use postrider_ports::schedule::{AgendaPage, Ask, DueRows, Schedule};
use postrider_ports::{Error, Result};
use postrider_testkit::receiver::Answer;

use crate::backlogs::Watched;
use crate::stage::{Stage, tenant};
use crate::starting::in_time;

/// Counts the reads.
struct Counted {
    schedule: Arc<dyn Schedule>,
    pages: AtomicUsize,
    looks: AtomicUsize,
}

impl Counted {
    fn over(stage: &Stage) -> Arc<Self> {
        Arc::new(Self {
            schedule: stage.schedule(),
            pages: AtomicUsize::default(),
            looks: AtomicUsize::default(),
        })
    }

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
    let counted = Counted::over(&stage);
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

#[tokio::test]
async fn the_agenda_is_corrected_once_per_poll_interval() {
    let stage = Stage::set().await;
    let (counted, settings) = (Counted::over(&stage), WorkerSettings::default());
    let worker = stage.embedded_worker_of(Arc::clone(&counted) as _, &settings);
    worker.cycle().await.unwrap();
    assert_eq!(counted.take(), (1, 0));
    let next_at = stage.clock.now().plus(settings.poll_interval);
    stage.clock.set(next_at.minus(Millis::new(1)));
    worker.cycle().await.unwrap();
    assert_eq!(counted.take(), (0, 0));
    stage.clock.set(next_at);
    worker.cycle().await.unwrap();
    assert_eq!(counted.take(), (1, 0));
}

#[tokio::test]
async fn the_last_webhook_gets_the_slots_that_the_others_do_not_need() {
    let stage = Stage::set().await;
    for _ in 0..15 {
        let webhook = stage.webhook().await;
        stage.publish(webhook).await;
    }
    stage.clock.advance(Millis::new(1));
    let last = stage.webhook().await;
    for _ in 0..18 {
        stage.publish(last).await;
    }
    // An eighth of what is left is 18.
    let settings = WorkerSettings {
        total: 15 + 18 * 8,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_of(stage.schedule(), &settings);
    assert_eq!(worker.cycle().await.unwrap().started, 15 + 18);
    worker.idle().await;
}

#[tokio::test]
async fn a_limited_webhook_without_a_slot_is_looked_at_once_per_second() {
    let stage = Stage::set().await;
    let (busy, limited) = (stage.webhook().await, stage.webhook().await);
    stage.publish(busy).await;
    stage.clock.advance(Millis::new(1));
    stage.publish(limited).await;
    pause(&stage, limited).await;
    let manage = &stage.gateway.manage;
    manage.resume(&tenant(), limited).await.unwrap();
    stage.receiver.hold();
    let settings = WorkerSettings {
        per_webhook: 1,
        total: 1,
        poll_interval: Millis::from_seconds(3600),
        ..WorkerSettings::default()
    };
    let counted = Counted::over(&stage);
    let worker = stage.embedded_worker_of(Arc::clone(&counted) as _, &settings);
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    stage.receiver.received(1).await;
    counted.take();
    for _ in 0..3 {
        stage.clock.advance(Millis::new(999));
        worker.cycle().await.unwrap();
        assert_eq!(counted.take(), (0, 0));
        stage.clock.advance(Millis::new(1));
        worker.cycle().await.unwrap();
        assert_eq!(counted.take(), (0, 1));
    }
    stage.receiver.open();
    worker.idle().await;
}

/// Deletes a webhook, and not its open rows: the process ended in between.
async fn delete(stage: &Stage, webhook: WebhookId) {
    let (store, tenant) = (&stage.ports.store, tenant());
    let deleted = store.delete_webhook(&tenant, webhook, stage.clock.now());
    assert_eq!(deleted.await, Ok(true));
}

/// Two that were attempted and two that were not, with two slots.
#[tokio::test]
async fn the_rows_of_a_deleted_webhook_end_as_slots_allow() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.receiver.answer(Answer::status(500));
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(stage.publish(webhook).await);
    }
    let attempting = stage.embedded_worker();
    assert_eq!(attempting.cycle().await.unwrap().started, 2);
    attempting.idle().await;
    stage.clock.advance(Millis::from_seconds(3600));
    for _ in 0..2 {
        ids.push(stage.publish(webhook).await);
    }
    delete(&stage, webhook).await;
    let settings = WorkerSettings {
        per_webhook: 2,
        ..WorkerSettings::default()
    };
    let counted = Counted::over(&stage);
    let worker = stage.embedded_worker_of(Arc::clone(&counted) as _, &settings);
    for (ended, looks) in [(2, (1, 1)), (2, (0, 1)), (0, (0, 0))] {
        let cycle = worker.cycle().await.unwrap();
        assert_eq!((cycle.started, cycle.ended), (0, ended));
        assert_eq!(counted.take(), looks);
    }
    for id in ids {
        let row = stage.row(id).await;
        assert_eq!(row.dead_cause, Some(DeadCause::WebhookDeleted));
    }
}

/// It failed once.
#[tokio::test]
async fn a_row_of_a_deleted_webhook_that_is_not_due_is_looked_at_when_it_is() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.receiver.answer(Answer::status(500));
    let failed = stage.publish(webhook).await;
    let attempting = stage.embedded_worker();
    assert_eq!(attempting.cycle().await.unwrap().started, 1);
    in_time(attempting.idle()).await;
    stage.publish(webhook).await;
    delete(&stage, webhook).await;
    let due_at = stage.row(failed).await.next_retry_at;
    assert!(due_at > Some(stage.clock.now()));
    let cycle = stage.embedded_worker().cycle().await.unwrap();
    assert_eq!((cycle.ended, cycle.next_at), (1, due_at));
}

#[tokio::test]
async fn a_row_whose_claim_failed_is_claimed_a_second_later() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let store = Watched::over(&stage);
    let settings = WorkerSettings::default();
    let worker = stage.embedded_worker_claiming_from(Arc::clone(&store) as _, &settings);
    let busy = Error::Unavailable("the store is busy".to_owned());
    store.unclaimable.lock().insert(id, busy);
    let later = stage.clock.now().plus(Millis::from_seconds(1));
    let cycle = worker.cycle().await.unwrap();
    assert_eq!((cycle.started, cycle.next_at), (0, Some(later)));
    store.unclaimable.lock().clear();
    stage.clock.set(later);
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    in_time(worker.idle()).await;
    assert_eq!(stage.row(id).await.status, Status::Delivered);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hold_up_the_next() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let broken = stage.publish(webhook).await;
    stage.clock.advance(Millis::new(1));
    let next = stage.publish(webhook).await;
    let store = Watched::over(&stage);
    let settings = WorkerSettings {
        per_webhook: 1,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_claiming_from(Arc::clone(&store) as _, &settings);
    let unreadable = Error::Broken("the row cannot be read".to_owned());
    store.unclaimable.lock().insert(broken, unreadable);
    assert_eq!(worker.cycle().await.unwrap().started, 0);
    stage.clock.advance(Millis::from_seconds(1));
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    in_time(worker.idle()).await;
    assert_eq!(stage.row(next).await.status, Status::Delivered);
}

/// More rows than are read at once.
#[tokio::test]
async fn all_rows_of_a_deleted_webhook_end_without_another_page_of_the_agenda() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..5 {
        stage.publish(webhook).await;
    }
    delete(&stage, webhook).await;
    let settings = WorkerSettings {
        per_webhook: 2,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_of(stage.schedule(), &settings);
    for ended in [2, 2, 1, 0] {
        assert_eq!(worker.cycle().await.unwrap().ended, ended);
    }
}

/// Two of these rows are delivered, two are under way with the only slots, and two are claimed ahead.
async fn two_ahead(rows: usize) -> (Stage, Arc<EmbeddedWorker>, WebhookId, Vec<DeliveryId>) {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let mut ids = Vec::new();
    for _ in 0..rows {
        ids.push(stage.publish(webhook).await);
    }
    let settings = WorkerSettings {
        per_webhook: 2,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_of(stage.schedule(), &settings);
    assert_eq!(worker.cycle().await.unwrap().started, 2, "none has ended");
    in_time(worker.idle()).await;
    stage.receiver.hold();
    assert_eq!(worker.cycle().await.unwrap().started, 4);
    in_time(stage.receiver.received(4)).await;
    (stage, worker, webhook, ids)
}

#[tokio::test]
async fn as_many_rows_as_were_attempted_are_claimed_ahead_and_begin_when_slots_are_free() {
    let (stage, worker, _, ids) = two_ahead(7).await;
    assert_eq!(worker.cycle().await.unwrap().started, 0, "none has ended");
    for id in &ids[4..6] {
        let row = stage.row(*id).await;
        assert!(row.lease_owner.is_some() && row.attempts_total == 0);
    }
    stage.receiver.open();
    in_time(worker.idle()).await;
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    in_time(worker.idle()).await;
    for id in ids {
        let row = stage.row(id).await;
        assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
    }
}

#[tokio::test]
async fn rows_that_were_claimed_ahead_are_free_again_if_their_webhook_is_paused() {
    let (stage, worker, webhook, ids) = two_ahead(7).await;
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    // Longer than the worker's cache of webhooks is fresh.
    stage.clock.advance(Millis::from_seconds(6));
    stage.receiver.open();
    in_time(worker.idle()).await;
    for (id, expected) in ids
        .iter()
        .zip([true, true, true, true, false, false, false])
    {
        let row = stage.row(*id).await;
        assert_eq!(row.status == Status::Delivered, expected);
        assert_eq!(row.lease_owner, None);
    }
}

/// Its claims are refused, because the cache does not know yet that it is paused.
#[tokio::test]
async fn room_for_rows_that_cannot_be_claimed_is_returned() {
    let (stage, worker, webhook, _) = two_ahead(10).await;
    stage.receiver.open();
    in_time(worker.idle()).await;
    pause(&stage, webhook).await;
    assert_eq!(worker.cycle().await.unwrap().started, 0);
    in_time(worker.idle()).await;
}
