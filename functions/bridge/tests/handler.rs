//! Events as EventBridge hands them over.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation panics with its location"
)]

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_adapter_aws::dynamodb::{DataKeys, DynamoOptions, DynamoStore, Tables};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_bridge::Bridge;
use postrider_domain::egress::Rules;
use postrider_domain::event::{Event, Origin};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::retention::Retention;
use postrider_domain::retry::RuntimeRetry;
use postrider_gateway::settings::GatewaySettings;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::configs::Webhooks;
use postrider_ports::dead_letters::DeadLetters;
use postrider_ports::history::History;
use postrider_ports::{Error, Result, Store};
use postrider_testkit::builders::{NOW, webhook};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../infra/events/bridge.json");
/// Small, so that larger bodies are quick to create.
const MAX_BODY: usize = 1000;

/// Holds what it is given, unless it is closed.
#[derive(Default)]
struct TestQueue {
    closed: bool,
    added: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl DeadLetters for TestQueue {
    async fn add(&self, event: &str, reason: &str) -> Result<()> {
        if self.closed {
            return Err(Error::Unavailable("the queue is closed".to_owned()));
        }
        self.added
            .lock()
            .push((event.to_owned(), reason.to_owned()));
        Ok(())
    }
}

struct Stage {
    _directory: tempfile::TempDir,
    store: Arc<SqliteStore>,
    messages: Arc<RecordingQueue>,
    dead_letters: Arc<TestQueue>,
    bridge: Bridge,
}

impl Stage {
    /// A gateway whose tenant `acme` has one webhook, for every event type.
    async fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        store.create_webhook(webhook(&acme(), 1)).await.unwrap();
        let messages = Arc::new(RecordingQueue::default());
        let dead_letters = Arc::new(TestQueue::default());
        Self {
            bridge: bridge(store.clone(), messages.clone(), dead_letters.clone()),
            _directory: directory,
            store,
            messages,
            dead_letters,
        }
    }

    async fn handle(&self, text: &str) -> Value {
        self.bridge.handle(invocation(text)).await.unwrap()
    }

    async fn published(&self, text: &str) -> Arc<Event> {
        let answer = self.handle(text).await;
        let id: EventId = answer["event_id"].as_str().unwrap().parse().unwrap();
        let event = self.store.event(&acme(), id).await.unwrap();
        event.unwrap()
    }

    /// Handles an event that cannot be published; returns the reason.
    async fn rejected(&self, text: &str) -> String {
        let answer = self.handle(text).await;
        let (event, reason) = self.dead_letters.added.lock().pop().unwrap();
        assert_eq!(event, text, "as it came");
        assert_eq!(answer, json!({"rejected": reason}));
        assert_eq!(self.messages.take().len(), 0);
        reason
    }
}

fn acme() -> TenantId {
    "acme".parse().unwrap()
}

fn bridge(
    store: Arc<dyn Store>,
    messages: Arc<RecordingQueue>,
    dead_letters: Arc<TestQueue>,
) -> Bridge {
    let webhook_cache = Arc::new(WebhookCache::new(store.clone()));
    let ports = Ports {
        store,
        clock: Arc::new(SteppedClock::at(NOW)),
        entropy: Arc::new(CountedEntropy::seeded(7)),
    };
    let limits = GatewaySettings {
        max_body_bytes: MAX_BODY,
        egress: Rules::default(),
        retry: RuntimeRetry::default(),
        event_validation: Default::default(),
    };
    Bridge {
        gateway: Gateway::new(ports, webhook_cache, messages, limits),
        tenant: acme(),
        dead_letters,
        name: "test".to_owned(),
    }
}

/// The payload as Lambda's runtime reads it.
fn invocation(text: &str) -> LambdaEvent<Box<RawValue>> {
    let bytes = &mut serde_json::Deserializer::from_slice(text.as_bytes());
    let payload = serde_path_to_error::deserialize(bytes).unwrap();
    LambdaEvent::new(payload, Context::default())
}

fn bus_event(detail_type: &str, detail: &str) -> String {
    let detail_type = json!(detail_type);
    format!(
        r#"{{"version":"0","id":"6f5b1d0e","detail-type":{detail_type},"source":"com.acme","detail":{detail}}}"#
    )
}

#[tokio::test]
async fn the_sample_event_is_published_without_its_envelope() {
    let stage = Stage::set().await;
    let event = stage.published(SAMPLE).await;
    assert_eq!(event.event_type.as_str(), "Object_Created");
    assert_eq!(event.content_type.as_str(), "application/json");
    assert_eq!((&event.session_id, event.origin), (&None, Origin::Api));
    let body: Value = serde_json::from_slice(&event.body).unwrap();
    assert_eq!(body["object"]["key"], "2026/11/4711.pdf");
    assert_eq!(stage.messages.take_attempts().len(), 1);
}

#[tokio::test]
async fn the_detail_is_published_byte_for_byte() {
    let stage = Stage::set().await;
    let details = [
        "{ \"b\" : 1 ,\t\"a\":\n[ ]  }",
        r#"{"text":"\u00e9\/é\u0000😀\ud83d\ude00"}"#,
        r#"{"large":123456789012345678901234567890,"exact":0.10000000000000000555,"e":1E+2,"zero":-0}"#,
        r#"{"twice":1,"twice":2}"#,
        "null",
        "\"text\"",
    ];
    for (n, detail) in details.into_iter().enumerate() {
        let text = bus_event("order.placed", detail).replace("6f5b1d0e", &format!("id-{n}"));
        let event = stage.published(&text).await;
        assert_eq!(event.body, detail);
    }
}

