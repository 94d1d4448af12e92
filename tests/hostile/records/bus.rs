//! Events of EventBridge, as the bridge gets them.

use std::cell::RefCell;
use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_bridge::Bridge;
use postrider_domain::egress::Rules;
use postrider_domain::ids::TenantId;
use postrider_domain::retry::RuntimeRetry;
use postrider_gateway::settings::GatewaySettings;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::configs::Webhooks;
use postrider_ports::dead_letters::DeadLetters;
use postrider_ports::history::History;
use postrider_ports::{Error, Result};
use postrider_testkit::builders::{NOW, webhook};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{Event, Trouble};
use crate::hostile::Outcome;

const SAMPLE: &str = include_str!("../../../infra/events/bridge.json");
const MAX_BODY: usize = 1000;
/// After this many events the store is replaced, so it stays small.
const MAX_EVENTS: u32 = 300;

/// Holds what it is given, unless it is closed.
#[derive(Default)]
struct TestQueue {
    is_closed: Mutex<bool>,
    added: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl DeadLetters for TestQueue {
    async fn add(&self, event: &str, reason: &str) -> Result<()> {
        if *self.is_closed.lock() {
            return Err(Error::Unavailable("the queue is closed".to_owned()));
        }
        self.added
            .lock()
            .push((event.to_owned(), reason.to_owned()));
        Ok(())
    }
}

struct Stage {
    bridge: Bridge,
    dead_letters: Arc<TestQueue>,
    store: Arc<SqliteStore>,
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
        let dead_letters = Arc::new(TestQueue::default());
        let ports: Ports = Ports {
            store: store.clone(),
            clock: Arc::new(SteppedClock::at(NOW)),
            entropy: Arc::new(CountedEntropy::seeded(7)),
        };
        let settings = GatewaySettings {
            max_body_bytes: MAX_BODY,
            egress: Rules::default(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        };
        let webhook_cache = Arc::new(WebhookCache::new(store.clone()));
        let queue = Arc::new(RecordingQueue::default());
        Self {
            bridge: Bridge {
                gateway: Gateway::new(ports, webhook_cache, queue, settings),
                tenant: TenantId::default(),
                dead_letters: Arc::clone(&dead_letters) as _,
                name: "test".to_owned(),
            },
            dead_letters,
            store,
            events: 0,
            runtime,
            _directory: directory,
        }
    }
}

impl Stage {
    /// What the function returns; nothing if it fails.
    fn answer(&self, payload: &RawValue) -> Option<Value> {
        let event = LambdaEvent::new(payload.to_owned(), Context::default());
        self.runtime.block_on(self.bridge.handle(event)).ok()
    }
}

/// What of an event is delivered.
#[derive(Deserialize)]
struct Detail<'a> {
    #[serde(borrow)]
    detail: &'a RawValue,
}

/// # Panics
/// When an event is neither published as it came, nor among the dead letters, nor reported.
pub(super) fn hand(event: &Event<'_>, trouble: Trouble) -> Outcome {
    STAGE.with_borrow_mut(|current| {
        let stage = current.get_or_insert_with(Stage::new);
        stage.events += 1;
        let mut sample: Value = serde_json::from_str(SAMPLE).unwrap();
        // Otherwise it would be the same event with another content.
        sample["id"] = json!(stage.events.to_string());
        let text = event.text(&[&sample.to_string()]);
        *stage.dead_letters.is_closed.lock() = trouble.is_down;
        let outcome = try_event(&text, stage);
        if stage.events >= MAX_EVENTS {
            *current = None;
        }
        outcome
    })
}

fn try_event(text: &str, stage: &Stage) -> Outcome {
    // What is not JSON does not get past Lambda's runtime.
    let Ok(payload) = serde_json::from_str::<Box<RawValue>>(text) else {
        return Outcome::Nothing;
    };
    let text = payload.get();
    let answer = stage.answer(&payload);
    let dead = std::mem::take(&mut *stage.dead_letters.added.lock());
    let Some(answer) = answer else {
        let is_down = *stage.dead_letters.is_closed.lock();
        assert!(is_down && dead.is_empty(), "reported: {text}");
        return Outcome::Rejected;
    };
    let Some(id) = answer["event_id"].as_str() else {
        let [(event, reason)] = &dead[..] else {
            panic!("one dead letter: {text}");
        };
        assert_eq!(
            (event.as_str(), &answer),
            (text, &json!({"rejected": reason}))
        );
        return Outcome::Rejected;
    };
    assert!(dead.is_empty(), "published and a dead letter: {text}");
    let tenant = TenantId::default();
    let stored = stage.store.event(&tenant, id.parse().unwrap());
    let stored = stage.runtime.block_on(stored).unwrap();
    let body = stored.map(|event| event.body.clone()).unwrap_or_default();
    let sent: Detail<'_> = serde_json::from_str(text).unwrap();
    assert_eq!(body, sent.detail.get(), "byte for byte");
    let again = stage.answer(&payload).unwrap_or_default();
    assert_eq!(again["event_id"], id, "when it comes again: {text}");
    assert_eq!(again["repeated"], true, "when it comes again: {text}");
    Outcome::Accepted
}
