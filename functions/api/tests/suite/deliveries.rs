//! Deliveries and retrying them.

use http::Method;
use postrider_domain::decide::Transition;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use serde_json::{Value, json};

use crate::stage::{BEGIN, Stage};

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_delivery_is_shown_with_its_attempts() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let id = stage.delivery().await;
    let fresh = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
    assert_eq!(fresh["status"], "pending");
    assert_eq!(
        (&fresh["payload"], &fresh["payload_base64"]),
        (&json!("{\"n\":1}"), &Value::Null)
    );
    assert_eq!(
        (&fresh["attempts"], &fresh["dead_cause"]),
        (&json!([]), &Value::Null)
    );
    stage.kill(&id).await;
    let mut shown = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
    assert_eq!(
        shown["attempts"],
        json!([{
            "number": 1, "at": "2026-02-21T10:00:00.005Z", "status_code": 500, "elapsed_ms": 25,
            "error": "HTTP status 500", "phase": null, "response_body": "the receiver's answer",
            "timings": {"dns_ms": null, "connect_ms": 3, "tls_ms": null, "first_byte_ms": 20, "body_ms": null},
        }])
    );
    let listed = stage.get("/v1/deliveries").await.expect(200);
    assert_eq!(
        listed,
        json!({"next_cursor": null, "items": [{
            "id": id, "event_id": shown["event_id"], "event_type": "task.done", "webhook_id": webhook,
            "session_id": "s-1", "target_url": "https://receiver.example/used", "signature": "sha256=11",
            "status": "dead", "attempt_count": 1, "max_attempts": 5,
            "last_attempted_at": "2026-02-21T10:00:00.005Z", "next_retry_at": null,
            "waiting_for": null, "created_at": "2026-02-21T10:00:00.000Z",
            "error_detail": "HTTP status 500: the receiver's answer", "dead_cause": "exhausted",
        }]})
    );
    assert_eq!(
        shown["why"]["title"],
        "The receiver returned 500 Internal Server Error"
    );
    assert_eq!(
        shown["request"]["target_url"],
        "https://receiver.example/used"
    );
    assert_eq!(
        shown["request"]["headers"][0],
        json!({"name": "webhook-id", "value": id})
    );
    let detail = shown.as_object_mut().unwrap();
    for field in [
        "attempts",
        "payload",
        "payload_base64",
        "content_type",
        "why",
        "request",
    ] {
        assert!(detail.remove(field).is_some(), "{field}");
    }
    assert_eq!(
        shown, listed["items"][0],
        "the detail has all that the list has"
    );
}

