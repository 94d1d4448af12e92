//! A walk over every route with a session of the portal: it sees its tenant and nothing else.

use axum::body::Body;
use axum::extract::Request;
use http::{Method, header};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Completion, DeadCause};
use postrider_domain::key::Scope;
use postrider_domain::outcome::{FailureKind, Phase};
use serde_json::{Value, json};

use crate::inspector::{get, post};
use crate::portal::enter;
use crate::stage::{Answer, Stage};

/// In every text of the other tenant.
const FOREIGN: &str = "foreign-canary";
/// In the errors of the own tenant.
const INTERNAL: [&str; 2] = ["10.9.8.7", "10.9.0.0"];

/// What a tenant has, by id.
struct Things {
    webhook: String,
    source: String,
    delivery: String,
    event: String,
    key: String,
    job: String,
    event_type: String,
}

impl Things {
    fn ids(&self) -> [&str; 7] {
        [
            &self.webhook,
            &self.source,
            &self.delivery,
            &self.event,
            &self.key,
            &self.job,
            &self.event_type,
        ]
    }
}

fn blocked(done: &mut Completion) {
    let attempt = &mut done.attempt;
    attempt.error = Some(
        "refused: the address 10.9.8.7 is in a private network (10.9.0.0/16); use a public address"
            .to_owned(),
    );
    attempt.status_code = None;
    attempt.kind = Some(FailureKind::Blocked);
    attempt.phase = Some(Phase::Dns);
    attempt.response_body = None;
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Fills a tenant; `word` is in all its texts.
async fn fill(stage: &Stage, tenant: &str, word: &str) -> Things {
    let token = stage.token(tenant, &Scope::ALL).await;
    let call = async |path: &str, body: Value| {
        let answer = stage
            .call(&token, Method::POST, path, &body.to_string())
            .await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        answer.json()
    };
    let webhook = json!({
        "name": word, "target_url": format!("https://{word}.example/{word}"), "event_types": ["task.*"],
        "owner_email": format!("{word}@ops.example"),
    });
    let webhook = text(&call("/v1/webhooks", webhook).await["id"]);
    let source = json!({"name": word, "scheme": "github", "secret": "a-shared-secret"});
    let source = text(&call("/v1/sources", source).await["id"]);
    let key = json!({"name": word, "scopes": ["read"]});
    let key = text(&call("/v1/keys", key).await["id"]);
    let event = json!({"type": "task.done", "session_id": word, "payload": {"said": word}});
    let published = call("/v1/events", event).await;
    let delivery = text(&published["deliveries"][0]["id"]);
    let event = text(&published["id"]);
    let dead = Transition::Die {
        cause: DeadCause::Blocked,
    };
    let of = tenant.parse().unwrap();
    stage.attempt_of(of, &delivery, dead, blocked).await;
    let job = call(
        "/v1/retries",
        json!({"filter": {"status": "dead", "session_id": "none"}}),
    )
    .await;
    let event_type = format!("{word}.sent");
    // What the operator describes is for every tenant.
    if tenant != "default" {
        let entry = json!({"description": word, "group": word, "schema": {"description": word}, "examples": [{"said": word}]});
        let path = format!("/v1/event-types/{event_type}");
        let entry = entry.to_string();
        let put = stage.call(&token, Method::PUT, &path, &entry);
        put.await.expect(201);
    }
    Things {
        event_type,
        webhook,
        source,
        delivery,
        event,
        key,
        job: text(&job["id"]),
    }
}

const PAGES: [&str; 16] = [
    "",
    "/webhooks",
    "/webhooks/new",
    "/webhooks/{webhook}",
    "/webhooks/{webhook}/edit",
    "/deliveries",
    "/deliveries/{delivery}",
    "/deliveries/{delivery}/payload",
    "/events/{event}",
    "/event-types",
    "/event-types/{type}",
    "/dead",
    "/dead/retry",
    "/retries/{job}",
    "/stream?after=0",
    "/session",
];

/// What only operators have.
const OPERATORS_PAGES: [&str; 13] = [
    "/keys",
    "/keys/{key}/revoke",
    "/sources",
    "/sources/new",
    "/sources/{source}",
    "/sources/{source}/edit",
    "/sources/{source}/rotate",
    "/search?q={source}",
    "/deliveries/{delivery}/shadow",
    "/sources/{source}/delete",
    "/new-event-type",
    "/event-types/{type}/edit",
    "/event-types/{type}/delete",
];

const ACTIONS: [&str; 11] = [
    "/webhooks/{webhook}/edit",
    "/webhooks/{webhook}/pause",
    "/webhooks/{webhook}/resume",
    "/webhooks/{webhook}/rotate",
    "/webhooks/{webhook}/test",
    "/webhooks/{webhook}/delete",
    "/deliveries/{delivery}/retry",
    "/events/{event}/deliver",
    "/event-types/{type}/send",
    "/retries/{job}/cancel",
    "/retries/{job}",
];

fn path(prefix: &str, page: &str, things: &Things) -> String {
    let page = page
        .replace("{webhook}", &things.webhook)
        .replace("{source}", &things.source)
        .replace("{delivery}", &things.delivery)
        .replace("{event}", &things.event)
        .replace("{key}", &things.key)
        .replace("{job}", &things.job)
        .replace("{type}", &things.event_type);
    format!("{prefix}{page}")
}

fn assert_silent(path: &str, answer: &Answer, foreign: &Things) {
    let text = &answer.text;
    assert!(!text.contains(FOREIGN), "{path}: {text}");
    // The path itself may be repeated; what belongs to the ids may not be known.
    for id in foreign.ids().into_iter().filter(|id| !path.contains(id)) {
        assert!(!text.contains(id), "{path}: {text}");
    }
    for internal in INTERNAL {
        assert!(!text.contains(internal), "{path}: {text}");
    }
}

#[tokio::test]
async fn every_page_shows_the_own_tenant_and_nothing_else() {
    let stage = Stage::with_portal(Default::default()).await;
    let own = fill(&stage, "acme", "own-canary").await;
    let foreign = fill(&stage, "globex", FOREIGN).await;
    let default = fill(&stage, "default", FOREIGN).await;
    let cookie = enter(&stage, json!({})).await;
    let mut seen = 0;
    for page in PAGES {
        let path = path("/portal", page, &own);
        let answer = get(&stage, &path, &cookie).await;
        assert!(answer.status.as_u16() < 400, "{path}: {}", answer.status);
        assert_silent(&path, &answer, &foreign);
        assert_silent(&path, &answer, &default);
        for hidden in [
            &own.source,
            &own.key,
            "own-canary@ops",
            "/inspector",
            "POSTRIDER_",
        ] {
            assert!(
                !answer.text.contains(hidden),
                "{path}: {hidden}: {}",
                answer.text
            );
        }
        seen += answer.text.matches("own-canary").count();
    }
    assert!(seen > 10, "the own tenant is shown: {seen}");
}

#[tokio::test]
async fn what_belongs_to_others_is_not_found() {
    let stage = Stage::new().await;
    fill(&stage, "acme", "own-canary").await;
    let foreign = fill(&stage, "globex", FOREIGN).await;
    let cookie = enter(&stage, json!({})).await;
    for page in PAGES.into_iter().filter(|page| page.contains('{')) {
        let path = path("/portal", page, &foreign);
        let answer = get(&stage, &path, &cookie).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_silent(&path, &answer, &foreign);
    }
    for action in ACTIONS {
        let path = path("/portal", action, &foreign);
        let answer = post(&stage, &path, &cookie, "name=x").await;
        assert_eq!(answer.status, 404, "{path}");
        assert_silent(&path, &answer, &foreign);
    }
    let selected = format!("id={}", foreign.delivery);
    let retried = post(&stage, "/portal/dead/retry", &cookie, &selected).await;
    let there = retried.headers[header::LOCATION].to_str().unwrap();
    assert!(there.contains("n=0&failed=1"), "{there}");
}

#[tokio::test]
async fn operators_pages_and_the_api_do_not_know_the_session() {
    let stage = Stage::new().await;
    let own = fill(&stage, "acme", "own-canary").await;
    let cookie = enter(&stage, json!({})).await;
    for page in OPERATORS_PAGES {
        let there = path("/portal", page, &own);
        for method in [Method::GET, Method::POST] {
            let answer = match method {
                Method::GET => get(&stage, &there, &cookie).await,
                _ => post(&stage, &there, &cookie, "").await,
            };
            assert_eq!(answer.status, 404, "{method} {there}");
        }
    }
    for page in PAGES.into_iter().chain(OPERATORS_PAGES) {
        let there = path("/inspector", page, &own);
        let answer = get(&stage, &there, &cookie).await;
        assert!(!answer.text.contains("own-canary"), "{there}");
        assert!(
            matches!(answer.status.as_u16(), 303 | 401 | 404),
            "{there}: {}",
            answer.status
        );
    }
    for action in ACTIONS.into_iter().chain(OPERATORS_PAGES) {
        let there = path("/inspector", action, &own);
        let answer = post(&stage, &there, &cookie, "").await;
        assert!(
            matches!(answer.status.as_u16(), 401 | 404),
            "{there}: {}",
            answer.status
        );
    }
    let document = stage.get("/openapi.json").await.expect(200);
    let open = ["/", "/healthz", "/livez", "/openapi.json"];
    for (there, methods) in document["paths"].as_object().unwrap() {
        if open.contains(&there.as_str()) {
            continue;
        }
        for method in methods.as_object().unwrap().keys() {
            let Ok(method) = Method::from_bytes(method.to_uppercase().as_bytes()) else {
                continue;
            };
            let request = Request::builder()
                .method(method)
                .uri(
                    there
                        .replace("{id}", &own.webhook)
                        .replace("{refused_id}", "x"),
                )
                .header(header::COOKIE, &cookie)
                .header(header::CONTENT_TYPE, "application/json");
            let answer = stage.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 401, "{there}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_read_only_session_looks_and_changes_nothing() {
    let stage = Stage::new().await;
    let own = fill(&stage, "acme", "own-canary").await;
    let cookie = enter(&stage, json!({"scopes": ["read"]})).await;
    for page in [
        "/webhooks",
        "/webhooks/{webhook}",
        "/deliveries/{delivery}",
        "/dead",
    ] {
        let there = path("/portal", page, &own);
        let answer = get(&stage, &there, &cookie).await;
        assert_eq!(answer.status, 200, "{there}");
        let forms = answer.text.matches("method=\"post\"").count();
        let allowed = answer.text.matches("/logout\"").count()
            + answer.text.matches("action=\"/portal/dead/retry\"").count();
        assert_eq!(forms, allowed, "{there}: no buttons");
    }
    let creating = ["/webhooks/new", "/retries", "/dead/retry"];
    for action in ACTIONS.into_iter().chain(creating) {
        if action == "/retries/{job}" {
            continue;
        }
        let there = path("/portal", action, &own);
        let answer = post(&stage, &there, &cookie, "").await;
        assert_eq!(answer.status, 403, "{there}");
        assert!(answer.text.contains("read-only"), "{}", answer.text);
    }
}
