//! What the Inspector's pages show to whom: sources and what was refused of them, signatures, events, what went wrong.

use http::StatusCode;
use postrider_adapter_local::SqliteOptions;
use postrider_domain::key::Scope;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_domain::time::Millis;
use serde_json::json;

use crate::inspector::{get, location, log_in, post};
use crate::rejected::{refuse, source};
use crate::stage::Stage;

const DAY: Millis = Millis::from_seconds(86_400);

#[tokio::test]
async fn a_source_says_what_would_have_matched_and_what_to_do() {
    let stage = Stage::new().await;
    let (id, path) = source(&stage, "github").await;
    let page = format!("/inspector/sources/{id}");
    let cookie = log_in(&stage, &stage.admin).await;
    let empty = get(&stage, &page, &cookie).await;
    assert!(empty.text.contains("None within the last 7 days"));
    assert!(
        empty
            .text
            .contains(&format!("https://gateway.example/gateway/webhooks/{id}"))
    );

    // The secret is replaced, and a day later the sender still signs with the old one.
    let old = SigningSecret::from_key(&[7; 32]);
    for secret in [old.expose(), "the new one"] {
        let rotation = json!({"secret": secret});
        let there = format!("{path}/rotate-secret");
        stage.post(&there, rotation).await.expect(200);
    }
    stage.clock.advance(DAY);
    stage.clock.advance(Millis::new(1));
    let signed = signature::plain(&old, b"{}");
    refuse(&stage, id, &[("x-hub-signature-256", &signed)], b"{}").await;
    refuse(
        &stage,
        id,
        &[("x-evil", "<script>alert(1)</script>")],
        b"<img src=x onerror=alert(1)>",
    )
    .await;
    let cookie = log_in(&stage, &stage.admin).await;
    let shown = get(&stage, &page, &cookie).await;
    assert_eq!(shown.status, 200);
    for said in [
        "Signed with an old secret",
        "Enter the present secret at the sender.",
        "Something is missing",
        "x-hub-signature-256",
    ] {
        assert!(shown.text.contains(said), "{said}");
    }
    assert!(!shown.text.contains(&signed) && !shown.text.contains("canary"));

    // What it held is on a page of its own, as text.
    let listed = stage.get(&format!("{path}/refused")).await.expect(200);
    let newest = listed["items"][0]["id"].as_str().unwrap();
    let detail = format!("{page}/refused/{newest}");
    let held = get(&stage, &detail, &cookie).await;
    assert_eq!(held.status, 200);
    assert!(!held.text.contains("<img src=x") && !held.text.contains("<script>alert"));
    assert!(held.text.contains("onerror=alert(1)"));

    // A key that may only look sees when and why, and nothing that was made with a secret.
    let reader = stage.token("default", &[Scope::Read]).await;
    let cookie = log_in(&stage, &reader).await;
    let seen = get(&stage, &page, &cookie).await;
    assert!(seen.text.contains("no signature matches"));
    assert!(!seen.text.contains("Signed with an old secret"));
    assert_eq!(
        get(&stage, &detail, &cookie).await.status,
        StatusCode::FORBIDDEN
    );
}

/// Strangers send them, and every one loads the page anew for whoever watches it.
#[tokio::test]
async fn of_many_refused_requests_only_the_newest_are_looked_at() {
    let stage = Stage::new().await;
    let (id, _) = source(&stage, "github").await;
    for _ in 0..5 {
        refuse(&stage, id, &[], b"{}").await;
    }
    let cookie = log_in(&stage, &stage.admin).await;
    let page = get(&stage, &format!("/inspector/sources/{id}"), &cookie).await;
    assert_eq!(page.text.matches("The whole request").count(), 3);
    assert_eq!(page.text.matches(">What would have matched<").count(), 2);
}

#[tokio::test]
async fn a_key_that_may_only_look_sees_no_signature() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let path = format!("/v1/deliveries/{id}");
    let whole = stage.get(&path).await.expect(200);
    assert_eq!(whole["signature"], "sha256=11");
    let seen = stage.call(&reader, http::Method::GET, &path, "").await;
    assert_eq!(seen.expect(200)["signature"], "sha256=***");
    assert!(!seen.text.contains("sha256=11"), "{}", seen.text);
    let listed = stage
        .call(&reader, http::Method::GET, "/v1/deliveries", "")
        .await;
    assert_eq!(listed.expect(200)["items"][0]["signature"], "sha256=***");
    let page = format!("/inspector/deliveries/{id}");
    let manager = log_in(&stage, &stage.admin).await;
    assert!(
        get(&stage, &page, &manager)
            .await
            .text
            .contains("sha256=11")
    );
    let viewer = log_in(&stage, &reader).await;
    let seen = get(&stage, &page, &viewer).await.text;
    assert!(!seen.contains("sha256=11") && seen.contains("sha256=***"));
}

