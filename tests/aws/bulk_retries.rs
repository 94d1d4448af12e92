//! A bulk retry of dead deliveries, which the poller carries on slice by slice.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::Method;
use postrider_domain::ids::EventId;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::stack::Stack;
use super::waiting::until;

/// How often the poller runs.
const TICK: Duration = Duration::from_secs(1);
/// Records of an import.
const RECORDS: usize = 100;
/// Imports at the same time.
const AT_ONCE: usize = 4;
/// Seals what is exported.
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A webhook and its receiver.
struct Endpoint {
    receiver: Receiver,
    webhook: String,
}

impl Endpoint {
    /// A webhook whose deliveries die of the first failure.
    async fn new(stack: &Stack) -> Self {
        let receiver = Receiver::start().await;
        receiver.answer(Answer::status(400));
        let retry = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 1});
        let draft = json!({"name": "bulk", "target_url": receiver.url(), "event_types": ["*"],
            "retry_rate": 300, "retry": retry});
        let made = stack.api.call(Method::POST, "/v1/webhooks", Some(draft));
        let webhook = made.await["id"].as_str().unwrap().to_owned();
        Self { receiver, webhook }
    }

    /// Publishes up to 100 events and waits until their deliveries are dead.
    async fn let_die(&self, stack: &Stack, count: usize) {
        let event = json!({"type": "task.completed", "webhook_id": self.webhook, "payload": {}});
        let batch = json!({"events": vec![event; count]});
        let published = stack.api.call(Method::POST, "/v1/events", Some(batch));
        published.await;
        until("every delivery is dead", async || {
            self.receiver.requests().len() >= count && !self.any(stack, "pending").await
        })
        .await;
    }

    /// Retries everything dead; `count` deliveries arrive.
    async fn retry_all(&self, stack: &Stack, count: usize) {
        self.receiver.answer(Answer::status(200));
        let since = self.receiver.requests().len();
        let all = json!({"filter": {"webhook_id": self.webhook}});
        let job = stack.api.call(Method::POST, "/v1/retries", Some(all));
        let path = format!("/v1/retries/{}", job.await["id"].as_str().unwrap());
        until("the bulk retry is done", async || {
            stack.api.call(Method::GET, &path, None).await["state"] == "done"
        })
        .await;
        let job = stack.api.call(Method::GET, &path, None).await;
        assert_eq!([&job["matched"], &job["done"]], [count, count], "{job}");
        until("every delivery arrives", async || {
            arrived(&self.receiver, since).len() == count
        })
        .await;
        assert!(!self.any(stack, "dead").await);
    }

    async fn any(&self, stack: &Stack, status: &str) -> bool {
        let webhook = &self.webhook;
        let path = format!("/v1/deliveries?webhook_id={webhook}&status={status}&limit=1");
        let page = stack.api.call(Method::GET, &path, None).await;
        !page["items"].as_array().unwrap().is_empty()
    }
}

pub(super) async fn every_dead_delivery_is_retried_once(stack: &Stack) {
    const COUNT: usize = 60;
    let endpoint = Endpoint::new(stack).await;
    let working = async {
        endpoint.let_die(stack, COUNT).await;
        endpoint.retry_all(stack, COUNT).await;
    };
    tokio::select! {
        () = working => {}
        never = stack.ticking(TICK) => match never {},
    }
}

/// All but one are imported: a receiver that fails thousands of times gets few requests per second.
pub(super) async fn every_imported_dead_delivery_is_retried_once(stack: &Stack, count: usize) {
    let endpoint = Endpoint::new(stack).await;
    let working = async {
        endpoint.let_die(stack, 1).await;
        import_copies(stack, &endpoint.webhook, count - 1).await;
        endpoint.retry_all(stack, count).await;
    };
    tokio::select! {
        () = working => {}
        never = stack.ticking(TICK) => match never {},
    }
}

/// Imports copies of the event that was published for this webhook.
async fn import_copies(stack: &Stack, webhook: &str, count: usize) {
    let record = exported(stack, webhook).await;
    let id: EventId = record["id"].as_str().unwrap().parse().unwrap();
    let copies: Vec<Value> = (1..=u32::try_from(count).unwrap())
        .map(|n| {
            let mut bytes = *id.as_bytes();
            bytes[12..].copy_from_slice(&n.to_be_bytes());
            let mut copy = record.clone();
            copy["id"] = EventId::from_bytes(bytes).to_string().into();
            copy
        })
        .collect();
    let imports = copies.chunks(RECORDS).map(|records| async move {
        let import = json!({"key": KEY, "records": records});
        let imported = stack.api.call(Method::POST, "/v1/import", Some(import));
        let imported = imported.await;
        let results = imported["results"].as_array().unwrap();
        let created = results.iter().filter(|one| one["result"] == "created");
        assert_eq!(created.count(), records.len(), "{imported}");
    });
    let imports: Vec<_> = imports.collect();
    stream::iter(imports)
        .buffer_unordered(AT_ONCE)
        .collect::<()>()
        .await;
}

/// The record of the event that was published for this webhook.
async fn exported(stack: &Stack, webhook: &str) -> Value {
    let mut cursor = Value::Null;
    loop {
        let wish = json!({"key": KEY, "cursor": cursor, "deliveries": "all"});
        let page = stack.api.call(Method::POST, "/v1/export", Some(wish)).await;
        let mut records = page["records"].as_array().unwrap().iter();
        let found = records.find(|one| one["deliveries"][0]["webhook_id"] == webhook);
        if let Some(found) = found {
            return found.clone();
        }
        cursor = page["next_cursor"].clone();
        assert!(!cursor.is_null(), "the event is exported");
    }
}

/// The deliveries that the receiver got after this many requests.
fn arrived(receiver: &Receiver, since: usize) -> HashSet<String> {
    let requests = receiver.requests();
    let ids = requests.iter().skip(since);
    ids.map(|request| request.header("webhook-id").to_owned())
        .collect()
}
