//! Batches as SQS hands them over.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation ends the run, with its place"
)]

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Context, LambdaEvent};
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_dispatcher::Batches;
use postrider_domain::delivery::Status;
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retry::RuntimeRetry;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::Deliveries;
use postrider_ports::history::History;
use postrider_ports::queue::{AttemptMessage, QueueMessage};
use postrider_testkit::builders::{NOW, acceptance, event, webhook};
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::line::Line;
use postrider_testkit::receiver::Receiver;
use postrider_wiring::Parts;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../infra/events/dispatcher.json");

struct Stage {
    _directory: tempfile::TempDir,
    receiver: Receiver,
    store: Arc<SqliteStore>,
    batches: Batches,
    id: DeliveryId,
}

impl Stage {
    /// One delivery, due now.
    async fn set() -> Self {
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
        let parts = Parts::over(
            Arc::clone(&store) as _,
            Arc::new(Line::default()),
            Arc::new(SteppedClock::at(NOW)),
            store.process().to_owned(),
            None,
        );
        let batches = Batches::new(parts, Arc::new(sender.unwrap()), RuntimeRetry::default());
        Self {
            _directory: directory,
            receiver,
            store,
            batches,
            id,
        }
    }

    fn message(&self) -> String {
        let message = AttemptMessage {
            tenant: TenantId::default(),
            id: self.id,
            next_retry_at: NOW,
            asked_again: false,
        };
        serde_json::to_string(&QueueMessage::from(message)).unwrap()
    }

    /// Hands over messages with these bodies, called 0, 1, … ; returns the ids that failed.
    async fn hand_over(&self, bodies: &[&str]) -> Vec<String> {
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
async fn a_message_that_is_no_hint_fails_alone() {
    let stage = Stage::set().await;
    let message = stage.message();
    let failed = stage
        .hand_over(&["{\"tenant\":", message.as_str(), "", "{}"])
        .await;
    assert_eq!(failed, ["0", "2", "3"]);
    assert_eq!(stage.receiver.requests().len(), 1);
    let row = stage.store.delivery(&TenantId::default(), stage.id).await;
    assert_eq!(row.unwrap().unwrap().status, Status::Delivered);
}

#[tokio::test]
async fn the_recorded_sample_names_a_row_that_is_gone_and_is_dropped() {
    let stage = Stage::set().await;
    let batch: SqsEvent = serde_json::from_str(SAMPLE).unwrap();
    let event = LambdaEvent::new(batch, Context::default());
    let response = stage.batches.handle(event).await.unwrap();
    assert!(response.batch_item_failures.is_empty());
    assert!(stage.receiver.requests().is_empty());
}