#[tokio::test]
async fn an_event_that_arrives_twice_is_published_once() {
    let stage = Stage::set().await;
    let first = stage.handle(SAMPLE).await;
    assert_eq!(
        (&first["repeated"], &first["deliveries"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(stage.messages.take_attempts().len(), 1);
    let second = stage.handle(SAMPLE).await;
    assert_eq!(second["repeated"], true);
    assert_eq!(second["event_id"], first["event_id"]);
    assert_eq!(stage.messages.take().len(), 0);
}

#[tokio::test]
async fn white_space_in_a_detail_type_becomes_underscores() {
    let stage = Stage::set().await;
    let types = [
        ("order.placed", "order.placed"),
        ("OrderPlaced", "OrderPlaced"),
        (
            "EC2 Instance State-change Notification",
            "EC2_Instance_State-change_Notification",
        ),
        (
            "  AWS API\t Call\nvia CloudTrail ",
            "AWS_API_Call_via_CloudTrail",
        ),
    ];
    for (n, (detail_type, event_type)) in types.into_iter().enumerate() {
        let text = bus_event(detail_type, "{}").replace("6f5b1d0e", &format!("id-{n}"));
        let event = stage.published(&text).await;
        assert_eq!(event.event_type.as_str(), event_type);
    }
}

#[tokio::test]
async fn a_detail_type_that_cannot_be_an_event_type_goes_to_the_dead_letter_queue() {
    let stage = Stage::set().await;
    let too_long = "x".repeat(129);
    for detail_type in [
        "",
        " \t",
        "order..placed",
        ".order",
        "order.*",
        "größe",
        &too_long,
    ] {
        let reason = stage.rejected(&bus_event(detail_type, "{}")).await;
        assert!(reason.starts_with("type: must be"), "{reason}");
    }
}

#[tokio::test]
async fn a_detail_over_the_size_limit_goes_to_the_dead_letter_queue() {
    let stage = Stage::set().await;
    let detail = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let reason = stage
        .rejected(&bus_event("order.placed", &detail(MAX_BODY + 1)))
        .await;
    assert_eq!(reason, "the payload is larger than 1000 bytes");
    let largest = stage
        .published(&bus_event("order.placed", &detail(MAX_BODY)))
        .await;
    assert_eq!(largest.body.len(), MAX_BODY);
}

#[tokio::test]
async fn another_event_under_the_same_id_goes_to_the_dead_letter_queue() {
    let stage = Stage::set().await;
    stage.handle(&bus_event("order.placed", "1")).await;
    stage.messages.take();
    let reason = stage.rejected(&bus_event("order.placed", "2")).await;
    assert!(reason.contains("already used"), "{reason}");
}

#[tokio::test]
async fn what_is_not_an_event_of_a_bus_goes_to_the_dead_letter_queue() {
    let stage = Stage::set().await;
    let secret = r#"{"id":7,"detail-type":"t","detail":"secret"}"#;
    for text in ["{}", "null", r#"{"id":"1","detail-type":"t"}"#, secret] {
        let reason = stage.rejected(text).await;
        assert!(reason.starts_with("not an EventBridge event"), "{reason}");
        assert!(!reason.contains("secret"), "{reason}");
    }
}

#[tokio::test]
async fn an_event_that_the_dead_letter_queue_does_not_take_is_retried() {
    let mut stage = Stage::set().await;
    let closed = TestQueue {
        closed: true,
        ..TestQueue::default()
    };
    stage.bridge.dead_letters = Arc::new(closed);
    let refused = stage
        .bridge
        .handle(invocation(&bus_event("order.*", "{}")))
        .await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn an_event_that_could_not_be_stored_is_retried() {
    let dead_letters = Arc::new(TestQueue::default());
    let bridge = bridge(
        unreachable_store(),
        Arc::default(),
        Arc::clone(&dead_letters),
    );
    let failed = bridge.handle(invocation(SAMPLE)).await;
    assert!(failed.is_err());
    assert_eq!(dead_letters.added.lock().len(), 0);
}

/// Nothing listens at its address.
fn unreachable_store() -> Arc<DynamoStore> {
    macro_rules! client {
        ($service:ident) => {{
            let config = $service::Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .endpoint_url("http://127.0.0.1:1")
                .region(Region::from_static("us-east-1"))
                .retry_config(RetryConfig::disabled())
                .credentials_provider(Credentials::new("test", "test", None, None, "test"));
            $service::Client::from_conf(config.build())
        }};
    }
    let options = DynamoOptions {
        tables: Tables {
            deliveries: "deliveries".to_owned(),
            configs: "configs".to_owned(),
        },
        retention: Retention::default(),
        bodies: None,
    };
    let data_keys = DataKeys::new(client!(aws_sdk_kms), "key".to_owned());
    DynamoStore::new(client!(aws_sdk_dynamodb), data_keys, options)
}
