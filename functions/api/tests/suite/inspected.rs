//! What the Inspector's pages show, and to which keys.

use http::StatusCode;
use postrider_adapter_local::SqliteOptions;
use postrider_domain::decide::Transition;
use postrider_domain::flow::Limiter;
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use postrider_ports::drains::DrainLease;
use serde_json::json;

use crate::inspector::{get, location, log_in, post};
use crate::rejected::{refuse, source};
use crate::stage::Stage;

const DAY: Millis = Millis::from_seconds(86_400);

#[tokio::test]
async fn a_source_page_diagnoses_rejected_requests() {
    let stage = Stage::new().await;
    let (id, path) = source(&stage, "github").await;
    let page = format!("/inspector/sources/{id}");
    let cookie = log_in(&stage, &stage.admin).await;
    let empty = get(&stage, &page, &cookie).await;
    assert!(
        empty
            .text
            .contains("No rejected requests in the last 7 days")
    );
    assert!(
        empty
            .text
            .contains(&format!("https://gateway.example/gateway/webhooks/{id}"))
    );

    // The secret is rotated, and a day later the sender still signs with the old one.
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
    for text in [
        "Signed with an old secret",
        "Configure the current secret at the sender.",
        "Signature missing",
        "x-hub-signature-256",
    ] {
        assert!(shown.text.contains(text), "{text}");
    }
    assert!(!shown.text.contains(&signed) && !shown.text.contains("canary"));

    // Its content is on its own page, as text.
    let listed = stage.get(&format!("{path}/refused")).await.expect(200);
    let newest = listed["items"][0]["id"].as_str().unwrap();
    let detail = format!("{page}/refused/{newest}");
    let held = get(&stage, &detail, &cookie).await;
    assert_eq!(held.status, 200);
    assert!(!held.text.contains("<img src=x") && !held.text.contains("<script>alert"));
    assert!(held.text.contains("onerror=alert(1)"));

    // A read-only key sees when and why, and nothing that was computed with a secret.
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

/// Anyone can send them, and each reloads the open pages of this source.
#[tokio::test]
async fn only_the_newest_rejected_requests_are_diagnosed() {
    let stage = Stage::new().await;
    let (id, _) = source(&stage, "github").await;
    for _ in 0..5 {
        refuse(&stage, id, &[], b"{}").await;
    }
    let cookie = log_in(&stage, &stage.admin).await;
    let page = get(&stage, &format!("/inspector/sources/{id}"), &cookie).await;
    assert_eq!(page.text.matches("View full request").count(), 3);
    assert_eq!(page.text.matches(">Diagnose<").count(), 2);
}

#[tokio::test]
async fn a_read_only_key_sees_no_signature() {
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
    for token in [&stage.admin, &reader] {
        let cookie = log_in(&stage, token).await;
        let seen = get(&stage, &page, &cookie).await.text;
        assert!(!seen.contains("sha256=11") && seen.contains("sha256=***"));
    }
}

#[tokio::test]
async fn an_error_page_keeps_the_menu_and_links_elsewhere() {
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
            lost.text.contains(menu) && lost.text.contains("id=\"error-card\""),
            "{path}"
        );
    }
    let forbidden = get(&stage, "/inspector/sources/new", &looking).await;
    assert_eq!(forbidden.status, StatusCode::FORBIDDEN);
    assert!(forbidden.text.contains(menu) && forbidden.text.contains("Read-only"));
    let faulty = post(&stage, "/inspector/dead/retry", &cookie, "id=x").await;
    assert_eq!(faulty.status, StatusCode::BAD_REQUEST);
    assert!(faulty.text.contains(menu));

    // Without a session there is a link to the login and no menu.
    let outside = get(&stage, "/inspector/nowhere", "").await;
    assert_eq!(outside.status, StatusCode::NOT_FOUND);
    assert!(!outside.text.contains(menu) && outside.text.contains("/inspector/login"));
    stage.clock.advance(DAY);
    let pause = format!("/inspector/webhooks/{webhook}/pause");
    let over = post(&stage, &pause, &cookie, "").await;
    assert_eq!(over.status, StatusCode::UNAUTHORIZED);
    assert!(over.text.contains("Log in") && over.text.contains("nothing was changed"));
}

