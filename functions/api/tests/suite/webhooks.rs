//! Webhooks.

use http::{Method, header};
use postrider_domain::flow::Limiter;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::key::Scope;
use postrider_ports::clock::Clock;
use postrider_ports::limiters::Stored;
use serde_json::{Value, json};

use crate::stage::{Stage, new_webhook};

const SECRET: &str = "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5";

#[tokio::test]
async fn a_webhook_is_created_shown_and_deleted() {
    let stage = Stage::new().await;
    let answer = stage.post("/v1/webhooks", new_webhook()).await;
    let made = answer.expect(201);
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    assert_eq!(answer.headers[header::LOCATION], path.as_str());
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    let mut shown = stage.get(&path).await.expect(200);
    assert_eq!(
        shown,
        json!({
            "id": made["id"], "name": "Tasks", "target_url": "https://receiver.example/hooks",
            "event_types": ["task.*"], "filter": null, "template": null, "owner_email": null, "headers": {}, "timeout_seconds": 10,
            "retry_rate": 5, "max_rate": null, "max_in_flight": null, "current_rate": 5.0, "limited": false,
            "backlog": {"size": 0, "counted": true, "empty_at": null}, "auto_resume": false,
            "retry": {
                "profile": "gateway", "max_attempts": 5, "jitter_bps": 0,
                "delays_seconds": [30, 120, 600, 3600, 21600], "max_backoff_seconds": 86400,
                "classifier": "every-failure", "redirects": "delivered", "retry_after": "ignore",
                "retry_ramp": "off", "on_exhausted": "dead-letter",
            },
            "status": "active", "failure_count": 0, "degraded": false, "status_reason": null,
            "status_changed_at": null, "next_test_at": null, "last_failure": null, "secret_expires": [],
            "created_at": "2026-02-21T10:00:00.000Z", "updated_at": "2026-02-21T10:00:00.000Z",
        })
    );
    let mut listed = shown.clone();
    listed["backlog"] = json!(null);
    assert_eq!(
        stage.get("/v1/webhooks").await.expect(200),
        json!({"items": [listed], "next_cursor": null})
    );
    shown["secret"] = made["secret"].clone();
    assert_eq!(shown, made, "the created webhook is shown, with its secret");
    let deleted = stage.delete(&path).await;
    assert_eq!((deleted.status.as_u16(), deleted.text.as_str()), (204, ""));
    stage.get(&path).await.problem(404, "not_found");
    stage.delete(&path).await.problem(404, "not_found");
}

#[tokio::test]
async fn every_field_can_be_set() {
    let stage = Stage::new().await;
    let given = json!({
        "name": "All", "target_url": "https://receiver.example/", "event_types": ["a.b", "**"],
        "filter": {"total": [{"numeric": [">", 100]}], "$or": [{"a": [null]}, {"b": [0.5]}]},
        "owner_email": "owner@example.com", "headers": {"X-Env": "prod", "Authorization": "Bearer canary"},
        "secret": SECRET, "timeout_seconds": 30, "retry_rate": 10_000, "max_rate": 300, "max_in_flight": 128,
        "auto_resume": true,
        "retry": {
            "profile": "custom", "max_attempts": 100, "jitter_bps": 10_000, "delays_seconds": [1, 604_800],
            "max_backoff_seconds": 604_800, "classifier": "by-status", "redirects": "failure",
            "retry_after": "at-least", "retry_ramp": "on", "on_exhausted": "fail-webhook",
        },
    });
    let mut made = stage.post("/v1/webhooks", &given).await.expect(201);
    let mut expected = given;
    expected["headers"] = json!({"authorization": "***", "x-env": "prod"});
    let made = made.as_object_mut().unwrap();
    made.retain(|field, _| expected.get(field).is_some());
    assert_eq!(&Value::from(made.clone()), &expected);
}

