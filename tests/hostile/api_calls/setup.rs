//! Fills a gateway with something of every kind in two tenants, and creates keys for callers of every kind.

use std::fs;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use postrider_domain::attempt::Attempt;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_ports::deliveries::{Claim, Seen, Wanted};
use postrider_testkit::builders::{completion, lease};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::caller::Caller;
use super::samples::{self, Objects};
use super::stage::{Credentials, Facts, HOST, MARKUP, SECRETS, Stage, answered};
use crate::hostile::scene::NOW;

/// A directory that is ready to be used, and what is in it.
struct Prepared {
    directory: TempDir,
    facts: Arc<Facts>,
}

static PREPARED: LazyLock<Prepared> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = Stage::open(directory, Arc::default(), 7);
    let credentials = Caller::ALL.map(|caller| stage.admit(caller));
    stage.know(|facts| facts.credentials = credentials.into());
    stage.open_portal();
    let objects = stage.fill();
    stage.know(|facts| {
        facts.vocabulary = samples::vocabulary(&objects);
        facts.forms = samples::forms(&objects);
        facts.objects = objects;
    });
    let operations = stage.operations();
    stage.know(|facts| facts.operations = operations);
    // The first use of a key is recorded.
    for caller in Caller::ALL {
        stage.call(caller, Method::GET, "/v1/stats", None);
    }
    let Stage {
        directory, facts, ..
    } = stage;
    Prepared { directory, facts }
});

impl Stage {
    /// A gateway that is as every other.
    pub(super) fn new() -> Self {
        let copy = tempfile::tempdir().unwrap();
        // Without the directory for the locks of running processes.
        for name in ["postrider.db", "secret.key"] {
            let from = PREPARED.directory.path().join(name);
            fs::copy(from, copy.path().join(name)).unwrap();
        }
        let stage = Self::open(copy, Arc::clone(&PREPARED.facts), 8);
        // The first health check writes.
        stage.call(Caller::Nobody, Method::GET, "/healthz", None);
        stage
    }

    fn know(&mut self, learn: impl FnOnce(&mut Facts)) {
        learn(Arc::get_mut(&mut self.facts).unwrap());
    }

