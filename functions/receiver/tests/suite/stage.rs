//! A gateway on a SQLite store in a temporary directory, a stopped clock, and a queue that records its messages.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::delivery::Delivery;
use postrider_domain::egress::Rules;
use postrider_domain::event::Event;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::inbound::Inbound;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::route::RouteDraft;
use postrider_domain::source::{Source, SourceDraft};
use postrider_domain::time::Timestamp;
use postrider_gateway::settings::GatewaySettings;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::queue::QueueMessage;
use postrider_testkit::builders::{self, NOW};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use serde_json::Value;
use sha2::Sha256;
use tower::ServiceExt;

/// Small, so that larger bodies are quick to create.
pub(crate) const MAX_BODY: usize = 10_000;
/// The URL that senders sign.
pub(crate) const URL: &str = "https://hooks.example/in";
pub(crate) const SECRET: &str = "It's a Secret to Everybody";

pub(crate) struct Stage {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) clock: Arc<SteppedClock>,
    pub(crate) router: Router,
    messages: Arc<RecordingQueue>,
    store: Arc<SqliteStore>,
    _dir: tempfile::TempDir,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// The JSON of an answer with this status.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    /// Checks the form of a problem; returns its detail.
    pub(crate) fn problem(&self, status: u16, code: &str) -> String {
        let problem = self.expect(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&code.into(), &status.into())
        );
        problem["detail"].as_str().unwrap().to_owned()
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), SqliteOptions::default()).unwrap();
        let clock = Arc::new(SteppedClock::at(NOW));
        let ports: Ports = Ports {
            store: store.clone(),
            clock: clock.clone(),
            entropy: Arc::new(CountedEntropy::seeded(7)),
        };
        let settings = GatewaySettings {
            max_body_bytes: MAX_BODY,
            egress: Rules::default(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        };
        let (webhook_cache, messages) = (
            Arc::new(WebhookCache::new(store.clone())),
            Arc::new(RecordingQueue::default()),
        );
        let gateway = Arc::new(Gateway::new(
            ports,
            webhook_cache,
            messages.clone(),
            settings,
        ));
        Self {
            router: postrider_receiver::router(Arc::clone(&gateway)),
            gateway,
            clock,
            messages,
            store,
            _dir: dir,
        }
    }

    /// A webhook that subscribes to nothing that is sent here.
    pub(crate) async fn webhook(&self, n: u32) -> WebhookId {
        let mut webhook = builders::webhook(&TenantId::default(), n);
        webhook.settings.event_types = vec!["nothing.of.this".parse().unwrap()];
        let id = webhook.id;
        self.gateway
            .ports
            .store
            .create_webhook(webhook)
            .await
            .unwrap();
        id
    }

    /// A source with these routes: pattern, intent, session and webhook.
    pub(crate) async fn source(&self, routes: &[(&str, &str, Option<&str>, WebhookId)]) -> Source {
        let routes = routes
            .iter()
            .map(|(pattern, intent, session, webhook)| RouteDraft {
                event_type: (*pattern).to_owned(),
                filter: None,
                intent: (*intent).to_owned(),
                target_session: session.map(str::to_owned),
                webhook_id: webhook.to_string(),
            });
        let draft = SourceDraft {
            name: "Peer".to_owned(),
            scheme: "postrider".to_owned(),
            routes: routes.collect(),
            ..SourceDraft::default()
        };
        let sources = &self.gateway.sources;
        sources
            .create(&TenantId::default(), draft, SECRET)
            .await
            .unwrap()
    }

    /// A source of another scheme, called at [`URL`].
    pub(crate) async fn source_of(&self, scheme: &str, secret: &str) -> Source {
        let draft = SourceDraft {
            name: scheme.to_owned(),
            scheme: scheme.to_owned(),
            public_url: Some(URL.to_owned()),
            ..SourceDraft::default()
        };
        let sources = &self.gateway.sources;
        let made = sources.create(&TenantId::default(), draft, secret).await;
        made.unwrap()
    }

    /// Sends a signed request to a source.
    pub(crate) async fn relay(&self, source: &Source, inbound: &Inbound) -> Answer {
        let query = inbound.query.as_ref().map(|query| format!("?{query}"));
        let path = Source::path(source.id) + &query.unwrap_or_default();
        let mut request = Request::builder().method(&inbound.method).uri(path);
        for (name, value) in &inbound.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(inbound.body.clone()));
        self.send(request.unwrap()).await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.gateway.ports.clock.now()
    }

    /// From now on every write that needs more space fails, as on a full disk.
    pub(crate) async fn fill_the_disk(&self) {
        self.store.limit_pages(1).await.unwrap();
    }

    /// The notifications so far, as type and data.
    pub(crate) async fn notifications(&self) -> Vec<(String, Value)> {
        let tenant = TenantId::default();
        let store = &self.gateway.ports.store;
        let stored = store.notifications_after(&tenant, 0, 1000).await.unwrap();
        let notifications = stored.into_iter().map(|one| {
            let event: Value = serde_json::from_str(&one.event).unwrap();
            (one.kind, event["data"].clone())
        });
        notifications.collect()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// Posts a body with these headers to a source.
    pub(crate) async fn post(&self, source: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = Request::post(format!("/gateway/webhooks/{source}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_vec())).unwrap())
            .await
    }

    /// Posts a body signed with the source's first secret, under this delivery id.
    pub(crate) async fn deliver(
        &self,
        source: &Source,
        id: &str,
        event_type: &str,
        body: &str,
    ) -> Answer {
        let signature = sign(SECRET, body.as_bytes());
        let headers = [
            ("x-webhook-signature", signature.as_str()),
            ("webhook-id", id),
            ("x-webhook-event", event_type),
            ("content-type", "application/json"),
        ];
        self.post(&source.id.to_string(), &headers, body.as_bytes())
            .await
    }

    /// The stored event that an answer names.
    pub(crate) async fn event(&self, answer: &Value) -> Arc<Event> {
        let id = answer["id"].as_str().unwrap().parse().unwrap();
        let found = self
            .gateway
            .ports
            .store
            .event(&TenantId::default(), id)
            .await;
        found.unwrap().unwrap()
    }

    /// The stored deliveries that an answer names.
    pub(crate) async fn rows(&self, answer: &Value) -> Vec<Delivery> {
        let mut rows = Vec::new();
        for delivery in answer["deliveries"].as_array().unwrap() {
            let id = delivery["id"].as_str().unwrap().parse().unwrap();
            let found = self
                .gateway
                .ports
                .store
                .delivery(&TenantId::default(), id)
                .await;
            rows.push(found.unwrap().unwrap());
        }
        rows
    }

    /// The queue messages sent since the last call.
    pub(crate) fn take_messages(&self) -> Vec<QueueMessage> {
        self.messages.take()
    }
}

/// `sha256=<hex>`, computed independently of the gateway's code.
pub(crate) fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", HEXLOWER.encode(&mac.finalize().into_bytes()))
}