#[tokio::test]
async fn the_last_request_is_shown_as_it_was_sent() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    let header = async |name: &str| {
        let shown = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
        let headers = shown["request"]["headers"].as_array().unwrap().clone();
        let found = headers.into_iter().find(|header| header["name"] == name);
        found.map(|header| header["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(header("x-webhook-signature").await, None);
    stage.kill(&id).await;
    for name in ["x-webhook-signature", "x-observatory-signature"] {
        assert_eq!(header(name).await.as_deref(), Some("sha256=***"), "{name}");
    }
    assert_eq!(header("x-webhook-retry").await.as_deref(), Some("0"));
    assert!(header("user-agent").await.is_some());
    let retried = stage.post(&format!("/v1/deliveries/{id}/retry"), "").await;
    retried.expect(202);
    assert_eq!(
        header("x-webhook-retry").await,
        None,
        "the count starts again, and the number of the last request is not stored"
    );
}

#[tokio::test]
async fn an_open_delivery_says_what_it_waits_for() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let id = stage.delivery().await;
    let seen = async || {
        let shown = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
        let listed = stage.get("/v1/deliveries").await.expect(200);
        assert_eq!(shown["waiting_for"], listed["items"][0]["waiting_for"]);
        shown["waiting_for"].clone()
    };
    assert_eq!(seen().await, Value::Null, "about to be attempted");
    let next_retry_at = BEGIN.plus(Millis::from_seconds(30));
    stage
        .attempt(&id, Transition::Retry { next_retry_at })
        .await;
    assert_eq!(seen().await, "retry_time");
    stage.clock.set(next_retry_at.plus(Millis::from_seconds(2)));
    assert_eq!(seen().await, "rate_limit", "retries need credit");
    let pause = format!("/v1/webhooks/{webhook}/pause");
    stage.post(&pause, "").await.expect(200);
    assert_eq!(seen().await, "webhook_resume");
    let retry = format!("/v1/deliveries/{id}/retry");
    let retried = stage.post(&retry, "").await.expect(202);
    assert_eq!(retried["waiting_for"], "webhook_resume");
    stage
        .call(
            &stage.admin,
            Method::DELETE,
            &format!("/v1/webhooks/{webhook}"),
            "",
        )
        .await;
    assert_eq!(seen().await, Value::Null, "there is nothing to wait for");
}

#[tokio::test]
async fn a_list_is_filtered_and_paged() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let mut all = Vec::new();
    for n in 0..5 {
        stage.clock.set(BEGIN.plus(Millis::from_seconds(n)));
        all.insert(0, stage.delivery().await);
    }
    stage.clock.set(BEGIN);
    let found = stage.get("/v1/deliveries").await.expect(200);
    assert_eq!(ids(&found), all, "newest first");
    let found = stage.get("/v1/deliveries?limit=2").await.expect(200);
    let mut paged: Vec<String> = ids(&found).into_iter().map(String::from).collect();
    let mut cursor = found["next_cursor"].clone();
    while let Some(text) = cursor.as_str() {
        let page = stage
            .get(&format!("/v1/deliveries?limit=2&cursor={text}"))
            .await
            .expect(200);
        paged.extend(ids(&page).into_iter().map(String::from));
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(paged, all);
    for (query, count) in [
        ("session_id=s-1".to_owned(), 5),
        ("session_id=other".to_owned(), 0),
        ("status=pending".to_owned(), 5),
        ("status=dead".to_owned(), 0),
        (format!("webhook_id={webhook}"), 5),
        ("webhook_id=wh_aaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(), 0),
        ("event_type=task.done".to_owned(), 5),
        ("event_type=task.other".to_owned(), 0),
        ("from=2026-02-21T10:00:03Z".to_owned(), 2),
        ("to=2026-02-21T10:00:03Z".to_owned(), 3),
        (
            "from=2026-02-21T12:00:01%2B02:00&to=2026-02-21T10:00:03Z".to_owned(),
            2,
        ),
    ] {
        let found = stage
            .get(&format!("/v1/deliveries?{query}"))
            .await
            .expect(200);
        assert_eq!(ids(&found).len(), count, "{query}");
    }
}

#[tokio::test]
async fn invalid_parameters_are_reported() {
    let stage = Stage::new().await;
    for (query, field, words) in [
        ("limit=0", "limit", "1 to 200"),
        ("limit=201", "limit", "1 to 200"),
        ("limit=-1", "limit", "1 to 200"),
        ("limit=ten", "limit", "1 to 200"),
        ("limit=99999999999999999999999", "limit", "1 to 200"),
        ("limit=", "limit", "1 to 200"),
        ("page=1", "page", "not known"),
        ("limit=1&limit=2", "limit", "twice"),
        ("status=lost", "status", "pending, failed, delivered, dead"),
        ("webhook_id=7", "webhook_id", "wh_"),
        ("event_type=a..b", "event_type", "128"),
        ("session_id=%FF", "session_id", "128"),
        ("from=yesterday", "from", "RFC 3339"),
        ("to=99999-01-01T00:00:00Z", "to", "RFC 3339"),
        ("cursor=nonsense", "cursor", "next_cursor"),
        ("cursor=%00%FF", "cursor", "next_cursor"),
        ("cursor=", "cursor", "next_cursor"),
    ] {
        stage
            .get(&format!("/v1/deliveries?{query}"))
            .await
            .refuses(field, words);
    }
    let long = format!("/v1/deliveries?cursor={}", "x".repeat(3000));
    stage.get(&long).await.refuses("cursor", "2048");
    stage
        .get("/v1/webhooks?limit=1")
        .await
        .refuses("limit", "no parameters");
    let faults = stage.get("/v1/deliveries?limit=0&status=x&from=y").await;
    assert_eq!(faults.problem(400, "invalid_request").len(), 3);
}

#[tokio::test]
async fn a_dead_delivery_is_retried() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    let retry = format!("/v1/deliveries/{id}/retry");
    stage
        .post(&retry, "")
        .await
        .problem(409, "delivery_pending");
    stage.kill(&id).await;
    let back = stage.post(&retry, "").await.expect(202);
    assert_eq!(
        (&back["status"], &back["attempt_count"]),
        (&json!("pending"), &json!(0))
    );
    assert_eq!(back["next_retry_at"], "2026-02-21T10:00:00.005Z");
    stage.hold(&id).await;
    stage
        .post(&retry, "")
        .await
        .problem(409, "delivery_in_flight");
    stage
        .post(&retry, json!({"force": "yes"}))
        .await
        .refuses("force", "boolean");
    stage
        .post(&retry, json!({"hard": true}))
        .await
        .refuses("hard", "not known");
}

#[tokio::test]
async fn a_delivered_one_is_sent_again_only_with_force() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.attempt(&id, Transition::Deliver).await;
    let retry = format!("/v1/deliveries/{id}/retry");
    stage
        .post(&retry, "{}")
        .await
        .problem(409, "delivery_delivered");
    let back = stage.post(&retry, json!({"force": true})).await.expect(202);
    assert_eq!(back["status"], "pending");
}