    /// As the OpenAPI document lists them, so a new one is tried without a change here.
    fn operations(&self) -> Vec<(Method, String, Option<Value>)> {
        let document = self.call(Caller::Operator, Method::GET, "/openapi.json", None);
        let mut operations = Vec::new();
        for (path, methods) in document.json()["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let method = method.to_uppercase().parse().unwrap();
                let id = operation["operationId"].as_str().unwrap();
                let sample = samples::of_operation(id, &self.facts.objects);
                let takes_body = !operation["requestBody"].is_null();
                assert_eq!(takes_body, sample.is_some(), "a sample body for {id}");
                operations.push((method, path.clone(), sample));
            }
        }
        operations
    }

    /// Creates a caller's key and logs the caller in where the key allows it.
    fn admit(&self, caller: Caller) -> Credentials {
        let Some((tenant, scopes)) = caller.rights() else {
            return caller.invented();
        };
        let tenant: TenantId = tenant.parse().unwrap();
        let keyring = &self.gateway.keyring;
        let made = self
            .runtime
            .block_on(keyring.create(&tenant, "test", scopes.to_vec()));
        let token = made.unwrap().token;
        let cookie = if scopes.contains(&Scope::Read) {
            self.log_in("/inspector/login", &format!("key={token}"))
        } else {
            String::new()
        };
        Credentials { token, cookie }
    }

    fn log_in(&self, path: &str, form: &str) -> String {
        let request = Request::post(path)
            .header(header::HOST, HOST)
            .header(header::ORIGIN, format!("https://{HOST}"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let reply = self.send(request.body(Body::from(form.to_owned())).unwrap());
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
        let cookie = reply.header(header::SET_COOKIE);
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    /// The token of a new link to the portal of `acme`.
    fn portal_link(&self, scopes: &[&str]) -> String {
        let wish = json!({"tenant": "acme", "expires_in_seconds": 3600, "scopes": scopes});
        let made = self.post(Caller::Operator, "/v1/portal-links", &wish);
        let url = made["url"].as_str().unwrap();
        url.split_once("once=").unwrap().1.to_owned()
    }

    /// Logs the customers in to the portal.
    fn open_portal(&mut self) {
        for (caller, scopes) in [
            (Caller::Customer, &["read", "manage"][..]),
            (Caller::CustomerReader, &["read"]),
        ] {
            let once = self.portal_link(scopes);
            let cookie = self.log_in("/portal/login", &format!("once={once}"));
            let known = Caller::ALL.iter();
            let at = known.take_while(|known| **known != caller).count();
            self.know(|facts| {
                let cookies = &mut facts.credentials[at].cookie;
                *cookies = format!("{cookies}; {cookie}");
            });
        }
    }

    fn fill(&self) -> Objects {
        let mut objects = Objects::default();
        for caller in [Caller::Operator, Caller::Customer] {
            self.fill_tenant(caller, &mut objects);
        }
        objects.token = self.credentials(Caller::Reader).token.clone();
        objects.portal_link = self.portal_link(&["read", "manage"]);
        let key = samples::SEALING_KEY;
        let wish = json!({"key": key, "deliveries": "all"});
        let page = self.post(Caller::Operator, "/v1/export", &wish);
        objects.records = page["records"].as_array().cloned().unwrap_or_default();
        objects.cursors.extend(text(&page["next_cursor"]));
        let page = self.call(
            Caller::Operator,
            Method::GET,
            "/v1/deliveries?limit=1",
            None,
        );
        objects.cursors.extend(text(&page.json()["next_cursor"]));
        objects
    }

    fn fill_tenant(&self, caller: Caller, objects: &mut Objects) {
        let put =
            |path: &str, body: &Value| self.call(caller, Method::PUT, path, Some(body)).json();
        put("/v1/event-types/task.done", &samples::event_type());
        let mut draft = samples::webhook();
        draft["secret"] = json!(SECRETS[1]);
        let webhook = self.post(caller, "/v1/webhooks", &draft);
        let webhook = text(&webhook["id"]).unwrap();
        let rotated = json!({"secret": SECRETS[0]});
        self.post(
            caller,
            &format!("/v1/webhooks/{webhook}/rotate-secret"),
            &rotated,
        );
        let paused = self.post(caller, "/v1/webhooks", &samples::plain_webhook());
        let paused = text(&paused["id"]).unwrap();
        self.post(
            caller,
            &format!("/v1/webhooks/{paused}/pause"),
            &Value::Null,
        );
        for transition in [
            Transition::Deliver,
            Transition::Die {
                cause: DeadCause::Exhausted,
            },
            Transition::Die {
                cause: DeadCause::Exhausted,
            },
        ] {
            let event = self.post(caller, "/v1/events", &samples::event());
            objects.events.extend(text(&event["id"]));
            let deliveries = event["deliveries"].as_array().cloned().unwrap_or_default();
            let ids: Vec<_> = deliveries
                .iter()
                .filter_map(|one| text(&one["id"]))
                .collect();
            let sent = ids.iter().find(|id| self.attempt(caller, id, transition));
            assert!(sent.is_some(), "an event has a delivery: {event}");
            objects.deliveries.extend(ids);
        }
        for mut source in samples::sources() {
            source["routes"] = json!([samples::route(&webhook)]);
            let made = self.post(caller, "/v1/sources", &source);
            let id = text(&made["id"]).unwrap();
            self.reject(&id);
            let refused = format!("/v1/sources/{id}/refused");
            let refused = self.call(caller, Method::GET, &refused, None).json();
            objects.rejected.extend(text(&refused["items"][0]["id"]));
            objects.sources.push(id);
        }
        let idle = self.post(caller, "/v1/webhooks", &samples::idle_webhook());
        let idle = text(&idle["id"]).unwrap();
        if caller == Caller::Operator {
            objects.idle_webhook.clone_from(&idle);
        }
        objects.webhooks.extend([webhook, paused, idle]);
        let job = self.post(
            caller,
            "/v1/retries",
            &json!({"filter": {"status": "dead"}}),
        );
        objects.jobs.extend(text(&job["id"]));
        let erased = self.call(caller, Method::DELETE, "/v1/sessions/s-9", None);
        objects.erasures.extend(text(&erased.json()["id"]));
        let keys = self.call(caller, Method::GET, "/v1/keys", None).json();
        let keys = keys["items"].as_array().cloned().unwrap_or_default();
        objects
            .keys
            .extend(keys.iter().filter_map(|key| text(&key["id"])));
    }

    /// Attempts a delivery with this result; false if it is on hold.
    fn attempt(&self, caller: Caller, id: &str, transition: Transition) -> bool {
        let store = &self.gateway.ports.store;
        let (tenant, _) = caller.rights().unwrap();
        let wanted = Wanted {
            tenant: tenant.parse().unwrap(),
            id: id.parse().unwrap(),
            lease: lease(&self.process, 1, NOW.plus(Millis::from_seconds(20))),
            seen: Seen::default(),
        };
        self.runtime.block_on(async {
            let claim = store.claim(vec![wanted], NOW).await.pop().unwrap().unwrap();
            let Claim::Claimed(delivery) = claim else {
                return false;
            };
            let claimed = &delivery.claimed;
            let mut done = completion(claimed, transition, NOW);
            let version = claimed.version();
            let verdict = transition.verdict();
            done.attempt = Attempt::record(1, version, NOW, &answered(), verdict);
            store.apply(claimed, done, NOW).await.unwrap();
            true
        })
    }

    /// A request that a source rejects and stores.
    fn reject(&self, source: &str) {
        let receiver = postrider_receiver::router(Arc::clone(&self.gateway));
        let request = Request::post(format!(
            "/gateway/webhooks/{source}?a=%3Cpostrider-probe%3E"
        ))
        .header("x-hub-signature-256", "sha256=00")
        .header("x-acme-signature", "v1=00")
        .body(Body::from(MARKUP));
        let response = self.runtime.block_on(receiver.oneshot(request.unwrap()));
        assert_eq!(response.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
