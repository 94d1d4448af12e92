//! A gateway on a SQLite store in its own directory, with a stepped clock and without workers.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_api::{PageSettings, Streaming};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Completion, DeadCause};
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::settings::GatewaySettings;
use postrider_gateway::settings::portal::PortalSettings;
use postrider_gateway::settings::validation::EventValidation;
use postrider_gateway::shadow::Shadows;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::clock::Clock;
use postrider_ports::deliveries::{Applied, Claim, Seen, Wanted};
use postrider_ports::notifications::NotificationListener;
use postrider_testkit::builders::{completion, lease};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt;

/// 2026-02-21T10:00:00Z.
pub(crate) const BEGIN: Timestamp = Timestamp::from_millis(1_771_668_000_000);
/// Small, so tests can exceed it cheaply.
pub(crate) const MAX_PAYLOAD: usize = 10_000;

pub(crate) struct Stage {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) clock: Arc<SteppedClock>,
    pub(crate) shutdown: watch::Sender<bool>,
    pub(crate) router: Router,
    /// A token of the tenant `default` with every scope.
    pub(crate) admin: String,
    process: String,
    egress: Rules,
    pub(crate) dir: tempfile::TempDir,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Checks the status; returns the JSON.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// Checks the format of a problem; returns the invalid fields as `field: message`.
    pub(crate) fn problem(&self, status: u16, code: &str) -> Vec<String> {
        let problem = self.expect(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(
            self.headers[header::CONTENT_TYPE],
            "application/problem+json"
        );
        assert!(
            problem["type"]
                .as_str()
                .unwrap()
                .ends_with(&format!("#{code}"))
        );
        for field in ["title", "detail"] {
            assert!(!problem[field].as_str().unwrap().is_empty(), "{problem}");
        }
        assert_eq!(problem.as_object().unwrap().len(), 6, "{problem}");
        let text = |fault: &Value, key: &str| fault[key].as_str().unwrap().to_owned();
        problem["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| format!("{}: {}", text(fault, "field"), text(fault, "message")))
            .collect()
    }

    /// Checks that the request was rejected for this field, with a message that contains `words`.
    pub(crate) fn refuses(&self, field: &str, words: &str) {
        let faults = self.problem(400, "invalid_request");
        assert!(
            faults
                .iter()
                .any(|f| f.starts_with(&format!("{field}: ")) && f.contains(words)),
            "{field}: {words}; {faults:?}"
        );
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(SqliteOptions::default()).await
    }

    /// With egress to localhost allowed.
    pub(crate) async fn reaching_localhost() -> Self {
        let settings = EgressSettings {
            allow: vec!["127.0.0.1/32".parse().unwrap()],
            ..EgressSettings::default()
        };
        Self::within(SqliteOptions::default(), Rules::new(settings).unwrap()).await
    }

    pub(crate) async fn with(options: SqliteOptions) -> Self {
        Self::within(options, Rules::default()).await
    }

    /// With payloads checked against the event catalogue.
    pub(crate) async fn validating(validation: EventValidation) -> Self {
        Self::of(SqliteOptions::default(), Rules::default(), validation).await
    }

    /// With a portal that has these settings.
    pub(crate) async fn with_portal(portal: PortalSettings) -> Self {
        let mut stage = Self::new().await;
        let pages = PageSettings {
            portal,
            ..PageSettings::default()
        };
        let gateway = Arc::clone(&stage.gateway);
        let polled = Streaming::Polled;
        stage.router = postrider_api::router_with(gateway, stage.shadows(), polled, pages);
        stage
    }

    async fn within(options: SqliteOptions, egress: Rules) -> Self {
        Self::of(options, egress, EventValidation::Off).await
    }

    async fn of(options: SqliteOptions, egress: Rules, event_validation: EventValidation) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), options).unwrap();
        let process = store.process().to_owned();
        let listening: Arc<dyn NotificationListener> = Arc::clone(&store) as _;
        let clock = Arc::new(SteppedClock::at(BEGIN));
        let ports: Ports = Ports {
            store: store.clone(),
            clock: clock.clone(),
            entropy: Arc::new(CountedEntropy::seeded(7)),
        };
        let settings = GatewaySettings {
            max_body_bytes: MAX_PAYLOAD,
            egress: egress.clone(),
            retry: RuntimeRetry::default(),
            event_validation,
        };
        let webhook_cache = Arc::new(WebhookCache::new(store));
        // It starts nothing: deliveries stay as accepted.
        let line = Arc::new(RecordingQueue::default());
        let shadows = shadows(&ports, &egress);
        let gateway = Arc::new(Gateway::new(ports, webhook_cache, line, settings));
        let (shutdown, stopped) = watch::channel(false);
        let streaming = Streaming::Open {
            listening,
            shutdown: stopped,
        };
        let router = postrider_api::router(Arc::clone(&gateway), shadows, streaming);
        let mut stage = Self {
            gateway,
            clock,
            shutdown,
            router,
            admin: String::new(),
            process,
            egress,
            dir,
        };
        stage.admin = stage.token("default", &Scope::ALL).await;
        stage
    }

    /// For a test with its own router.
    pub(crate) fn shadows(&self) -> Shadows {
        shadows(&self.gateway.ports, &self.egress)
    }

    /// Creates a key; returns its token.
    pub(crate) async fn token(&self, tenant: &str, scopes: &[Scope]) -> String {
        let tenant = tenant.parse().unwrap();
        let made = self
            .gateway
            .keyring
            .create(&tenant, "test", scopes.to_vec())
            .await;
        made.unwrap().token
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        Answer::of(self.router.clone().oneshot(request).await.unwrap()).await
    }

    pub(crate) async fn call(&self, token: &str, method: Method, path: &str, body: &str) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"));
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        self.send(request.body(Body::from(body.to_owned())).unwrap())
            .await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(&self.admin, Method::GET, path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: impl ToString) -> Answer {
        self.call(&self.admin, Method::POST, path, &body.to_string())
            .await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(&self.admin, Method::PATCH, path, &body.to_string())
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(&self.admin, Method::DELETE, path, "").await
    }

    /// Creates a webhook subscribed to `task.*`; returns its id.
    pub(crate) async fn webhook(&self) -> String {
        let answer = self.post("/v1/webhooks", new_webhook()).await.expect(201);
        answer["id"].as_str().unwrap().to_owned()
    }

    /// Publishes `task.done` with this payload; returns the response.
    pub(crate) async fn publish(&self, payload: Value) -> Value {
        let event = json!({"type": "task.done", "session_id": "s-1", "payload": payload});
        self.post("/v1/events", event).await.expect(202)
    }

    /// Publishes an event; returns the id of its first delivery.
    pub(crate) async fn delivery(&self) -> String {
        let answer = self.publish(json!({"n": 1})).await;
        answer["deliveries"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Attempts a delivery with this result.
    pub(crate) async fn attempt(&self, id: &str, transition: Transition) {
        self.attempt_of(TenantId::default(), id, transition, |_| {})
            .await;
    }

    /// Attempts a delivery of this tenant, with a result that may be edited.
    pub(crate) async fn attempt_of(
        &self,
        tenant: TenantId,
        id: &str,
        transition: Transition,
        edit: impl FnOnce(&mut Completion),
    ) {
        self.clock.advance(Millis::new(5));
        let (store, now) = (&self.gateway.ports.store, self.clock.now());
        let wanted = Wanted {
            tenant,
            id: id.parse().unwrap(),
            lease: lease(&self.process, 1, now.plus(Millis::from_seconds(20))),
            seen: Seen::default(),
        };
        let claim = store.claim(vec![wanted], now).await.pop().unwrap().unwrap();
        let Claim::Claimed(delivery) = claim else {
            panic!("{claim:?}")
        };
        let mut done = completion(&delivery.claimed, transition, now);
        edit(&mut done);
        let applied = store.apply(&delivery.claimed, done, now).await.unwrap();
        assert!(matches!(applied, Applied::Done(_)));
    }

    /// Fails the last attempt of a delivery.
    pub(crate) async fn kill(&self, id: &str) {
        let cause = DeadCause::Exhausted;
        self.attempt(id, Transition::Die { cause }).await;
    }

    /// Claims a delivery and leaves it claimed.
    pub(crate) async fn hold(&self, id: &str) {
        let now = self.clock.now();
        let wanted = Wanted {
            tenant: TenantId::default(),
            id: id.parse().unwrap(),
            lease: lease(&self.process, 2, now.plus(Millis::from_seconds(20))),
            seen: Seen::default(),
        };
        let claim = self.gateway.ports.store.claim(vec![wanted], now).await;
        assert!(matches!(claim[0], Ok(Claim::Claimed(_))));
    }
}

fn shadows(ports: &Ports, egress: &Rules) -> Shadows {
    let settings = SenderSettings {
        rules: egress.clone(),
        ..SenderSettings::default()
    };
    let sender = Arc::new(HttpSender::new(settings).unwrap());
    Shadows::new(ports.clone(), sender, egress.clone())
}

pub(crate) fn new_webhook() -> Value {
    json!({
        "name": "Tasks",
        "target_url": "https://receiver.example/hooks",
        "event_types": ["task.*"],
    })
}
