//! The Inspector on metered tables, with a logged-in user.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use http::{Method, StatusCode, header};
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_system::SystemEntropy;
use postrider_api::Streaming;
use postrider_domain::egress::Rules;
use postrider_domain::ids::DeliveryId;
use postrider_domain::key::Scope;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::shadow::Shadows;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_testkit::builders::NOW;
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::recording_queue::RecordingQueue;
use tower::ServiceExt;

use crate::support::Metered;

const HOST: &str = "gateway.example";

/// Every read-only page, by its path below `/inspector`.
pub(crate) fn pages(id: DeliveryId) -> Vec<String> {
    let webhook = id.webhook;
    vec![
        String::new(),
        "?window=31d".to_owned(),
        "/deliveries".to_owned(),
        "/deliveries?status=dead".to_owned(),
        "/deliveries?status=delivered".to_owned(),
        format!("/deliveries?webhook_id={webhook}"),
        "/deliveries?event_type=no.where".to_owned(),
        "/deliveries?session_id=unknown".to_owned(),
        format!("/deliveries/{id}"),
        format!("/deliveries/{id}/shadow"),
        format!("/events/{}", id.event),
        "/dead".to_owned(),
        format!("/dead?webhook_id={webhook}"),
        "/webhooks".to_owned(),
        format!("/webhooks/{webhook}"),
        "/sources".to_owned(),
        "/keys".to_owned(),
    ]
}

/// A minimal browser.
pub(crate) struct Inspector<'a> {
    metered: &'a Metered,
    router: axum::Router,
    cookie: String,
}

impl<'a> Inspector<'a> {
    /// Logs in, late enough that everything is in the past.
    pub(crate) async fn over(metered: &'a Metered) -> Self {
        let store = &metered.scene.handle.store;
        let ports = Ports {
            store: Arc::clone(store),
            clock: Arc::new(SteppedClock::at(NOW.plus(Millis::from_seconds(24 * 3600)))),
            entropy: Arc::new(SystemEntropy),
        };
        let settings = GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress: Rules::default(),
            retry: RuntimeRetry::default(),
            event_validation: Default::default(),
        };
        let sender = Arc::new(HttpSender::new(SenderSettings::default()).unwrap());
        let shadows = Shadows::new(ports.clone(), sender, Rules::default());
        let webhook_cache = Arc::new(WebhookCache::new(Arc::clone(store) as _));
        let gateway = Gateway::new(
            ports,
            webhook_cache,
            Arc::new(RecordingQueue::default()),
            settings,
        );
        let tenant = &metered.scene.tenant;
        let key = gateway.keyring.create(tenant, "pages", Scope::ALL.to_vec());
        let form = format!("key={}", key.await.unwrap().token);
        let mut inspector = Self {
            metered,
            router: postrider_api::router(Arc::new(gateway), shadows, Streaming::Polled),
            cookie: String::new(),
        };
        let login = inspector.request(Method::POST, "/inspector/login", form);
        let answer = inspector.router.clone().oneshot(login).await.unwrap();
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
        inspector.cookie = cookie.split(';').next().unwrap().to_owned();
        inspector
    }

    /// Loads a page and returns the read units it costs.
    pub(crate) async fn look(&self, path: &str) -> f64 {
        self.metered.meter.take();
        let request = self.request(Method::GET, &format!("/inspector{path}"), String::new());
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let page = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {page:?}");
        self.metered.meter.take().reads
    }

    fn request(&self, method: Method, path: &str, form: String) -> Request {
        let request = Request::builder().method(method).uri(path);
        request
            .header(header::HOST, HOST)
            .header(header::ORIGIN, format!("https://{HOST}"))
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .unwrap()
    }
}