#[tokio::test]
async fn every_invalid_field_is_reported_with_its_limit() {
    let stage = Stage::new().await;
    let refused = async |field: &str, value: Value, at: &str, words: &str| {
        let mut given = new_webhook();
        given[field] = value.clone();
        stage.post("/v1/webhooks", &given).await.refuses(at, words);
        let id = stage.webhook().await;
        if field != "secret" {
            let patched = stage
                .patch(&format!("/v1/webhooks/{id}"), json!({field: value}))
                .await;
            patched.refuses(at, words);
        }
    };
    refused("name", json!(""), "name", "1 to 100").await;
    refused("name", json!("x".repeat(101)), "name", "1 to 100").await;
    refused("name", json!(7), "name", "a string").await;
    refused("name", json!(null), "name", "a string").await;
    refused("target_url", json!("http://127.0.0.1/"), "target_url", "").await;
    refused("target_url", json!("nonsense"), "target_url", "").await;
    refused("event_types", json!([]), "event_types", "1 to 100").await;
    refused(
        "event_types",
        json!(vec!["a"; 101]),
        "event_types",
        "1 to 100",
    )
    .await;
    refused("event_types", json!(["a", "b c"]), "event_types[1]", "128").await;
    refused("event_types", json!(["a", 7]), "event_types[1]", "a string").await;
    refused("owner_email", json!("not-an-address"), "owner_email", "254").await;
    refused("headers", json!({"host": "x"}), "headers.host", "gateway").await;
    refused("headers", json!(["x"]), "headers", "an object").await;
    refused("headers", json!({"x": 1}), "headers.x", "a string").await;
    refused("secret", json!("short"), "secret", "24 to 64").await;
    for n in [
        json!(0),
        json!(31),
        json!(-1),
        json!(4_294_967_306_u64),
        json!(i64::MIN),
    ] {
        refused("timeout_seconds", n, "timeout_seconds", "1 to 30").await;
    }
    refused(
        "timeout_seconds",
        json!(1.5),
        "timeout_seconds",
        "whole number",
    )
    .await;
    refused(
        "timeout_seconds",
        json!("10"),
        "timeout_seconds",
        "whole number",
    )
    .await;
    refused("retry_rate", json!(0), "retry_rate", "1 to 10000").await;
    for n in [json!(0), json!(301), json!(4_294_967_306_u64)] {
        refused("max_rate", n, "max_rate", "1 to 300").await;
    }
    for n in [json!(0), json!(129)] {
        refused("max_in_flight", n, "max_in_flight", "1 to 128").await;
    }
    let unknown = json!({"retry_ramp": "fast"});
    refused("retry", unknown, "retry.retry_ramp", "`on`").await;
    refused("auto_resume", json!("yes"), "auto_resume", "boolean").await;
    refused("retry", json!("gateway"), "retry", "an object").await;
    refused(
        "retry",
        json!({"profile": "x"}),
        "retry.profile",
        "`public-api`",
    )
    .await;
    refused(
        "retry",
        json!({"profile": {"gateway": null}}),
        "retry.profile",
        "a string",
    )
    .await;
    refused(
        "retry",
        json!({"profile": "custom"}),
        "retry.delays_seconds",
        "custom",
    )
    .await;
    refused(
        "retry",
        json!({"max_attempts": 101}),
        "retry.max_attempts",
        "1 to 100",
    )
    .await;
    refused(
        "retry",
        json!({"jitter_bps": -1}),
        "retry.jitter_bps",
        "0 to 10000",
    )
    .await;
    refused(
        "retry",
        json!({"delays_seconds": [0]}),
        "retry.delays_seconds",
        "604800",
    )
    .await;
    refused(
        "retry",
        json!({"delays_seconds": [1, "x"]}),
        "retry.delays_seconds[1]",
        "whole",
    )
    .await;
    refused("retry", json!({"speed": 1}), "retry.speed", "not known").await;
    refused("colour", json!("red"), "colour", "not known").await;
    let faults = json!({"name": "", "target_url": "x", "event_types": []});
    assert_eq!(
        stage
            .post("/v1/webhooks", faults)
            .await
            .problem(400, "invalid_request")
            .len(),
        3
    );
    stage
        .post("/v1/webhooks", "{}")
        .await
        .refuses("name", "is missing");
    let twice = r#"{"name":"a","target_url":"https://a.example","event_types":["*"],"headers":{"x":"1","x":"2"}}"#;
    stage
        .post("/v1/webhooks", twice)
        .await
        .refuses("headers", "twice");
}

