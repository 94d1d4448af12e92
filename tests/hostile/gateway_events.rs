//! Events of API Gateway, as the receiver function gets them.

use std::sync::{Arc, LazyLock};

use arbitrary::{Arbitrary, Unstructured};
use axum::Router;
use axum::body::Body;
use http_body_util::BodyExt;
use lambda_http::request::LambdaRequest;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::egress::Rules;
use postrider_domain::ids::TenantId;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::source::SourceDraft;
use postrider_gateway::settings::GatewaySettings;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_web::lambda::sanitized;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use super::Outcome;
use super::scene::NOW;

const SAMPLE: &str = include_str!("../../infra/events/receiver.json");
const MAX_BODY: usize = 4096;

/// What an input describes: a complete event, or the sample with parts replaced.
#[derive(Arbitrary, Debug)]
enum Event<'a> {
    Raw(&'a str),
    Shaped(Shape<'a>),
}

#[derive(Arbitrary, Debug)]
struct Shape<'a> {
    /// After the stage and the common path of all sources.
    path: Option<&'a str>,
    stage: Option<&'a str>,
    method: Option<&'a str>,
    query: Option<&'a str>,
    headers: Vec<(Header, &'a str)>,
    body: Option<&'a str>,
    is_base64: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Header {
    Signature,
    ContentType,
    ContentLength,
    ContentEncoding,
    Host,
    EventType,
}

impl Header {
    const fn name(self) -> &'static str {
        match self {
            Self::Signature => "x-observatory-signature",
            Self::ContentType => "content-type",
            Self::ContentLength => "content-length",
            Self::ContentEncoding => "content-encoding",
            Self::Host => "host",
            Self::EventType => "x-webhook-event",
        }
    }
}

/// The receiver function with its own store.
struct Stage {
    router: Router,
    source: String,
    runtime: Runtime,
    _directory: tempfile::TempDir,
}

static STAGE: LazyLock<Stage> = LazyLock::new(Stage::new);

impl Stage {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
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
        let webhook_cache = Arc::new(WebhookCache::new(store));
        let gateway = Gateway::new(
            ports,
            webhook_cache,
            Arc::new(RecordingQueue::default()),
            settings,
        );
        let draft = SourceDraft {
            name: "Peer".to_owned(),
            scheme: "postrider".to_owned(),
            ..SourceDraft::default()
        };
        let tenant = TenantId::default();
        let made = gateway
            .sources
            .create(&tenant, draft, "an unguessable secret");
        let source = runtime.block_on(made).unwrap().id.to_string();
        Self {
            router: postrider_receiver::router(Arc::new(gateway)),
            source,
            runtime,
            _directory: directory,
        }
    }

    /// The status of the response to an event; nothing if it is not a valid event.
    fn answer(&self, event: &str) -> Option<u16> {
        let event: LambdaRequest = serde_json::from_str(event).ok()?;
        let (parts, body) = lambda_http::Request::from(sanitized(event)).into_parts();
        let answered = async {
            let bytes = body.collect().await.ok()?.to_bytes();
            let request = http::Request::from_parts(parts, Body::from(bytes));
            let response = self.router.clone().oneshot(request).await.ok()?;
            Some(response.status().as_u16())
        };
        self.runtime.block_on(answered)
    }
}

impl Shape<'_> {
    fn event(&self, source: &str) -> String {
        let mut event: Value = serde_json::from_str(SAMPLE).unwrap();
        let path = self.path.unwrap_or(source);
        let stage = self
            .stage
            .map(|stage| format!("/{stage}"))
            .unwrap_or_default();
        event["rawPath"] = json!(format!("{stage}/gateway/webhooks/{path}"));
        event["requestContext"]["http"]["path"] = event["rawPath"].clone();
        event["requestContext"]["stage"] = json!(self.stage.unwrap_or("$default"));
        event["pathParameters"]["source_id"] = json!(path);
        event["body"] = json!(self.body);
        event["isBase64Encoded"] = json!(self.is_base64);
        if let Some(method) = self.method {
            event["requestContext"]["http"]["method"] = json!(method);
        }
        if let Some(query) = self.query {
            event["rawQueryString"] = json!(query);
        }
        for (header, value) in &self.headers {
            event["headers"][header.name()] = json!(value);
        }
        event.to_string()
    }
}

/// Hands an event to the receiver function.
///
/// # Panics
/// When it is accepted although it cannot be signed, or the function fails.
pub fn try_gateway_event(input: &[u8]) -> Outcome {
    let Ok(event) = Event::arbitrary(&mut Unstructured::new(input)) else {
        return Outcome::Nothing;
    };
    let status = match event {
        Event::Raw(text) => STAGE.answer(text),
        Event::Shaped(shape) => STAGE.answer(&shape.event(&STAGE.source)),
    };
    let is_refusal = |status: u16| (400..500).contains(&status);
    assert!(status.is_none_or(is_refusal), "status {status:?}");
    status.map_or(Outcome::Nothing, |_| Outcome::Rejected)
}
