//! Queue messages, as the dispatcher gets them.

use std::cell::RefCell;
use std::sync::Arc;

use async_trait::async_trait;
use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::LambdaEvent;
use parking_lot::Mutex;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_dispatcher::Batches;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::outcome::{Answer, Outcome as Sent, Response, Timings};
use postrider_domain::retry::RuntimeRetry;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::Deliveries;
use postrider_ports::history::History;
use postrider_ports::queue::{AttemptMessage, QueueMessage};
use postrider_ports::sender::{Post, Posted, Sender};
use postrider_testkit::builders::{NOW, acceptance, event, webhook};
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_wiring::Parts;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::clock::{HurriedClock, context};
use super::{Event, sorted};
use crate::hostile::Outcome;

const SAMPLE: &str = include_str!("../../../infra/events/dispatcher.json");
const PROBE: &str =
    r#"{"kind": "probe", "tenant": "default", "webhook": "wh_aaaaaaaaaaaaaaaabaaaaaaaae"}"#;
const DRAIN: &str = r#"{"kind": "drain", "tenant": "default", "webhook": "wh_aaaaaaaaaaaaaaaabaaaaaaaae", "not_before": 1}"#;
/// The id of the message that nothing is wrong with.
const INTACT: &str = "intact";
/// After this many batches the store is replaced, so it stays small.
const MAX_BATCHES: u32 = 300;

/// Accepts everything.
#[derive(Default)]
struct Receiver(Mutex<usize>);

#[async_trait]
impl Sender for Receiver {
    async fn post(&self, _: Post) -> Posted {
        *self.0.lock() += 1;
        Ok(Sent {
            result: Answer::Response(Response {
                status: 200,
                retry_after: None,
                control: None,
                content_type: None,
                body: String::new(),
            }),
            timings: Timings::default(),
        })
    }
}

struct Stage {
    store: Arc<SqliteStore>,
    /// The number of the last event.
    events: u32,
    runtime: Runtime,
    _directory: tempfile::TempDir,
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

impl Stage {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let hook = webhook(&TenantId::default(), 1);
        runtime.block_on(store.create_webhook(hook)).unwrap();
        Self {
            store,
            events: 0,
            runtime,
            _directory: directory,
        }
    }

    /// Accepts an event; returns its delivery, which is due.
    fn delivery(&mut self) -> DeliveryId {
        self.events += 1;
        let tenant = TenantId::default();
        let event = event(&tenant, self.events, NOW);
        let webhook = webhook(&tenant, 1).id;
        let id = DeliveryId {
            event: event.id,
            webhook,
        };
        self.runtime.block_on(async {
            let version = self.store.webhooks_version(&tenant).await.unwrap();
            let wanted = acceptance(event, &[webhook], version);
            self.store.accept(vec![wanted]).await.remove(0).unwrap();
        });
        id
    }

    fn row(&self, id: DeliveryId) -> Delivery {
        let tenant = TenantId::default();
        let row = self.runtime.block_on(self.store.delivery(&tenant, id));
        row.unwrap().unwrap()
    }

    /// Handles a batch in a function of its own; returns the ids of the failed messages and the number of requests.
    fn handle(&self, batch: SqsEvent) -> (Vec<String>, usize) {
        let receiver = Arc::new(Receiver::default());
        let parts = Parts::over(
            Arc::clone(&self.store) as _,
            Arc::new(RecordingQueue::default()),
            Arc::new(HurriedClock::default()),
            self.store.process().to_owned(),
            None,
        );
        let sender = Arc::clone(&receiver) as _;
        let batches = Batches::new(parts, sender, RuntimeRetry::default());
        let event = LambdaEvent::new(batch, context());
        let response = self.runtime.block_on(batches.handle(event)).unwrap();
        let failures = response.batch_item_failures.into_iter();
        let failed = failures.map(|failure| failure.item_identifier);
        let sent = *receiver.0.lock();
        (failed.collect(), sent)
    }
}

fn sample(body: &str) -> String {
    let mut sample: Value = serde_json::from_str(SAMPLE).unwrap();
    sample["Records"][0]["body"] = json!(body);
    sample.to_string()
}

/// # Panics
/// When a message that cannot be read is not reported, or keeps another from being handled.
pub(super) fn hand(event: &Event<'_>) -> Outcome {
    STAGE.with_borrow_mut(|current| {
        let stage = current.get_or_insert_with(Stage::new);
        let outcome = try_batch(event, stage);
        if stage.events >= MAX_BATCHES {
            *current = None;
        }
        outcome
    })
}

fn try_batch(event: &Event<'_>, stage: &mut Stage) -> Outcome {
    let (probe, drain) = (sample(PROBE), sample(DRAIN));
    let Some(mut handed) = event.json(&[SAMPLE, &probe, &drain]) else {
        return Outcome::Nothing;
    };
    let due = super::records(&handed).is_some().then(|| stage.delivery());
    if let Some(id) = due {
        let message = QueueMessage::from(AttemptMessage {
            tenant: TenantId::default(),
            id,
            next_retry_at: NOW,
            fresh: false,
        });
        let message = json!({"messageId": INTACT, "body": json!(message).to_string()});
        handed["Records"].as_array_mut().unwrap().push(message);
    }
    // Otherwise Lambda reports the whole batch as failed.
    let Ok(batch) = serde_json::from_value::<SqsEvent>(handed) else {
        return Outcome::Rejected;
    };
    let is_unreadable = |body: Option<&str>| {
        serde_json::from_str::<QueueMessage>(body.unwrap_or_default()).is_err()
    };
    let unreadable = batch
        .records
        .iter()
        .filter(|it| is_unreadable(it.body.as_deref()));
    let unreadable = sorted(unreadable.map(|it| it.message_id.clone().unwrap_or_default()));
    let about = format!("{batch:?}");
    let (failed, sent) = stage.handle(batch);
    assert_eq!(sorted(failed), unreadable, "failed and unreadable: {about}");
    if let Some(id) = due {
        assert_eq!(stage.row(id).status, Status::Delivered, "{about}");
        assert_eq!(sent, 1, "requests: {about}");
    }
    if unreadable.is_empty() {
        Outcome::Accepted
    } else {
        Outcome::Rejected
    }
}
