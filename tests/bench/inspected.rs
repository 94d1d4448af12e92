//! The cost of the Inspector's pages when many rows are stored.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::SqliteStore;
use postrider_adapter_system::SystemEntropy;
use postrider_api::Streaming;
use postrider_domain::egress::Rules;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::key::Scope;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Timestamp;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::shadow::Shadows;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::recording_queue::RecordingQueue;
use tower::ServiceExt;

use crate::report::{Bar, Report};
use crate::samples::Samples;

const OF: &str = "Pages of the Inspector, many rows ÷ 1,000";
const BAR: Bar = Bar::AtMost(1.1);
const HOST: &str = "bench.example";
const LOOKS: usize = 5;

/// A page, and how long it took each time.
struct Timed {
    name: &'static str,
    path: String,
    took: Samples,
}

/// The Inspector over one store, with a logged-in operator.
pub(crate) struct Inspected {
    router: axum::Router,
    cookie: String,
    pages: Vec<Timed>,
}

impl Inspected {
    /// Logs in over this store, at this instant. One of the pages shows this delivery.
    pub(crate) async fn over(store: &Arc<SqliteStore>, now: Timestamp, id: DeliveryId) -> Self {
        let ports = Ports {
            store: Arc::clone(store) as _,
            clock: Arc::new(SteppedClock::at(now)),
            entropy: Arc::new(SystemEntropy),
        };
        let settings = GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress: Rules::default(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        };
        let webhook_cache = Arc::new(WebhookCache::new(Arc::clone(store) as _));
        let sender = Arc::new(HttpSender::new(SenderSettings::default()).unwrap());
        let shadows = Shadows::new(ports.clone(), sender, Rules::default());
        let gateway = Gateway::new(
            ports,
            webhook_cache,
            Arc::new(RecordingQueue::default()),
            settings,
        );
        let tenant = TenantId::default();
        let key = gateway
            .keyring
            .create(&tenant, "bench", Scope::ALL.to_vec());
        let form = format!("key={}", key.await.unwrap().token);
        let mut inspected = Self {
            router: postrider_api::router(Arc::new(gateway), shadows, Streaming::Polled),
            cookie: String::new(),
            pages: pages(id),
        };
        let login = inspected.request("POST", "/inspector/login", form);
        let answer = inspected.router.clone().oneshot(login).await.unwrap();
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
        inspected.cookie = cookie.split(';').next().unwrap().to_owned();
        inspected
    }

    fn request(&self, method: &str, path: &str, body: String) -> Request<Full<Bytes>> {
        let request = Request::builder().method(method).uri(path);
        request
            .header(header::HOST, HOST)
            .header(header::ORIGIN, format!("https://{HOST}"))
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(body))
            .unwrap()
    }

    /// Loads each page a few times.
    pub(crate) async fn round(&mut self) {
        for at in 0..self.pages.len() {
            for _ in 0..LOOKS {
                let request = self.request("GET", &self.pages[at].path, String::new());
                let began = Instant::now();
                let answer = self.router.clone().oneshot(request).await.unwrap();
                let status = answer.status();
                answer.into_body().collect().await.unwrap();
                let page = &mut self.pages[at];
                page.took.since(began);
                assert_eq!(status, StatusCode::OK, "{}", page.path);
            }
        }
    }
}

fn pages(id: DeliveryId) -> Vec<Timed> {
    [
        ("overview", String::new()),
        ("overview of a month", "?window=31d".to_owned()),
        ("deliveries", "/deliveries".to_owned()),
        (
            "deliveries, delivered",
            "/deliveries?status=delivered".to_owned(),
        ),
        (
            "deliveries of a webhook",
            format!("/deliveries?webhook_id={}", id.webhook),
        ),
        (
            "deliveries of a type that does not exist",
            "/deliveries?event_type=no.where".to_owned(),
        ),
        (
            "deliveries of a session that does not exist",
            "/deliveries?session_id=unknown".to_owned(),
        ),
        ("one delivery", format!("/deliveries/{id}")),
        ("one event", format!("/events/{}", id.event)),
        ("dead letters", "/dead".to_owned()),
        ("webhooks", "/webhooks".to_owned()),
        ("one webhook", format!("/webhooks/{}", id.webhook)),
    ]
    .map(|(name, path)| Timed {
        name,
        path: format!("/inspector{path}"),
        took: Samples::default(),
    })
    .into()
}

/// Compares the cost of each page between the two stores.
pub(crate) fn compare(few: &Inspected, many: &Inspected, report: &mut Report) {
    let mut of = report.of(OF);
    for (few, many) in few.pages.iter().zip(&many.pages) {
        let ratio = many.took.p50_ms() / few.took.p50_ms();
        of.against(BAR, few.name, ratio, "");
    }
    let slowest = few.pages.iter().map(|page| page.took.p50_ms());
    of.measurement(
        "the slowest, 1,000 rows, p50",
        slowest.fold(0.0, f64::max),
        "ms",
    );
}