#[tokio::test]
async fn a_full_disk_shows_an_error_page() {
    let options = SqliteOptions {
        max_pages: Some(90),
        ..SqliteOptions::default()
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
        // Small rows may still fit for a while.
        let answer = post(&stage, "/inspector/webhooks/new", &cookie, form).await;
        if answer.status != StatusCode::CREATED {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("the disk is full");
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text.contains("<nav aria-label=\"Main\">"));
    assert!(refused.text.contains("log and disk"));
    assert_eq!(
        get(&stage, "/inspector/webhooks", &cookie).await.status,
        200
    );
}

#[tokio::test]
async fn the_search_opens_the_match_or_shows_no_results() {
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
        let found = get(&stage, &format!("/inspector/search?q={text}"), &cookie).await;
        assert_eq!(location(&found), format!("{there}{text}"));
        let page = get(&stage, location(&found), &cookie).await;
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
        let answer = get(&stage, &format!("/inspector/search?q={nothing}"), &cookie).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{nothing}");
        assert!(answer.text.contains("No results") && !answer.text.contains("<img src=x"));
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

/// ADR-0040 fixes the wording; the list and the page show it from the first failure on.
#[tokio::test]
async fn recent_failures_are_shown_in_the_list_and_on_the_webhooks_page() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let paths = [
        "/inspector/webhooks".to_owned(),
        format!("/inspector/webhooks/{webhook}"),
    ];
    let warning = "Recent delivery failures (retrying)";
    for path in &paths {
        let page = get(&stage, path, &cookie).await.text;
        assert!(!page.contains(warning), "{path} before any failure");
    }
    for (failures, detail) in [
        (1, "The last attempt failed."),
        (2, "The last 2 attempts failed."),
        (3, "The last 3 attempts failed."),
    ] {
        let id = stage.delivery().await;
        let next_retry_at = stage.clock.now().plus(DAY);
        stage
            .attempt(&id, Transition::Retry { next_retry_at })
            .await;
        for path in &paths {
            let page = get(&stage, path, &cookie).await.text;
            assert!(page.contains(warning), "{path} after {failures}");
        }
        let page = get(&stage, &paths[1], &cookie).await.text;
        assert!(page.contains(detail), "{detail}");
    }
}

#[tokio::test]
async fn a_delivery_on_hold_says_whether_it_waits_for_a_resume_or_for_the_rate_limit() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let path = format!("/v1/webhooks/{webhook}");
    stage.post(&format!("{path}/pause"), "").await.expect(200);
    for _ in 0..3 {
        stage.delivery().await;
        stage.clock.advance(Millis::new(1));
    }
    let id = stage.delivery().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let why = async || {
        let shown = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
        let page = get(&stage, &format!("/inspector/deliveries/{id}"), &cookie).await;
        let title = shown["why"]["title"].as_str().unwrap().to_owned();
        assert!(page.text.contains(&title.replace('\'', "&#39;")), "{title}");
        shown["why"].clone()
    };
    assert_eq!(why().await["title"], "On hold: the webhook is paused");
    for path in [
        format!("/inspector/deliveries/{id}"),
        "/inspector/deliveries".to_owned(),
    ] {
        let page = get(&stage, &path, &cookie).await.text;
        assert!(page.contains(">On hold<"), "{path}");
        assert!(page.contains("when resumed"), "{path}");
    }
    let page = get(&stage, &format!("/inspector/deliveries/{id}"), &cookie).await;
    assert!(page.text.contains("Resume webhook"));
    // Once it is resumed, it is limited: what has been due for a while waits for the rate limit.
    stage.post(&format!("{path}/resume"), "").await.expect(200);
    stage.clock.advance(Millis::from_seconds(2));
    let (tenant, now) = (TenantId::default(), stage.clock.now());
    let store = &stage.gateway.ports.store;
    let (id, lease) = (
        webhook.parse().unwrap(),
        DrainLease {
            owner: "a drainer".to_owned(),
            taken_at: now,
        },
    );
    let flow = store.take_drain_lease(&tenant, id, lease.clone()).await;
    let raised = Limiter {
        rate_milli: 2500,
        ..flow.unwrap().unwrap().limiter
    };
    let stored = store.store_limiter(&tenant, id, &lease, raised.epoch, raised);
    stored.await.unwrap();
    let waiting = why().await;
    assert_eq!(waiting["title"], "Waiting for the webhook's rate limit");
    let meaning = waiting["meaning"].as_str().unwrap();
    assert!(
        meaning.contains("at most 2.5 times per second"),
        "{meaning}"
    );
    let page = get(&stage, &format!("/inspector/webhooks/{webhook}"), &cookie).await;
    assert!(page.text.contains("all attempts are limited to 2.5/s"));
    assert_eq!(
        waiting["outlook"],
        "It goes out as soon as the rate limit allows."
    );
}
