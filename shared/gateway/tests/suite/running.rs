//! When the loop of the embedded worker looks for due rows, and what it reports.

use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_domain::delivery::Status;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_ports::queue::Queue;
use postrider_testkit::builders::NOW;

use crate::stage::{Stage, tenant};
use crate::starting::{Unable, in_time};

const POLL_INTERVAL: Millis = WorkerSettings::POLL_INTERVAL;
/// How long the loop gathers completions while rows wait for a slot.
const GATHER: Millis = Millis::new(2);

/// Runs the loop of a worker with one slot per webhook.
fn run(stage: &Stage) -> Arc<EmbeddedWorker> {
    let settings = WorkerSettings {
        per_webhook: 1,
        ..WorkerSettings::default()
    };
    let worker = stage.embedded_worker_of(stage.schedule(), &settings);
    tokio::spawn(Arc::clone(&worker).run());
    worker
}

/// Returns when the loop sleeps until then.
async fn asleep_until(stage: &Stage, until: Timestamp) {
    in_time(stage.clock.wait_for_sleeper(until)).await;
}

#[tokio::test]
async fn a_message_wakes_the_loop() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let worker = run(&stage);
    asleep_until(&stage, NOW.plus(POLL_INTERVAL)).await;
    let id = stage.publish(webhook).await;
    let queue = InProcessQueue(Arc::clone(&worker));
    queue.send(stage.line.take()).await;
    in_time(stage.receiver.received(1)).await;
    in_time(worker.idle()).await;
    assert_eq!(stage.row(id).await.status, Status::Delivered);
}

#[tokio::test]
async fn a_row_whose_message_is_lost_begins_within_the_poll_interval() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let worker = run(&stage);
    asleep_until(&stage, NOW.plus(POLL_INTERVAL)).await;
    let id = stage.publish(webhook).await;
    stage.clock.advance(POLL_INTERVAL);
    in_time(stage.receiver.received(1)).await;
    in_time(worker.idle()).await;
    assert_eq!(stage.row(id).await.status, Status::Delivered);
}

/// Otherwise each completion would lead to a look that claims one row.
#[tokio::test]
async fn while_rows_wait_for_a_slot_the_loop_gathers_completions_before_it_looks_again() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..2 {
        stage.publish(webhook).await;
    }
    stage.receiver.hold();
    run(&stage);
    asleep_until(&stage, NOW.plus(GATHER)).await;
    in_time(stage.receiver.received(1)).await;
    stage.clock.advance(GATHER);
    let second_look = NOW.plus(GATHER);
    asleep_until(&stage, second_look.plus(POLL_INTERVAL)).await;
    stage.receiver.open();
    asleep_until(&stage, second_look.plus(GATHER)).await;
    assert_eq!(stage.receiver.requests().len(), 1);
    stage.clock.advance(GATHER);
    in_time(stage.receiver.received(2)).await;
}

/// The deletion of a webhook does not end all of its deliveries at once.
#[tokio::test]
async fn the_loop_looks_again_soon_after_it_has_started_and_ended_deliveries() {
    let stage = Stage::set().await;
    let (webhook, deleted) = (stage.webhook().await, stage.webhook().await);
    for _ in 0..2 {
        stage.publish(webhook).await;
    }
    let ended = stage.publish(deleted).await;
    let store = &stage.ports.store;
    let was_there = store.delete_webhook(&tenant(), deleted, NOW).await;
    assert_eq!(was_there, Ok(true));
    assert_eq!(stage.row(ended).await.status, Status::Pending);
    stage.receiver.hold();
    run(&stage);
    asleep_until(&stage, NOW.plus(GATHER)).await;
    in_time(stage.receiver.received(1)).await;
    assert_eq!(stage.row(ended).await.status, Status::Dead);
    stage.receiver.open();
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn count(&self, event: &str) -> usize {
        let log = String::from_utf8(self.0.lock().clone()).unwrap();
        log.matches(event).count()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_pause_is_logged_once_however_many_attempts_have_the_fault() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..3 {
        stage.publish(webhook).await;
    }
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || written.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let worker = stage.embedded_worker_with(Arc::new(Unable::default()));
    for pauses in 1..=2 {
        assert_eq!(worker.cycle().await.unwrap().started, 3);
        in_time(worker.idle()).await;
        assert_eq!(log.count("worker.paused"), pauses);
        stage.clock.advance(Millis::from_seconds(1));
    }
}
