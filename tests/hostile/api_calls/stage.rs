//! A gateway over a directory of its own.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_api::{PageSettings, Streaming};
use postrider_domain::egress::Rules;
use postrider_domain::outcome::{Answer, Outcome, Response, Timings};
use postrider_domain::retry::RuntimeRetry;
use postrider_gateway::settings::GatewaySettings;
use postrider_gateway::settings::portal::PortalSettings;
use postrider_gateway::settings::validation::EventValidation;
use postrider_gateway::shadow::Shadows;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::sender::{Post, Posted, Sender};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use super::caller::Caller;
use super::samples::Objects;
use crate::hostile::json_edits::Vocabulary;
use crate::hostile::scene::NOW;

pub(super) const HOST: &str = "gateway.example";
const MAX_BODY: usize = 4096;
/// Stored texts that would be markup on a page that does not escape them.
pub(super) const MARKUP: &str = "\"'><postrider-probe>";
/// No response may contain these.
pub(super) const SECRETS: [&str; 5] = [
    "whsec_cGxhbnRlZHBsYW50ZWRwbGFudGVkcGxhbnRlZA==",
    "whsec_Zm9ybWVyZm9ybWVyZm9ybWVyZm9ybWVyZm9ybWVy",
    "planted-credential",
    "planted-source-secret",
    "planted-verify-token",
];

/// What a caller authenticates with.
#[derive(Default)]
pub(super) struct Credentials {
    pub(super) token: String,
    pub(super) cookie: String,
}

/// What a gateway has.
#[derive(Default)]
pub(super) struct Facts {
    /// By caller.
    pub(super) credentials: Vec<Credentials>,
    pub(super) objects: Objects,
    pub(super) vocabulary: Vocabulary,
    /// Every operation of the API, and a valid body of those that take one.
    pub(super) operations: Vec<(Method, String, Option<Value>)>,
    /// Every form of the pages, after `/inspector` or `/portal`.
    pub(super) forms: Vec<(&'static str, Value)>,
}

pub(super) struct Stage {
    router: Router,
    pub(super) gateway: Arc<Gateway>,
    pub(super) process: String,
    /// Another process, as far as SQLite is concerned: it notices every change.
    observer: Connection,
    pub(super) facts: Arc<Facts>,
    pub(super) runtime: Runtime,
    /// The last to go.
    pub(super) directory: TempDir,
}

pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Empty if it is a stream.
    pub(super) body: String,
}

impl Reply {
    pub(super) fn header(&self, name: impl header::AsHeaderName) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap_or("not a text"))
    }

    pub(super) fn json(&self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.body);
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Every receiver answers with markup.
struct Echo;

#[async_trait]
impl Sender for Echo {
    async fn post(&self, _: Post) -> Posted {
        Ok(answered())
    }
}

pub(super) fn answered() -> Outcome {
    Outcome {
        result: Answer::Response(Response {
            status: 500,
            retry_after: None,
            control: None,
            content_type: Some(format!("text/html; {MARKUP}")),
            body: MARKUP.to_owned(),
        }),
        timings: Timings::default(),
    }
}

impl Stage {
    /// Different seeds lead to different ids.
    pub(super) fn open(directory: TempDir, facts: Arc<Facts>, seed: u64) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let file = directory.path().join("postrider.db");
        let observer = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
        let process = store.process().to_owned();
        let ports: Ports = Ports {
            store: store.clone(),
            clock: Arc::new(SteppedClock::at(NOW)),
            entropy: Arc::new(CountedEntropy::seeded(seed)),
        };
        let settings = GatewaySettings {
            max_body_bytes: MAX_BODY,
            egress: Rules::default(),
            retry: RuntimeRetry::default(),
            event_validation: EventValidation::Reject,
        };
        let shadows = Shadows::new(ports.clone(), Arc::new(Echo), Rules::default());
        let webhook_cache = Arc::new(WebhookCache::new(store));
        let queue = Arc::new(RecordingQueue::default());
        let gateway = Arc::new(Gateway::new(ports, webhook_cache, queue, settings));
        let pages = PageSettings {
            portal: PortalSettings {
                public_catalogue: true,
                ..PortalSettings::default()
            },
            ..PageSettings::default()
        };
        let api = Arc::clone(&gateway);
        Self {
            router: postrider_api::router_with(api, shadows, Streaming::Polled, pages),
            gateway,
            process,
            observer: observer.unwrap(),
            facts,
            runtime,
            directory,
        }
    }

    pub(super) fn credentials(&self, caller: Caller) -> &Credentials {
        let mut all = Caller::ALL.iter().zip(&self.facts.credentials);
        let found = all.find(|(known, _)| **known == caller);
        found.map(|(_, credentials)| credentials).unwrap()
    }

    /// Changes whenever something was stored.
    pub(super) fn version(&self) -> i64 {
        let version = self
            .observer
            .query_row("PRAGMA data_version", [], |row| row.get(0));
        version.unwrap()
    }

    pub(super) fn send(&self, request: Request<Body>) -> Reply {
        let answered = async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let kind = parts.headers.get(header::CONTENT_TYPE);
            let is_stream =
                kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
            let bytes = if is_stream {
                bytes::Bytes::new()
            } else {
                body.collect().await.unwrap().to_bytes()
            };
            Reply {
                status: parts.status,
                headers: parts.headers,
                body: String::from_utf8_lossy(&bytes).into_owned(),
            }
        };
        self.runtime.block_on(answered)
    }

    /// A call of the API, with a JSON document or without a body.
    pub(super) fn call(
        &self,
        caller: Caller,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Reply {
        let token = &self.credentials(caller).token;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(request.body(Body::from(body)).unwrap())
    }

    pub(super) fn post(&self, caller: Caller, path: &str, body: &Value) -> Value {
        self.call(caller, Method::POST, path, Some(body)).json()
    }
}
