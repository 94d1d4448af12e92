//! The portal's links, sessions and headers. How the pages behave is tested in a browser.

use axum::body::Body;
use axum::extract::Request;
use http::{Method, StatusCode, header};
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_gateway::settings::portal::PortalSettings;
use serde_json::{Value, json};

use crate::inspector::{get, location, log_in, post};
use crate::stage::{Answer, Stage, new_webhook};

/// Creates a link for the tenant `acme`; returns the path that a browser opens.
pub(crate) async fn link(stage: &Stage, more: Value) -> String {
    let mut given = json!({"tenant": "acme", "expires_in_seconds": 300});
    let (given_fields, more) = (given.as_object_mut().unwrap(), more);
    given_fields.extend(more.as_object().unwrap().clone());
    let made = stage.post("/v1/portal-links", given).await.expect(201);
    let url = made["url"].as_str().unwrap();
    assert!(made["expires_at"].is_string(), "{made}");
    url.strip_prefix("https://").map_or(url, |url| url).into()
}

pub(crate) async fn open(stage: &Stage, link: &str) -> Answer {
    let (path, token) = link.split_once("?once=").unwrap();
    assert!(path.ends_with("/portal/login"), "{path}");
    post(stage, "/portal/login", "", &format!("once={token}")).await
}

pub(crate) fn cookie_of(answer: &Answer) -> String {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// Logs a customer of `acme` in.
pub(crate) async fn enter(stage: &Stage, more: Value) -> String {
    cookie_of(&open(stage, &link(stage, more).await).await)
}

#[tokio::test]
async fn a_link_logs_in_once() {
    let stage = Stage::new().await;
    let link = link(&stage, json!({})).await;
    let path = format!("/portal{}", link.split_once("/portal").unwrap().1);
    for _ in 0..2 {
        let page = get(&stage, &path, "").await;
        assert_eq!(page.status, 200, "opening the link does not use it up");
        assert!(!page.headers.contains_key(header::SET_COOKIE));
    }
    let first = open(&stage, &link).await;
    assert_eq!(location(&first), "/portal/webhooks");
    let cookie = cookie_of(&first);
    assert_eq!(get(&stage, "/portal/webhooks", &cookie).await.status, 200);
    let again = open(&stage, &link).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
    assert!(again.text.contains("already used"), "{}", again.text);
    assert!(!again.headers.contains_key(header::SET_COOKIE));
}

#[tokio::test]
async fn a_link_of_another_tenant_does_not_replace_a_session_by_itself() {
    let stage = Stage::new().await;
    let acme = enter(&stage, json!({})).await;
    let link = link(&stage, json!({"tenant": "globex"})).await;
    let once = format!("once={}", link.split_once("?once=").unwrap().1);
    for _ in 0..2 {
        let asked = post(&stage, "/portal/login", &acme, &once).await;
        assert_eq!(asked.status, 200, "{}", asked.text);
        assert!(!asked.headers.contains_key(header::SET_COOKIE));
        for part in ["data-confirm", "Log in as globex", "<b>acme</b>"] {
            assert!(asked.text.contains(part), "{part}: {}", asked.text);
        }
    }
    let confirmed = format!("{once}&confirmed=yes");
    let globex = post(&stage, "/portal/login", &acme, &confirmed).await;
    assert!(cookie_of(&globex).starts_with("postrider_portal=globex."));
    let again = post(&stage, "/portal/login", &acme, &confirmed).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED, "it was used");
}

#[tokio::test]
async fn a_link_of_the_same_tenant_replaces_a_session() {
    let stage = Stage::new().await;
    let cookie = enter(&stage, json!({})).await;
    let link = link(&stage, json!({})).await;
    let page = format!("/portal{}", link.split_once("/portal").unwrap().1);
    let page = get(&stage, &page, &cookie).await;
    assert!(!page.text.contains("data-confirm"), "{}", page.text);
    let once = format!("once={}", link.split_once("?once=").unwrap().1);
    let entered = post(&stage, "/portal/login", &cookie, &once).await;
    assert_ne!(cookie_of(&entered), cookie);
}

