//! Batches as SQS delivers them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation panics with its location"
)]

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Context, LambdaEvent};
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_dispatcher::Batches;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::Deliveries;
use postrider_ports::history::History;
use postrider_ports::queue::{AttemptMessage, QueueMessage};
use postrider_testkit::builders::{NOW, acceptance, event, webhook};
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::receiver::{Answer, Receiver};
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_wiring::Parts;
use postrider_wiring::settings::DispatcherSettings;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../infra/events/dispatcher.json");
const REQUIRED: [(&str, &str); 5] = [
    ("POSTRIDER_DELIVERIES_TABLE", "deliveries"),
    ("POSTRIDER_CONFIGS_TABLE", "configs"),
    ("POSTRIDER_QUEUE_URL", "http://127.0.0.1/queue"),
    ("POSTRIDER_KMS_KEY", "key"),
    ("POSTRIDER_BODIES_BUCKET", "bodies"),
];

struct Stage {
    _directory: tempfile::TempDir,
    clock: Arc<SteppedClock>,
    receiver: Receiver,
    store: Arc<SqliteStore>,
    batches: Batches,
    id: DeliveryId,
}

impl Stage {
    /// One delivery, due now.
    async fn set() -> Self {
        Self::with_retry(RuntimeRetry::default()).await
    }

    /// One delivery, due now, in a function with these variables.
    async fn with_environment(variables: &[(&str, &str)]) -> Self {
        let lookup = |name: &str| {
            let mut found = REQUIRED.iter().chain(variables);
            let (_, value) = found.find(|(key, _)| *key == name)?;
            Some((*value).to_owned())
        };
        let settings = DispatcherSettings::read(&lookup).unwrap();
        Self::with_retry(settings.retry).await
    }

    async fn with_retry(retry: RuntimeRetry) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let receiver = Receiver::start().await;
        let tenant = TenantId::default();
        let mut hook = webhook(&tenant, 1);
        hook.settings.target_url = receiver.url().parse().unwrap();
        let id = DeliveryId {
            event: event(&tenant, 1, NOW).id,
            webhook: hook.id,
        };
        store.create_webhook(hook).await.unwrap();
        let version = store.webhooks_version(&tenant).await.unwrap();
        let wanted = acceptance(event(&tenant, 1, NOW), &[id.webhook], version);
        store.accept(vec![wanted]).await.remove(0).unwrap();
        let rules = Rules::new(EgressSettings {
            allow: vec!["127.0.0.1/32".parse().unwrap()],
            ..EgressSettings::default()
        });
        let sender = HttpSender::new(SenderSettings {
            rules: rules.unwrap(),
            ..SenderSettings::default()
        });
        let clock = Arc::new(SteppedClock::at(NOW));
        let parts = Parts::over(
            Arc::clone(&store) as _,
            Arc::new(RecordingQueue::default()),
            Arc::clone(&clock) as _,
            store.process().to_owned(),
            None,
        );
        let batches = Batches::new(parts, Arc::new(sender.unwrap()), retry);
        Self {
            _directory: directory,
            clock,
            receiver,
            store,
            batches,
            id,
        }
    }

    fn message(&self) -> String {
        self.message_at(NOW)
    }

    fn message_at(&self, next_retry_at: Timestamp) -> String {
        let message = AttemptMessage {
            tenant: TenantId::default(),
            id: self.id,
            next_retry_at,
            fresh: false,
        };
        serde_json::to_string(&QueueMessage::from(message)).unwrap()
    }

    async fn row(&self) -> Delivery {
        let row = self.store.delivery(&TenantId::default(), self.id).await;
        row.unwrap().unwrap()
    }

    /// Attempts the delivery whenever it is due, until it is closed; returns the waits between its attempts.
    async fn exhaust(&self) -> Vec<Millis> {
        self.receiver.answer(Answer::status(500));
        let mut waits = Vec::new();
        while let Some(due_at) = self.row().await.next_retry_at {
            waits.push(due_at.since(self.clock.now()));
            self.clock.set(due_at);
            let message = self.message_at(due_at);
            assert!(self.handle(&[&message]).await.is_empty());
        }
        // The first attempt was due immediately.
        waits.split_off(1)
    }

    /// Handles messages with these bodies and the ids 0, 1, …; returns the ids that failed.
    async fn handle(&self, bodies: &[&str]) -> Vec<String> {
        let mut sample: Value = serde_json::from_str(SAMPLE).unwrap();
        let message = sample["Records"][0].clone();
        let messages = bodies.iter().enumerate().map(|(n, body)| {
            let mut message = message.clone();
            message["messageId"] = json!(n.to_string());
            message["body"] = json!(body);
            message
        });
        sample["Records"] = messages.collect();
        let batch: SqsEvent = serde_json::from_value(sample).unwrap();
        let event = LambdaEvent::new(batch, Context::default());
        let response = self.batches.handle(event).await.unwrap();
        let failures = response.batch_item_failures.into_iter();
        failures.map(|failure| failure.item_identifier).collect()
    }
}

#[tokio::test]
async fn an_unreadable_message_fails_alone() {
    let stage = Stage::set().await;
    let message = stage.message();
    let failed = stage
        .handle(&["{\"tenant\":", message.as_str(), "", "{}"])
        .await;
    assert_eq!(failed, ["0", "2", "3"]);
    assert_eq!(stage.receiver.requests().len(), 1);
    assert_eq!(stage.row().await.status, Status::Delivered);
}

#[tokio::test]
async fn the_recorded_sample_refers_to_a_deleted_row_and_is_dropped() {
    let stage = Stage::set().await;
    let batch: SqsEvent = serde_json::from_str(SAMPLE).unwrap();
    let event = LambdaEvent::new(batch, Context::default());
    let response = stage.batches.handle(event).await.unwrap();
    assert!(response.batch_item_failures.is_empty());
    assert!(stage.receiver.requests().is_empty());
}

#[tokio::test]
async fn the_retry_budget_of_the_environment_ends_a_delivery_early() {
    let stage = Stage::with_environment(&[("POSTRIDER_RETRY_BUDGET", "2")]).await;
    assert_eq!(stage.exhaust().await, [30_000, 120_000].map(Millis::new));
    let row = stage.row().await;
    assert_eq!(
        (row.status, row.attempt_count, row.max_attempts),
        (Status::Dead, 3, 5)
    );
}

#[tokio::test]
async fn the_retry_jitter_of_the_environment_spreads_each_wait() {
    let stage = Stage::with_environment(&[("POSTRIDER_RETRY_JITTER_BPS", "2500")]).await;
    let waits = stage.exhaust().await;
    let schedule = [30_000, 120_000, 600_000, 3_600_000];
    assert_eq!(waits.len(), schedule.len());
    for (wait, base) in waits.iter().zip(schedule) {
        let window = Millis::new(base * 3 / 4)..=Millis::new(base * 5 / 4);
        assert!(window.contains(wait), "{wait} in {window:?}");
    }
    assert_ne!(waits, schedule.map(Millis::new));
}