#[tokio::test]
async fn a_patch_changes_only_the_fields_it_names() {
    let stage = Stage::new().await;
    let mut given = new_webhook();
    given["owner_email"] = json!("owner@example.com");
    given["headers"] = json!({"x-env": "prod", "x-api-key": "canary"});
    given["timeout_seconds"] = json!(20);
    given["retry"] = json!({"profile": "standard", "max_attempts": 3});
    let made = stage.post("/v1/webhooks", given).await.expect(201);
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let before = stage.get(&path).await.expect(200);

    let nothing = stage.patch(&path, json!({})).await.expect(200);
    assert_eq!(nothing["headers"], before["headers"]);
    let named = stage.patch(&path, json!({"name": "New"})).await.expect(200);
    assert_eq!(
        (&named["name"], &named["timeout_seconds"]),
        (&json!("New"), &json!(20))
    );
    assert_ne!(named["updated_at"], before["updated_at"]);

    let filter = json!({"total": [5]});
    let filtered = stage
        .patch(&path, json!({"filter": filter}))
        .await
        .expect(200);
    assert_eq!(filtered["filter"], filter);
    let limits = json!({"max_rate": 20, "max_in_flight": 3});
    let limited = stage.patch(&path, limits).await.expect(200);
    assert_eq!(
        (&limited["max_rate"], &limited["max_in_flight"]),
        (&json!(20), &json!(3))
    );
    let all = json!({"owner_email": null, "timeout_seconds": null, "retry_rate": null, "auto_resume": null,
        "max_rate": null, "max_in_flight": null, "filter": null});
    let reset = stage.patch(&path, all).await.expect(200);
    assert_eq!(
        (&reset["owner_email"], &reset["timeout_seconds"]),
        (&Value::Null, &json!(10))
    );
    assert_eq!(
        (
            &reset["max_rate"],
            &reset["max_in_flight"],
            &reset["filter"]
        ),
        (&Value::Null, &Value::Null, &Value::Null)
    );

    let retry = stage
        .patch(&path, json!({"retry": {"profile": "public-api"}}))
        .await
        .expect(200);
    assert_eq!(
        retry["retry"]["max_attempts"], 6,
        "the whole object is replaced"
    );
    let retry = stage.patch(&path, json!({"retry": null})).await.expect(200);
    assert_eq!(retry["retry"]["profile"], "gateway");

    let headers = json!({"headers": {"X-Api-Key": "***", "x-new": "***"}});
    let headers = stage.patch(&path, headers).await.expect(200);
    assert_eq!(
        headers["headers"],
        json!({"x-api-key": "***", "x-new": "***"})
    );
    let id = made["id"].as_str().unwrap().parse().unwrap();
    let tenant = postrider_domain::ids::TenantId::default();
    let stored = stage
        .gateway
        .manage
        .get(&tenant, id)
        .await
        .unwrap()
        .settings
        .headers;
    let values: Vec<_> = stored
        .iter()
        .map(|(_, value)| value.to_str().unwrap())
        .collect();
    assert_eq!(
        values,
        ["canary", "***"],
        "a hidden value is kept when it is sent back"
    );
    let headers = stage
        .patch(&path, json!({"headers": null}))
        .await
        .expect(200);
    assert_eq!(headers["headers"], json!({}));

    stage
        .patch(&path, json!({"secret": SECRET}))
        .await
        .refuses("secret", "rotate-secret");
    stage
        .patch(&path, json!({"secret": null}))
        .await
        .refuses("secret", "rotate-secret");
    stage
        .patch(&path, json!({"status": "paused"}))
        .await
        .refuses("status", "not known");
}

#[tokio::test]
async fn a_webhook_is_paused_and_resumed() {
    let stage = Stage::new().await;
    let path = format!("/v1/webhooks/{}", stage.webhook().await);
    let paused = stage.post(&format!("{path}/pause"), "").await.expect(200);
    assert_eq!(paused["status"], "paused");
    assert!(paused["status_reason"].is_string() && paused["status_changed_at"].is_string());
    let accepted = stage.publish(json!(1)).await;
    assert_eq!(
        accepted["deliveries"].as_array().unwrap().len(),
        1,
        "a paused webhook still accepts events"
    );
    let resumed = stage.post(&format!("{path}/resume"), "").await.expect(200);
    assert_eq!(
        (&resumed["status"], &resumed["status_reason"]),
        (&json!("active"), &Value::Null)
    );
}