#[tokio::test]
async fn what_goes_wrong_keeps_the_menu_and_shows_a_way_on() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let webhook = stage.webhook().await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let looking = log_in(&stage, &reader).await;
    let menu = "<nav aria-label=\"Main\">";
    for path in [
        "/inspector/nowhere",
        "/inspector/webhooks/wh_x",
        "/inspector/sources/src_x/edit",
    ] {
        let lost = get(&stage, path, &cookie).await;
        assert_eq!(lost.status, StatusCode::NOT_FOUND, "{path}");
        assert!(
            lost.text.contains(menu) && lost.text.contains("id=\"trouble\""),
            "{path}"
        );
    }
    let forbidden = get(&stage, "/inspector/sources/new", &looking).await;
    assert_eq!(forbidden.status, StatusCode::FORBIDDEN);
    assert!(forbidden.text.contains(menu) && forbidden.text.contains("Read only"));
    let faulty = post(&stage, "/inspector/dead/retry", &cookie, "id=x").await;
    assert_eq!(faulty.status, StatusCode::BAD_REQUEST);
    assert!(faulty.text.contains(menu));

    // Nobody is logged in: the way in, and no menu.
    let outside = get(&stage, "/inspector/nowhere", "").await;
    assert_eq!(outside.status, StatusCode::NOT_FOUND);
    assert!(!outside.text.contains(menu) && outside.text.contains("/inspector/login"));
    stage.clock.advance(DAY);
    let pause = format!("/inspector/webhooks/{webhook}/pause");
    let over = post(&stage, &pause, &cookie, "").await;
    assert_eq!(over.status, StatusCode::UNAUTHORIZED);
    assert!(over.text.contains("Log in") && over.text.contains("nothing was done"));
}

#[tokio::test]
async fn a_full_disk_is_a_page_that_says_so() {
    let options = SqliteOptions {
        max_pages: Some(90),
    };
    let stage = Stage::with(options).await;
    let cookie = log_in(&stage, &stage.admin).await;
    let event = json!({"type": "a", "payload": "x".repeat(9000)});
    let mut full = false;
    for _ in 0..200 {
        full = stage.post("/v1/events", &event).await.status != 202;
        if full {
            break;
        }
    }
    assert!(full, "the disk is full after a while");
    let form = "name=Orders&target_url=https://receiver.example/&event_types=order.*";
    let mut refused = None;
    for _ in 0..200 {
        // What is small may still fit for a while.
        let answer = post(&stage, "/inspector/webhooks/new", &cookie, form).await;
        if answer.status != StatusCode::CREATED {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("nothing fits any more");
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text.contains("<nav aria-label=\"Main\">"));
    assert!(refused.text.contains("log and its disk"));
    assert_eq!(
        get(&stage, "/inspector/webhooks", &cookie).await.status,
        200
    );
}

#[tokio::test]
async fn the_search_leads_on_or_says_that_there_is_nothing() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let webhook = stage.webhook().await;
    let published = stage.publish(json!({"n": 1})).await;
    let (event, delivery) = (&published["id"], &published["deliveries"][0]["id"]);
    let (source, _) = source(&stage, "github").await;
    for (text, there) in [
        (event.as_str().unwrap(), "/inspector/events/"),
        (delivery.as_str().unwrap(), "/inspector/deliveries/"),
        (&webhook, "/inspector/webhooks/"),
        (&source.to_string(), "/inspector/sources/"),
        ("s-1", "/inspector/deliveries?session_id="),
    ] {
        let led = get(&stage, &format!("/inspector/search?q={text}"), &cookie).await;
        assert_eq!(location(&led), format!("{there}{text}"));
        let page = get(&stage, location(&led), &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{text}");
    }
    let page = get(
        &stage,
        &format!("/inspector/events/{}", event.as_str().unwrap()),
        &cookie,
    )
    .await;
    assert!(page.text.contains(delivery.as_str().unwrap()));
    let unknown = event.as_str().unwrap().replacen("evt_a", "evt_b", 1);
    for nothing in ["s-2", &unknown, "%3Cimg%20src=x%3E", "%07"] {
        let said = get(&stage, &format!("/inspector/search?q={nothing}"), &cookie).await;
        assert_eq!(said.status, StatusCode::NOT_FOUND, "{nothing}");
        assert!(said.text.contains("Nothing found") && !said.text.contains("<img src=x"));
    }
    let other = log_in(&stage, &stage.token("other", &Scope::ALL).await).await;
    for path in [
        format!("/inspector/events/{}", event.as_str().unwrap()),
        format!("/inspector/sources/{source}"),
    ] {
        assert_eq!(
            get(&stage, &path, &other).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}
