//! `postrider dev` with functions, as a developer runs them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::dev::Dev;
use super::emulated::{Emulated, free_address, invocations};
use crate::command::PATIENCE;

/// A directory, the `postrider dev` that uses it, and the addresses at which it invokes functions.
pub(super) struct Stage {
    // Before the directory, so it has stopped when the directory is removed.
    pub(super) dev: Dev,
    data: TempDir,
    dispatcher: String,
    poller: String,
    endpoint: String,
}

async fn dev(data: &Path, dispatcher: &str, poller: &str) -> Dev {
    Dev::start(data, &invocations(dispatcher), &invocations(poller)).await
}

impl Stage {
    pub(super) async fn start() -> Self {
        Self::start_traced("").await
    }

    /// The same, with functions that send their traces to this collector.
    pub(super) async fn start_traced(endpoint: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (dispatcher, poller) = (free_address(), free_address());
        Self {
            dev: dev(data.path(), &dispatcher, &poller).await,
            data,
            dispatcher,
            poller,
            endpoint: endpoint.to_owned(),
        }
    }

    /// Another `postrider dev` on the same directory, after this one was killed.
    pub(super) async fn after_a_kill(self) -> Self {
        self.dev.kill().await;
        Self {
            dev: dev(self.data.path(), &self.dispatcher, &self.poller).await,
            ..self
        }
    }

    pub(super) fn api(&self) -> Emulated {
        self.function("postrider-api", &free_address())
    }

    pub(super) fn receiver(&self) -> Emulated {
        self.function("postrider-receiver", &free_address())
    }

    pub(super) fn dispatcher(&self) -> Emulated {
        self.function("postrider-dispatcher", &self.dispatcher)
    }

    pub(super) fn poller(&self) -> Emulated {
        self.function("postrider-poller", &self.poller)
    }

    fn function(&self, name: &str, address: &str) -> Emulated {
        let settings = [
            ("POSTRIDER_DEV_URL", self.dev.url.as_str()),
            ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32"),
            ("POSTRIDER_GRACE_SECONDS", "1"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", self.endpoint.as_str()),
        ];
        Emulated::start(name, address, &settings, self.data.path())
    }
}

/// Creates a webhook for every event type that retries after a second; returns its id.
pub(super) async fn webhook(api: &Emulated, target_url: &str) -> String {
    let retry = json!({"profile": "custom", "delays_seconds": [1]});
    let draft =
        json!({"name": "test", "target_url": target_url, "event_types": ["*"], "retry": retry});
    let webhook = api.call("POST", "/v1/webhooks", &draft).await;
    webhook["id"].as_str().unwrap().to_owned()
}

/// Publishes for one webhook; returns the delivery's id.
pub(super) async fn publish(api: &Emulated, webhook: &str) -> String {
    let event = json!({"type": "task.completed", "webhook_id": webhook, "payload": {"task": 42}});
    let accepted = api.call("POST", "/v1/events", &event).await;
    accepted["deliveries"][0]["id"].as_str().unwrap().to_owned()
}

/// Waits until a delivery is delivered or dead; returns it.
pub(super) async fn settled(api: &Emulated, delivery: &str) -> Value {
    let path = format!("/v1/deliveries/{delivery}");
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let wait = async {
        loop {
            looks.tick().await;
            let row = api.call("GET", &path, &Value::Null).await;
            if row["status"] == "delivered" || row["status"] == "dead" {
                return row;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("the delivery is closed")
}