#[tokio::test]
async fn a_test_event_goes_to_one_webhook() {
    let stage = Stage::new().await;
    let (webhook, _other) = (stage.webhook().await, stage.webhook().await);
    let answer = stage
        .post(&format!("/v1/webhooks/{webhook}/test"), "")
        .await
        .expect(202);
    assert_eq!(answer["deliveries"].as_array().unwrap().len(), 1);
    let delivery = answer["deliveries"][0]["id"].as_str().unwrap();
    let shown = stage
        .get(&format!("/v1/deliveries/{delivery}"))
        .await
        .expect(200);
    assert_eq!(
        (&shown["event_type"], &shown["webhook_id"]),
        (&json!("postrider.test"), &json!(webhook))
    );
    let payload: Value = serde_json::from_str(shown["payload"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&payload["type"], &payload["sent_at"]),
        (&json!("postrider.test"), &json!("2026-02-21T10:00:00.000Z"))
    );
}

#[tokio::test]
async fn a_secret_is_rotated_and_shown_once() {
    let stage = Stage::new().await;
    let path = format!("/v1/webhooks/{}", stage.webhook().await);
    let rotate = format!("{path}/rotate-secret");
    let drawn = stage.post(&rotate, "").await.expect(200);
    assert!(drawn["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(drawn["previous_expires_at"], "2026-02-22T10:00:00.000Z");
    let brought = stage
        .post(&rotate, json!({"secret": SECRET}))
        .await
        .expect(200);
    assert_eq!(brought["secret"], SECRET);
    let shown = stage.get(&path).await;
    assert_eq!(
        shown.expect(200)["secret_expires"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    for secret in [drawn["secret"].as_str().unwrap(), SECRET] {
        for path in [path.as_str(), "/v1/webhooks"] {
            assert!(!stage.get(path).await.text.contains(secret));
        }
    }
    stage
        .post(&rotate, json!({"secret": "whsec_canary"}))
        .await
        .refuses("secret", "24 to 64");
    stage
        .post(&rotate, json!({"secrets": 1}))
        .await
        .refuses("secrets", "not known");
    stage.post(&rotate, "{}").await.expect(200);
    stage.post(&rotate, " null\n").await.expect(200);
    stage
        .post(&rotate, "")
        .await
        .problem(409, "too_many_secrets");
}

#[tokio::test]
async fn a_disabled_webhook_gets_no_test_event() {
    use postrider_domain::decide::Transition;
    use postrider_domain::delivery::DeadCause;
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let delivery = stage.delivery().await;
    let gone = Transition::Die {
        cause: DeadCause::Gone,
    };
    stage.attempt(&delivery, gone).await;
    let path = format!("/v1/webhooks/{webhook}");
    assert_eq!(stage.get(&path).await.expect(200)["status"], "disabled");
    stage
        .post(&format!("{path}/test"), "")
        .await
        .problem(409, "webhook_disabled");
    let event = json!({"type": "a", "payload": 1, "webhook_id": webhook});
    stage
        .post("/v1/events", event)
        .await
        .problem(409, "webhook_disabled");
    stage
        .post(&format!("/v1/deliveries/{delivery}/retry"), "")
        .await
        .problem(409, "webhook_disabled");
    stage.post(&format!("{path}/resume"), "").await.expect(200);
    stage.post(&format!("{path}/test"), "").await.expect(202);
}

#[tokio::test]
async fn another_tenant_sees_nothing() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let other = stage.token("other", &Scope::ALL).await;
    let unknown = "wh_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for (method, rest, body) in [
        (Method::GET, "", ""),
        (Method::PATCH, "", "{}"),
        (Method::DELETE, "", ""),
        (Method::POST, "/rotate-secret", ""),
        (Method::POST, "/pause", ""),
        (Method::POST, "/resume", ""),
        (Method::POST, "/test", ""),
    ] {
        let mut answers = Vec::new();
        for id in [webhook.as_str(), unknown, "nonsense", "%FF"] {
            let path = format!("/v1/webhooks/{id}{rest}");
            let answer = stage.call(&other, method.clone(), &path, body).await;
            answer.problem(404, "not_found");
            answers.push(answer.text);
        }
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{method} {rest}"
        );
    }
    let listed = stage.call(&other, Method::GET, "/v1/webhooks", "").await;
    assert_eq!(listed.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_webhook_shows_its_backlog_and_when_it_will_be_empty() {
    let stage = Stage::new().await;
    let id = stage.webhook().await;
    let path = format!("/v1/webhooks/{id}");
    stage.post(&format!("{path}/pause"), "").await.expect(200);
    let event = json!({"type": "task.completed", "payload": {}, "webhook_id": id});
    for _ in 0..3 {
        stage.post("/v1/events", &event).await.expect(202);
    }
    let shown = stage.get(&path).await.expect(200);
    assert_eq!(
        shown["backlog"],
        json!({"size": 3, "counted": true, "empty_at": null}),
        "it waits for the webhook to be resumed"
    );
    let resumed = stage.post(&format!("{path}/resume"), "").await.expect(200);
    assert_eq!(resumed["backlog"], json!(null), "it is not counted again");
    let shown = stage.get(&path).await.expect(200);
    assert_eq!(
        shown["backlog"],
        json!({"size": 3, "counted": true, "empty_at": "2026-02-21T10:00:03.000Z"}),
        "at one per second"
    );
    let listed = stage.get("/v1/webhooks").await.expect(200);
    assert_eq!(listed["items"][0]["backlog"], json!(null));
}

#[tokio::test]
async fn a_backlog_is_counted_up_to_ten_thousand() {
    let stage = Stage::new().await;
    let id = stage.webhook().await;
    let path = format!("/v1/webhooks/{id}");
    stage.post(&format!("{path}/pause"), "").await.expect(200);
    let event = json!({"type": "task.completed", "payload": {}, "webhook_id": id});
    let batch = json!({"events": vec![event.clone(); 100]});
    for _ in 0..100 {
        stage.post("/v1/events", &batch).await.expect(202);
    }
    let shown = stage.get(&path).await.expect(200);
    let exactly = json!({"size": 10_000, "counted": true, "empty_at": null});
    assert_eq!(shown["backlog"], exactly);
    stage.post("/v1/events", &event).await.expect(202);
    let shown = stage.get(&path).await.expect(200);
    let more = json!({"size": 10_000, "counted": false, "empty_at": null});
    assert_eq!(shown["backlog"], more);
}

#[tokio::test]
async fn a_backlog_that_cannot_be_counted_is_unknown_and_the_rest_is_shown() {
    let stage = Stage::new().await;
    let id = stage.webhook().await;
    let file = rusqlite::Connection::open(stage.dir.path().join("postrider.db")).unwrap();
    file.execute_batch("ALTER TABLE webhook_deliveries RENAME TO elsewhere")
        .unwrap();
    let shown = stage.get(&format!("/v1/webhooks/{id}")).await.expect(200);
    assert_eq!(
        (&shown["id"], &shown["backlog"]),
        (&json!(id), &json!(null))
    );
}

#[tokio::test]
async fn a_webhook_shows_its_current_rate_and_its_next_probe() {
    let stage = Stage::new().await;
    let mut draft = new_webhook();
    draft["auto_resume"] = json!(true);
    let made = stage.post("/v1/webhooks", draft).await.expect(201);
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let id: WebhookId = made["id"].as_str().unwrap().parse().unwrap();
    let tenant = TenantId::default();
    let now = stage.clock.now();
    let store = &stage.gateway.ports.store;
    let entered = Limiter {
        limited: true,
        rate_milli: 2500,
        epoch: 1,
        ..Limiter::default()
    };
    let stored = store.enter(&tenant, id, 0, entered, now).await;
    assert_eq!(stored, Ok(Stored::Done));
    assert_eq!(stage.get(&path).await.expect(200)["current_rate"], 2.5);
    let listed = stage.get("/v1/webhooks").await.expect(200);
    assert_eq!(listed["items"][0]["current_rate"], 2.5);
    let metrics = stage.get("/metrics").await;
    let rate = format!("postrider_webhook_rate{{webhook_id=\"{id}\"}} 2.5");
    assert!(metrics.text.contains(&rate), "{}", metrics.text);
    stage.post(&format!("{path}/pause"), "").await.expect(200);
    let resumed = stage.post(&format!("{path}/resume"), "").await;
    let resumed = resumed.expect(200);
    assert_eq!(resumed["current_rate"], 1.0, "it starts slowly");
    assert_eq!(resumed["next_test_at"], json!(null));
}

#[tokio::test]
async fn a_webhook_shows_its_last_failure_without_the_response_body() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    let shown = stage.get(&format!("/v1/webhooks/{webhook}")).await;
    assert_eq!(
        shown.expect(200)["last_failure"],
        json!({
            "delivery_id": id, "event_type": "task.done", "error": "HTTP status 500",
            "at": "2026-02-21T10:00:00.005Z",
        })
    );
}