#[tokio::test]
async fn many_deliveries_are_retried_at_once() {
    let stage = Stage::new().await;
    stage.webhook().await;
    for _ in 0..3 {
        let id = stage.delivery().await;
        stage.kill(&id).await;
    }
    // A bulk retry includes only deliveries that were dead before it started.
    stage.clock.advance(Millis::new(1));
    let dry = json!({"filter": {"session_id": "s-1"}, "dry_run": true});
    let counted = stage.post("/v1/retries", dry).await.expect(202);
    let nothing = json!({"id": null, "matched": 3, "counted": true, "state": null, "done": 0, "failed": 0, "created_at": null});
    assert_eq!(counted, nothing);
    let begun = stage
        .post("/v1/retries", json!({"filter": {"status": "dead"}}))
        .await
        .expect(202);
    assert_eq!(
        (&begun["matched"], &begun["done"], &begun["state"]),
        (&json!(3), &json!(3), &json!("done"))
    );
    let path = format!("/v1/retries/{}", begun["id"].as_str().unwrap());
    assert_eq!(stage.get(&path).await.expect(200), begun);
    assert_eq!(
        stage.delete(&path).await.expect(200)["state"],
        "done",
        "requeued deliveries stay requeued"
    );
    let pending = stage.get("/v1/deliveries?status=pending").await.expect(200);
    assert_eq!(ids(&pending).len(), 3);
    for (body, field, words) in [
        (json!({}), "filter", "is missing"),
        (
            json!({"filter": {"status": "delivered"}}),
            "filter.status",
            "dead or failed",
        ),
        (json!({"filter": {"status": "x"}}), "filter.status", "dead"),
        (
            json!({"filter": {"from": "x", "to": "y"}}),
            "filter.to",
            "RFC 3339",
        ),
        (json!({"filter": {"limit": 3}}), "filter.limit", "not known"),
        (json!({"filter": {}, "dry_run": 1}), "dry_run", "boolean"),
        (json!({"filter": []}), "filter", "an object"),
    ] {
        stage.post("/v1/retries", body).await.refuses(field, words);
    }
}

#[tokio::test]
async fn another_tenant_sees_nothing() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    stage.clock.advance(Millis::new(1));
    let job = stage
        .post("/v1/retries", json!({"filter": {}}))
        .await
        .expect(202);
    let job = job["id"].as_str().unwrap();
    let other = stage.token("other", &Scope::ALL).await;
    for (method, path) in [
        (Method::GET, format!("/v1/deliveries/{id}")),
        (Method::GET, "/v1/deliveries/dlv_7".to_owned()),
        (Method::POST, format!("/v1/deliveries/{id}/retry")),
        (Method::GET, format!("/v1/retries/{job}")),
        (Method::DELETE, format!("/v1/retries/{job}")),
        (Method::DELETE, "/v1/retries/job_7".to_owned()),
    ] {
        stage
            .call(&other, method, &path, "")
            .await
            .problem(404, "not_found");
    }
    let listed = stage
        .call(&other, Method::GET, "/v1/deliveries", "")
        .await
        .expect(200);
    assert_eq!(listed["items"], json!([]));
    let dry = json!({"filter": {}, "dry_run": true}).to_string();
    let counted = stage
        .call(&other, Method::POST, "/v1/retries", &dry)
        .await
        .expect(202);
    assert_eq!(counted["matched"], 0);
}