#[tokio::test]
async fn a_link_expires() {
    let stage = Stage::new().await;
    let link = link(&stage, json!({"expires_in_seconds": 60})).await;
    stage.clock.advance(Millis::from_seconds(60));
    let late = open(&stage, &link).await;
    assert_eq!(late.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn invalid_links_are_refused_with_the_limits() {
    let stage = Stage::new().await;
    for (more, field, words) in [
        (
            json!({"expires_in_seconds": 59}),
            "expires_in_seconds",
            "60 to 86400",
        ),
        (
            json!({"expires_in_seconds": 86_401}),
            "expires_in_seconds",
            "60 to 86400",
        ),
        (json!({"tenant": "no tenant"}), "tenant", ""),
        (
            json!({"return_url": "javascript:alert(1)"}),
            "return_url",
            "https://",
        ),
        (json!({"scopes": ["publish"]}), "scopes", "`read`, `manage`"),
        (json!({"scopes": []}), "scopes", "`read`, `manage`"),
    ] {
        let mut given = json!({"tenant": "acme", "expires_in_seconds": 300});
        let fields = given.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        stage
            .post("/v1/portal-links", given)
            .await
            .refuses(field, words);
    }
    let without = stage.post("/v1/portal-links", json!({"tenant": "acme"}));
    without.await.refuses("expires_in_seconds", "");
}

#[tokio::test]
async fn only_the_default_tenant_makes_links_for_another() {
    let stage = Stage::new().await;
    let acme = stage.token("acme", &[Scope::Manage]).await;
    let ask = |token: String, tenant: &'static str| {
        let body = json!({"tenant": tenant, "expires_in_seconds": 300}).to_string();
        let stage = &stage;
        async move {
            let made = stage.call(&token, Method::POST, "/v1/portal-links", &body);
            made.await
        }
    };
    ask(acme.clone(), "acme").await.expect(201);
    for other in ["globex", "default"] {
        let refused = ask(acme.clone(), other).await;
        refused.problem(403, "foreign_tenant");
    }
    let reader = stage.token("default", &[Scope::Read]).await;
    ask(reader, "default").await.problem(403, "missing_scope");
}

#[tokio::test]
async fn a_link_has_the_public_url_if_one_is_set() {
    let stage = Stage::new().await;
    let request = |body: &str| {
        Request::builder()
            .method(Method::POST)
            .uri("/v1/portal-links")
            .header(header::HOST, "internal:8080")
            .header("authorization", format!("Bearer {}", stage.admin))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap()
    };
    let body = r#"{"tenant": "acme", "expires_in_seconds": 60}"#;
    let url = stage.send(request(body)).await.expect(201)["url"].clone();
    let url = url.as_str().unwrap();
    assert!(
        url.starts_with("http://internal:8080/portal/login?once="),
        "{url}"
    );
    let public = Stage::with_portal(PortalSettings {
        public_url: Some("https://hooks.example/gw".to_owned()),
        ..PortalSettings::default()
    });
    let public = public.await;
    let body = json!({"tenant": "acme", "expires_in_seconds": 60});
    let url = public.post("/v1/portal-links", body).await.expect(201)["url"].clone();
    let url = url.as_str().unwrap();
    assert!(
        url.starts_with("https://hooks.example/gw/portal/login?once="),
        "{url}"
    );
}

#[tokio::test]
async fn a_portal_session_is_a_cookie_of_its_own() {
    let stage = Stage::new().await;
    let answer = open(&stage, &link(&stage, json!({})).await).await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    for part in [
        "postrider_portal=",
        "HttpOnly",
        "SameSite=Strict",
        "Secure",
        "Max-Age=14400",
        "Path=/portal",
    ] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    let portal = cookie_of(&answer);
    let inspector = log_in(&stage, &stage.admin).await;
    let swapped = portal.replace("postrider_portal", "postrider_session");
    let other = inspector.replace("postrider_session", "postrider_portal");
    for (path, cookie) in [
        ("/inspector", &portal),
        ("/inspector", &swapped),
        ("/portal/webhooks", &inspector),
        ("/portal/webhooks", &other),
    ] {
        let answer = get(&stage, path, cookie).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path} {cookie}");
    }
    stage.clock.advance(Millis::from_seconds(4 * 3600 - 1));
    assert_eq!(get(&stage, "/portal/webhooks", &portal).await.status, 200);
    stage.clock.advance(Millis::from_seconds(1));
    let over = get(&stage, "/portal/webhooks", &portal).await;
    assert_eq!(location(&over), "/portal/login");
}

