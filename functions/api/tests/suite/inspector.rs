//! The Inspector's routes: sessions, permissions and headers. How the pages behave is tested in a browser.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use http::{Method, StatusCode, header};
use postrider_api::{OneTimeLogin, PageSettings, Streaming};
use postrider_domain::key::{KeyDigest, Scope};
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use tower::ServiceExt;

use crate::stage::{Answer, Stage};

const HOST: &str = "gateway.example";
const HOUR: u64 = 3600;

/// A request as a browser sends it from an Inspector page.
fn request(method: Method, path: &str, cookie: &str, form: &str) -> Request {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, HOST)
        .header(header::ORIGIN, format!("https://{HOST}"))
        .header(header::COOKIE, cookie)
        .header("x-forwarded-proto", "https")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(form.to_owned())).unwrap()
}

pub(crate) async fn get(stage: &Stage, path: &str, cookie: &str) -> Answer {
    stage.send(request(Method::GET, path, cookie, "")).await
}

pub(crate) async fn post(stage: &Stage, path: &str, cookie: &str, form: &str) -> Answer {
    stage.send(request(Method::POST, path, cookie, form)).await
}

/// Logs in; returns the cookie as a browser sends it back.
pub(crate) async fn log_in(stage: &Stage, token: &str) -> String {
    let answer = post(stage, "/inspector/login", "", &format!("key={token}")).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

pub(crate) fn location(answer: &Answer) -> &str {
    answer.headers[header::LOCATION].to_str().unwrap()
}

#[tokio::test]
async fn a_session_is_a_strict_cookie_that_expires() {
    let stage = Stage::new().await;
    let form = format!("key={}", stage.admin);
    let answer = post(&stage, "/inspector/login", "", &form).await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    for part in [
        "HttpOnly",
        "SameSite=Strict",
        "Secure",
        "Max-Age=43200",
        "Path=/inspector",
    ] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    assert!(!cookie.contains(&stage.admin), "the cookie is not the key");
    let cookie = log_in(&stage, &stage.admin).await;
    stage.clock.advance(Millis::from_seconds(12 * HOUR - 1));
    assert_eq!(get(&stage, "/inspector", &cookie).await.status, 200);
    stage.clock.advance(Millis::from_seconds(1));
    let over = get(&stage, "/inspector/deliveries?status=dead", &cookie).await;
    assert_eq!(over.status, StatusCode::SEE_OTHER);
    let login = "/inspector/login?next=%2Finspector%2Fdeliveries%3Fstatus%3Ddead";
    assert_eq!(location(&over), login);
    let refused = post(&stage, "/inspector/keys", &cookie, "name=x&scope=read").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_modified_cookie_is_not_a_session() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let value = cookie.strip_prefix("postrider_session=").unwrap();
    for n in 0..value.len() {
        let mut changed = value.as_bytes().to_vec();
        changed[n] = if changed[n] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let answer = get(
            &stage,
            "/inspector",
            &format!("postrider_session={changed}"),
        )
        .await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{changed}");
    }
    for made_up in [
        "",
        "default.",
        ".",
        "default.AAAA",
        "x",
        &"default.A".repeat(500),
    ] {
        let answer = get(
            &stage,
            "/inspector",
            &format!("postrider_session={made_up}"),
        )
        .await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{made_up}");
    }
}

#[tokio::test]
async fn a_revoked_key_ends_its_sessions() {
    let stage = Stage::new().await;
    let token = stage.token("default", &[Scope::Read]).await;
    let cookie = log_in(&stage, &token).await;
    assert_eq!(get(&stage, "/inspector", &cookie).await.status, 200);
    let key = stage
        .gateway
        .keyring
        .recognise(&token)
        .await
        .unwrap()
        .unwrap();
    stage
        .gateway
        .keyring
        .revoke(&key.tenant, key.id)
        .await
        .unwrap();
    assert_eq!(
        get(&stage, "/inspector", &cookie).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        get(&stage, "/inspector/stream", &cookie).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_change_from_another_site_is_rejected() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    let cookie = log_in(&stage, &stage.admin).await;
    let path = format!("/inspector/deliveries/{id}/retry");
    for foreign in [
        "https://evil.example",
        "null",
        "https://gateway.example.evil",
    ] {
        let mut request = request(Method::POST, &path, &cookie, "");
        let origin = foreign.parse().unwrap();
        request.headers_mut().insert(header::ORIGIN, origin);
        assert_eq!(
            stage.send(request).await.status,
            StatusCode::FORBIDDEN,
            "{foreign}"
        );
    }
    let mut silent = request(Method::POST, &path, &cookie, "");
    silent.headers_mut().remove(header::ORIGIN);
    assert_eq!(stage.send(silent).await.status, StatusCode::FORBIDDEN);
    let row = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
    assert_eq!(row["status"], "dead");
    assert_eq!(
        post(&stage, &path, &cookie, "").await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn objects_of_another_tenant_are_not_found() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let id = stage.delivery().await;
    let token = stage.token("other", &Scope::ALL).await;
    let cookie = log_in(&stage, &token).await;
    for path in [
        format!("/inspector/deliveries/{id}"),
        format!("/inspector/deliveries/{id}/payload"),
        format!("/inspector/webhooks/{webhook}"),
    ] {
        let answer = get(&stage, &path, &cookie).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    let list = get(&stage, "/inspector/deliveries", &cookie).await;
    assert!(list.text.contains("No deliveries yet"));
    let pause = format!("/inspector/webhooks/{webhook}/pause");
    assert_eq!(
        post(&stage, &pause, &cookie, "").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_one_time_link_logs_in_once() {
    let stage = Stage::new().await;
    let digest = KeyDigest::of(&stage.admin);
    let once = OneTimeLogin::new("a-token", digest, stage.clock.now());
    let gateway = Arc::clone(&stage.gateway);
    let router = postrider_api::router_with(
        gateway,
        stage.shadows(),
        Streaming::Polled,
        PageSettings {
            once: Some(once),
            ..PageSettings::default()
        },
    );
    let path = OneTimeLogin::path("a-token");
    let send = |request| async { Answer::of(router.clone().oneshot(request).await.unwrap()).await };
    for _ in 0..2 {
        let page = send(request(Method::GET, &path, "", "")).await;
        assert_eq!(page.status, 200, "opening the link does not use it up");
        assert!(!page.headers.contains_key(header::SET_COOKIE));
    }
    let enter = || {
        send(request(
            Method::POST,
            "/inspector/login",
            "",
            "once=a-token",
        ))
    };
    let first = enter().await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    assert!(first.headers.contains_key(header::SET_COOKIE));
    assert_eq!(enter().await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn every_page_has_security_headers() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    for path in [
        "/inspector",
        "/inspector/login",
        "/inspector/nowhere",
        "/inspector/keys",
    ] {
        let answer = get(&stage, path, &cookie).await;
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{path}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store", "{path}");
    }
    let page = get(&stage, "/inspector", &cookie).await.text;
    let style = page.split('"').find(|part| part.ends_with(".css")).unwrap();
    let of_another_version = style.replacen("assets/", "assets/0", 1);
    let other = get(&stage, &of_another_version, "").await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
    let style = get(&stage, style, "").await;
    assert_eq!(
        style.headers[header::CONTENT_TYPE],
        "text/css; charset=utf-8"
    );
    assert!(
        style.headers[header::CACHE_CONTROL]
            .to_str()
            .unwrap()
            .contains("immutable")
    );
}

#[tokio::test]
async fn a_browser_is_redirected_to_the_inspector_and_a_program_is_not() {
    let stage = Stage::new().await;
    let mut browser = request(Method::GET, "/", "", "");
    let accepts = "text/html,application/xhtml+xml,*/*;q=0.8".parse().unwrap();
    browser.headers_mut().insert(header::ACCEPT, accepts);
    assert_eq!(location(&stage.send(browser).await), "/inspector");
    let index = stage.get("/").await.expect(200);
    assert_eq!(index["inspector"], "/inspector");
}

#[tokio::test]
async fn invalid_input_shows_an_error_page() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    for (path, status) in [
        ("/inspector/deliveries/nonsense", 404),
        ("/inspector/deliveries?cursor=nonsense", 400),
        ("/inspector/deliveries?from=yesterday", 400),
        ("/inspector/webhooks/wh_x/edit", 404),
        ("/inspector/retries/job_x", 404),
        ("/inspector/assets/%ff", 404),
        ("/inspector?window=1000y", 200),
    ] {
        let answer = get(&stage, path, &cookie).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        assert!(answer.text.starts_with("<!doctype html>"), "{path}");
    }
    for (path, form) in [
        ("/inspector/dead/retry", ""),
        ("/inspector/dead/retry", "id=x"),
        ("/inspector/keys", "name="),
    ] {
        let answer = post(&stage, path, &cookie, form).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {form}");
    }
    let mut json = request(Method::POST, "/inspector/keys", &cookie, "{}");
    let kind = "application/json".parse().unwrap();
    json.headers_mut().insert(header::CONTENT_TYPE, kind);
    assert_eq!(
        stage.send(json).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
}
