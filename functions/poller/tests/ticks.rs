//! Ticks as the schedule delivers them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation panics with its location"
)]

use std::sync::Arc;

use lambda_runtime::{Context, LambdaEvent};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::ids::TenantId;
use postrider_domain::time::Millis;
use postrider_poller::Poller;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::Deliveries;
use postrider_testkit::builders::{NOW, acceptance, event, webhook, webhook_id};
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_wiring::Parts;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../infra/events/poller.json");

#[tokio::test]
async fn a_sweep_needs_a_store_with_rows_without_lanes() {
    let stage = Stage::set().await;
    let period = json!({"from": "2026-02-21T10:00:00Z", "to": "2026-02-21T11:00:00Z"});
    let event = LambdaEvent::new(json!({ "sweep": period }), Context::default());
    assert!(stage.poller.handle(event).await.is_err());
    assert!(stage.queue.take().is_empty(), "a sweep is not a tick");
}

struct Stage {
    _directory: tempfile::TempDir,
    clock: Arc<SteppedClock>,
    queue: Arc<RecordingQueue>,
    poller: Poller,
}

impl Stage {
    /// One delivery, due now, without a queue message.
    async fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let tenant = TenantId::default();
        store.create_webhook(webhook(&tenant, 1)).await.unwrap();
        let version = store.webhooks_version(&tenant).await.unwrap();
        let wanted = acceptance(event(&tenant, 1, NOW), &[webhook_id(1)], version);
        store.accept(vec![wanted]).await.remove(0).unwrap();
        let clock = Arc::new(SteppedClock::at(NOW));
        let queue = Arc::new(RecordingQueue::default());
        let process = store.process().to_owned();
        let parts = Parts::over(
            store,
            Arc::clone(&queue) as _,
            Arc::clone(&clock) as _,
            process,
            None,
        );
        Self {
            _directory: directory,
            clock,
            queue,
            poller: Poller::new(parts, Millis::from_seconds(180), "test".to_owned()),
        }
    }

    async fn tick(&self, payload: Value) -> Result<Value, lambda_runtime::Error> {
        let event = LambdaEvent::new(payload, Context::default());
        self.poller.handle(event).await
    }
}

#[tokio::test]
async fn a_manual_or_scheduled_tick_replaces_a_lost_message() {
    let stage = Stage::set().await;
    stage.clock.advance(Millis::from_seconds(240));
    for payload in [
        json!({}),
        Value::Null,
        serde_json::from_str(SAMPLE).unwrap(),
    ] {
        let result = stage.tick(payload).await.unwrap();
        assert_eq!(
            result,
            json!({"messages_sent": 1, "oldest_due_age_seconds": 240})
        );
        assert_eq!(stage.queue.take_attempts().len(), 1);
    }
}

#[tokio::test]
async fn a_tick_that_could_not_send_fails_and_is_repeated() {
    let stage = Stage::set().await;
    stage.clock.advance(Millis::from_seconds(240));
    stage.queue.close();
    assert!(stage.tick(json!({})).await.is_err());
}
