//! Publishers, a sender of inbound events and operators, who record what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_flow_model::random::Random;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::command::{Serve, TOKEN};

const PUBLISHERS: u64 = 5;
/// The minimum wait between two events of a publisher.
const PACE: Duration = Duration::from_millis(25);
/// How often an operator does something.
const OPERATIONS: Duration = Duration::from_millis(150);

/// What the gateway is set up with, and how clients reach it.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) webhooks: Vec<String>,
    pub(super) source: String,
}

/// The secret that the inbound source signs with.
pub(super) fn secret() -> SigningSecret {
    SigningSecret::from_key(&[7; 32])
}

/// What clients know.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Deliveries that were acknowledged.
    pub(super) acknowledged: Mutex<BTreeSet<String>>,
    /// The first answer to each idempotency key; `None` if the gateway died before it answered.
    keys: Mutex<BTreeMap<String, Option<Value>>>,
    /// Answers that are not as promised.
    pub(super) wrong: Mutex<Vec<String>>,
    /// Calls that were rejected, which is right while the disk fails.
    pub(super) rejected: Mutex<usize>,
}

impl Known {
    fn acknowledge(&self, answer: &Value) {
        let ids = answer["deliveries"].as_array().unwrap().iter();
        let ids = ids.map(|delivery| delivery["id"].as_str().unwrap().to_owned());
        self.acknowledged.lock().extend(ids);
    }

    fn answered(&self, key: &str, answer: &Value) {
        // A repeated answer may list them in another order.
        let mut deliveries = answer["deliveries"].as_array().unwrap().clone();
        deliveries.sort_by_key(|delivery| delivery["id"].to_string());
        let same = json!({"id": answer["id"], "deliveries": deliveries});
        let mut keys = self.keys.lock();
        match keys.insert(key.to_owned(), Some(same.clone())) {
            Some(Some(first)) if first != same => {
                let wrong = format!("{key} was answered by {first} and by {same}");
                self.wrong.lock().push(wrong);
            }
            Some(_) | None => {}
        }
    }

    /// A key that was used before, whether it was answered or not.
    fn used_key(&self, random: &mut Random) -> Option<String> {
        let keys = self.keys.lock();
        let unanswered = keys.iter().find(|(_, answer)| answer.is_none());
        if let Some((key, _)) = unanswered {
            return Some(key.clone());
        }
        let index = random.below(keys.len().max(1) as u64);
        keys.keys().nth(usize::try_from(index).unwrap()).cloned()
    }
}

/// Who calls the gateway during one of its lives.
pub(super) struct Clients(JoinSet<()>);

#[derive(Clone)]
struct Line {
    client: Client,
    url: String,
    setup: Arc<Setup>,
    known: Arc<Known>,
}

impl Clients {
    pub(super) fn start(
        gateway: &Serve,
        setup: &Arc<Setup>,
        known: &Arc<Known>,
        random: &mut Random,
    ) -> Self {
        let line = Line {
            client: Client::builder().no_proxy().build().unwrap(),
            url: gateway.url.clone(),
            setup: Arc::clone(setup),
            known: Arc::clone(known),
        };
        let mut tasks = JoinSet::new();
        for _ in 0..PUBLISHERS {
            tasks.spawn(line.clone().publish(Random::new(random.next())));
        }
        tasks.spawn(line.clone().send_inbound(Random::new(random.next())));
        tasks.spawn(line.operate(Random::new(random.next())));
        Self(tasks)
    }

    /// Returns when all have noticed that the gateway is gone.
    pub(super) async fn stop(mut self) {
        while let Some(ended) = self.0.join_next().await {
            ended.unwrap();
        }
    }
}

impl Line {
    fn post(&self, path: &str, body: String) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.url));
        let request = request.header("content-type", "application/json");
        request.bearer_auth(TOKEN).body(body)
    }

    /// The answer, if there is one: `Some(None)` for an error.
    async fn acknowledged(&self, request: RequestBuilder) -> Option<Option<Value>> {
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        let answer = response.bytes().await.ok()?;
        if status == 202 || status == 200 {
            let answer = serde_json::from_slice(&answer).unwrap();
            self.known.acknowledge(&answer);
            return Some(Some(answer));
        }
        *self.known.rejected.lock() += 1;
        if status < 500 {
            let text = String::from_utf8_lossy(&answer);
            self.known.wrong.lock().push(format!("{status}: {text}"));
        }
        Some(None)
    }

    /// Publishes to one webhook or to all, with a key or without, again or for the first time.
    async fn publish(self, mut random: Random) {
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let number = random.next();
            let webhook = &self.setup.webhooks[index(&mut random, self.setup.webhooks.len())];
            let (key, body) = match random.below(8) {
                0..3 => (
                    None,
                    json!({"type": "one.event", "webhook_id": webhook, "payload": number}),
                ),
                3 => (None, json!({"type": "all.event", "payload": number})),
                4 | 5 => keyed(&format!("key-{number}")),
                _ => match self.known.used_key(&mut random) {
                    Some(key) => keyed(&key),
                    None => continue,
                },
            };
            let mut request = self.post("/v1/events", body.to_string());
            if let Some(key) = &key {
                request = request.header("idempotency-key", key);
                self.known.keys.lock().entry(key.clone()).or_default();
            }
            let Some(answer) = self.acknowledged(request).await else {
                return;
            };
            if let (Some(key), Some(answer)) = (key, answer) {
                self.known.answered(&key, &answer);
            }
        }
    }

    async fn send_inbound(self, mut random: Random) {
        let mut pace = tokio::time::interval(PACE * 2);
        loop {
            pace.tick().await;
            let number = random.next();
            let body = format!("{{\"n\":{number}}}");
            let path = format!("/gateway/webhooks/{}", self.setup.source);
            let signature = signature::plain(&secret(), body.as_bytes());
            let request = self
                .post(&path, body)
                .header("x-observatory-signature", signature)
                .header("x-webhook-event", "push")
                .header("webhook-id", format!("in-{number}"));
            if self.acknowledged(request).await.is_none() {
                return;
            }
        }
    }

    /// Pauses and resumes webhooks and retries everything dead. What a kill interrupts is not repeated.
    async fn operate(self, mut random: Random) {
        let mut pace = tokio::time::interval(OPERATIONS);
        loop {
            pace.tick().await;
            let webhook = &self.setup.webhooks[index(&mut random, self.setup.webhooks.len())];
            let (path, body) = match random.below(5) {
                0 => (format!("/v1/webhooks/{webhook}/pause"), String::new()),
                1..4 => (format!("/v1/webhooks/{webhook}/resume"), String::new()),
                _ => ("/v1/retries".to_owned(), "{\"filter\":{}}".to_owned()),
            };
            if self.post(&path, body).send().await.is_err() {
                return;
            }
        }
    }
}

/// The same request for the same key, from every publisher.
fn keyed(key: &str) -> (Option<String>, Value) {
    let event_type = if key.len().is_multiple_of(2) {
        "all.event"
    } else {
        "some.event"
    };
    let body = json!({"type": event_type, "payload": key});
    (Some(key.to_owned()), body)
}

fn index(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.below(count as u64)).unwrap()
}