#[tokio::test]
async fn revoking_the_key_ends_its_links_and_sessions() {
    let stage = Stage::new().await;
    let made = json!({"name": "app", "scopes": ["manage"]});
    let made = stage.post("/v1/keys", made).await.expect(201);
    let (id, token) = (
        made["id"].as_str().unwrap(),
        made["token"].as_str().unwrap(),
    );
    let body = json!({"tenant": "acme", "expires_in_seconds": 300}).to_string();
    let mut links = Vec::new();
    for _ in 0..2 {
        let made = stage.call(token, Method::POST, "/v1/portal-links", &body);
        let made = made.await.expect(201);
        links.push(made["url"].as_str().unwrap().to_owned());
    }
    let cookie = cookie_of(&open(&stage, &links[0]).await);
    assert_eq!(get(&stage, "/portal/webhooks", &cookie).await.status, 200);
    let revoked = stage.delete(&format!("/v1/keys/{id}")).await;
    assert_eq!(revoked.status, 204);
    let over = get(&stage, "/portal/webhooks", &cookie).await;
    assert_eq!(location(&over), "/portal/login");
    let unused = open(&stage, &links[1]).await;
    assert_eq!(unused.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn logging_out_of_the_portal_ends_the_session_on_the_server() {
    let stage = Stage::new().await;
    let cookie = enter(&stage, json!({})).await;
    let other = enter(&stage, json!({})).await;
    let out = post(&stage, "/portal/logout", &cookie, "").await;
    assert_eq!(location(&out), "/portal/login");
    let copy = get(&stage, "/portal/webhooks", &cookie).await;
    assert_eq!(copy.status, StatusCode::SEE_OTHER, "a copy of the cookie");
    assert_eq!(get(&stage, "/portal/webhooks", &other).await.status, 200);
}

#[tokio::test]
async fn a_customer_creates_tests_pauses_and_rotates() {
    let stage = Stage::new().await;
    let cookie = enter(
        &stage,
        json!({"return_url": "https://app.example/settings"}),
    )
    .await;
    let form = "name=Mine&target_url=https://receiver.example/&event_types=task.*\
                &owner_email=x@y.example&max_rate=1";
    let created = post(&stage, "/portal/webhooks/new", &cookie, form).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    assert!(created.text.contains("whsec_"), "the secret is shown once");
    assert!(created.text.contains("https://app.example/settings"));
    let acme = stage.token("acme", &Scope::ALL).await;
    let list = stage
        .call(&acme, Method::GET, "/v1/webhooks", "")
        .await
        .expect(200);
    let stored = &list["items"][0];
    assert_eq!(
        (&stored["owner_email"], &stored["max_rate"]),
        (&Value::Null, &Value::Null)
    );
    let id = stored["id"].as_str().unwrap();
    let at = |action: &str| format!("/portal/webhooks/{id}/{action}");
    let tested = post(&stage, &at("test"), &cookie, "").await;
    assert!(location(&tested).starts_with("/portal/deliveries/dlv_"));
    for (action, done) in [("pause", "paused"), ("resume", "resumed")] {
        let answer = post(&stage, &at(action), &cookie, "").await;
        assert_eq!(
            location(&answer),
            format!("/portal/webhooks/{id}?done={done}")
        );
    }
    let rotated = post(&stage, &at("rotate"), &cookie, "").await;
    assert!(rotated.text.contains("whsec_"), "{}", rotated.text);
    let page = get(&stage, &format!("/portal/webhooks/{id}"), &cookie).await;
    assert!(!page.text.contains("whsec_") && !page.text.contains("/inspector"));
    let deleted = post(&stage, &at("delete"), &cookie, "").await;
    assert_eq!(location(&deleted), "/portal/webhooks?done=webhook-deleted");
}

#[tokio::test]
async fn stored_header_values_do_not_follow_a_url_to_another_server() {
    let stage = Stage::new().await;
    let acme = stage.token("acme", &Scope::ALL).await;
    let mut webhook = new_webhook();
    webhook["target_url"] = json!("https://receiver.example/hook");
    webhook["headers"] = json!({"authorization": "Bearer of-the-operator"});
    let webhook = webhook.to_string();
    let made = stage.call(&acme, Method::POST, "/v1/webhooks", &webhook);
    let made = made.await.expect(201);
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let edit = format!("/portal/webhooks/{}/edit", made["id"].as_str().unwrap());
    let cookie = enter(&stage, json!({})).await;
    let save = async |host: &str, value: &str| {
        let form = format!(
            "name=n&target_url=https://{host}/&event_types=task.*&headers[0].name=authorization\
             &headers[0].value={value}&headers[0].stored=yes"
        );
        post(&stage, &edit, &cookie, &form).await
    };
    let target = async || {
        let shown = stage.call(&acme, Method::GET, &path, "").await.expect(200);
        shown["target_url"].as_str().unwrap().to_owned()
    };
    let refused = save("stranger.example", "").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    for part in ["headers.authorization", "enter the value again"] {
        assert!(refused.text.contains(part), "{}", refused.text);
    }
    assert_eq!(target().await, "https://receiver.example/hook");
    let kept = save("receiver.example", "").await;
    assert_eq!(kept.status, StatusCode::SEE_OTHER, "{}", kept.text);
    assert_eq!(target().await, "https://receiver.example/");
    let entered = save("stranger.example", "mine").await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER, "{}", entered.text);
    assert_eq!(target().await, "https://stranger.example/");
}

#[tokio::test]
async fn a_change_from_another_site_is_rejected() {
    let stage = Stage::new().await;
    let cookie = enter(&stage, json!({})).await;
    for origin in ["https://evil.example", "null"] {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/portal/webhooks/new")
            .header(header::HOST, "gateway.example")
            .header(header::ORIGIN, origin)
            .header(header::COOKIE, &cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = stage.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{origin}");
    }
}

#[tokio::test]
async fn the_portal_cannot_be_embedded_unless_a_setting_names_the_site() {
    let stage = Stage::new().await;
    let plain = get(&stage, "/portal/login", "").await;
    assert_eq!(plain.headers["x-frame-options"], "DENY");
    let policy = plain.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
    let stage = Stage::with_portal(PortalSettings {
        name: "Acme <b>Cloud</b>".to_owned(),
        logo: Some("https://cdn.example/logo.svg".parse().unwrap()),
        color: Some("#1a66cc".parse().unwrap()),
        frame_ancestors: vec!["https://app.example".parse().unwrap()],
        ..PortalSettings::default()
    });
    let stage = stage.await;
    let page = get(&stage, "/portal/login", "").await;
    assert!(!page.headers.contains_key("x-frame-options"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.ends_with("frame-ancestors https://app.example"),
        "{policy}"
    );
    assert!(
        policy.contains("img-src 'self' data: https://cdn.example;"),
        "{policy}"
    );
    assert!(page.text.contains("Acme &#60;b&#62;Cloud"), "{}", page.text);
    let style = page
        .text
        .split('"')
        .find(|text| text.ends_with("-brand.css"));
    let style = get(&stage, style.unwrap(), "").await;
    assert!(
        style.text.contains("--accent: light-dark("),
        "{}",
        style.text
    );
    let answer = open(&stage, &link(&stage, json!({})).await).await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.ends_with("SameSite=None; Secure; Partitioned"),
        "{cookie}"
    );
    let inspector = get(&stage, "/inspector/login", "").await;
    assert_eq!(inspector.headers["x-frame-options"], "DENY");
    assert!(!inspector.text.contains("Acme"));
}

#[tokio::test]
async fn the_stream_of_the_portal_names_changes_and_nothing_else() {
    let stage = Stage::with_portal(PortalSettings::default()).await;
    let acme = stage.token("acme", &Scope::ALL).await;
    let webhook = new_webhook().to_string();
    let made = stage.call(&acme, Method::POST, "/v1/webhooks", &webhook);
    let made = made.await.expect(201);
    let id = made["id"].as_str().unwrap();
    let cookie = enter(&stage, json!({})).await;
    let before = get(&stage, "/portal/stream?after=0", &cookie).await;
    assert_eq!(before.status, 200);
    post(&stage, &format!("/portal/webhooks/{id}/pause"), &cookie, "").await;
    let stream = get(&stage, "/portal/stream?after=0", &cookie).await;
    let data = format!(r#"data: {{"webhook_id":"{id}"}}"#);
    assert!(
        stream.text.contains("event: webhook.paused"),
        "{}",
        stream.text
    );
    assert!(stream.text.contains(&data), "{}", stream.text);
    assert!(!stream.text.contains("specversion"), "{}", stream.text);
    let without = get(&stage, "/portal/stream", "").await;
    assert_eq!(without.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_customer_sees_the_usage_of_their_tenant_only() {
    let stage = Stage::new().await;
    let other = json!({"id": "other-tenant", "name": "Other"});
    stage.post("/v1/tenants", other).await.expect(201);
    let token = stage.token("acme", &Scope::ALL).await;
    let webhook = new_webhook().to_string();
    let made = stage.call(&token, Method::POST, "/v1/webhooks", &webhook);
    made.await.expect(201);
    let event = json!({"type": "task.done", "payload": "12345678"}).to_string();
    for _ in 0..3 {
        let published = stage.call(&token, Method::POST, "/v1/events", &event);
        published.await.expect(202);
    }
    let cookie = enter(&stage, json!({"scopes": ["read"]})).await;
    let page = get(&stage, "/portal/usage?tenant=other-tenant", &cookie).await;
    assert_eq!(page.status, 200);
    let total = page.text.split("data-total").nth(1).unwrap();
    let total = total.split("</tr>").next().unwrap();
    assert!(total.contains("Published </span>3<"), "{total}");
    assert!(total.contains("Bytes </span>30<"), "{total}");
    for hidden in ["other-tenant", "Tenants", "/inspector"] {
        assert!(!page.text.contains(hidden), "{hidden}");
    }
    // Not even to a customer of the operator's own tenant.
    let cookie = enter(&stage, json!({"tenant": "default"})).await;
    let page = get(&stage, "/portal/usage", &cookie).await;
    assert!(!page.text.contains("other-tenant"));
}
