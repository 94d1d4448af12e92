//! How a worker holds the row of an attempt that takes long.

use std::time::Duration;

use postrider_domain::delivery::Status;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{DEFAULT_TIMEOUT_SECONDS, longest_attempt};
use postrider_gateway::attempt::LEASE_MARGIN;
use postrider_ports::clock::Clock;

use crate::stage::Stage;

/// How long a test waits for a renewal that does not come.
const PATIENCE: Duration = Duration::from_secs(10);

async fn wait_for_lease(stage: &Stage, id: DeliveryId, until: Timestamp) {
    let renewed = async {
        while stage.row(id).await.lease_until != until {
            tokio::task::yield_now().await;
        }
    };
    let renewed = tokio::time::timeout(PATIENCE, renewed).await;
    renewed.expect("the worker renews the lease");
}

/// Steps through this many thirds of the lease; each must renew it for its whole length.
async fn step_through_thirds(stage: &Stage, id: DeliveryId, count: usize) {
    let lease = stage.row(id).await.lease_until.since(stage.clock.now());
    for _ in 0..count {
        let renew_at = stage.clock.now().plus(Millis::new(lease.get() / 3));
        let waiting = stage.clock.wait_for_sleeper(renew_at);
        let waiting = tokio::time::timeout(PATIENCE, waiting).await;
        waiting.expect("the worker waits for a third of the lease");
        stage.clock.set(renew_at);
        wait_for_lease(stage, id, renew_at.plus(lease)).await;
    }
}

#[tokio::test]
async fn the_embedded_worker_renews_a_lease_each_third_of_its_time() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    stage.receiver.hold();
    let worker = stage.embedded_worker();
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    let lease = stage.row(id).await.lease_until.since(stage.clock.now());
    let longest = longest_attempt(Millis::from_seconds(DEFAULT_TIMEOUT_SECONDS.into()));
    assert_eq!(lease, longest.plus(LEASE_MARGIN));
    stage.receiver.received(1).await;
    let first_until = stage.row(id).await.lease_until;
    step_through_thirds(&stage, id, 4).await;
    assert!(
        stage.clock.now() > first_until,
        "longer than the first lease"
    );
    stage.receiver.open();
    worker.idle().await;
    let row = stage.row(id).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
}

#[tokio::test]
async fn the_queue_worker_renews_a_lease_each_third_of_its_time() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let messages = stage.line.take();
    stage.receiver.hold();
    let worker = stage.dispatcher();
    let handling = worker.handle(messages, stage.in_a_minute());
    let passing = async {
        stage.receiver.received(1).await;
        step_through_thirds(&stage, id, 2).await;
        stage.receiver.open();
    };
    tokio::join!(handling, passing);
    assert_eq!(stage.row(id).await.status, Status::Delivered);
}
