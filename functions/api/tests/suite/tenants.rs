//! Tenants and their limits.

use http::{Method, header};
use postrider_domain::time::Millis;
use serde_json::{Value, json};

use crate::inspector::{get, log_in};
use crate::stage::{Answer, Stage};

async fn tenant(stage: &Stage, limits: Value) -> String {
    let given = json!({"id": "acme", "name": "Acme", "limits": limits});
    stage.post("/v1/tenants", given).await.expect(201);
    let given = json!({"name": "all", "scopes": ["publish", "read", "manage"], "tenant": "acme"});
    let made = stage.post("/v1/keys", given).await.expect(201);
    made["token"].as_str().unwrap().to_owned()
}

async fn publish(stage: &Stage, token: &str, payload: &str) -> Answer {
    let event = json!({"type": "task.done", "payload": payload}).to_string();
    stage.call(token, Method::POST, "/v1/events", &event).await
}

async fn add_webhook(stage: &Stage, token: &str) -> Answer {
    let webhook = json!({"name": "a", "target_url": "https://example.com/", "event_types": ["**"]});
    let webhook = webhook.to_string();
    stage
        .call(token, Method::POST, "/v1/webhooks", &webhook)
        .await
}

#[tokio::test]
async fn a_tenant_is_created_changed_and_listed() {
    let stage = Stage::new().await;
    let given =
        json!({"id": "acme", "name": " Acme ", "limits": {"webhooks": 2, "publish_rate": null}});
    let made = stage.post("/v1/tenants", &given).await;
    assert_eq!(made.headers[header::LOCATION], "/v1/tenants/acme");
    let expected = json!({
        "id": "acme", "name": "Acme",
        "limits": {"webhooks": 2, "publish_rate": null, "max_body_bytes": null, "retention_days": null},
        "created_at": "2026-02-21T10:00:00.000Z", "updated_at": "2026-02-21T10:00:00.000Z",
        "deletion": null,
    });
    assert_eq!(made.expect(201), expected);
    stage
        .post("/v1/tenants", &given)
        .await
        .problem(409, "tenant_exists");
    assert_eq!(stage.get("/v1/tenants/acme").await.expect(200), expected);
    stage.clock.advance(Millis::from_seconds(1));
    let change = json!({"limits": {"webhooks": null, "retention_days": 7}});
    let changed = stage.patch("/v1/tenants/acme", change).await.expect(200);
    assert_eq!(
        (&changed["limits"]["webhooks"], &changed["name"]),
        (&Value::Null, &json!("Acme"))
    );
    assert_eq!(changed["limits"]["retention_days"], 7);
    assert_eq!(changed["updated_at"], "2026-02-21T10:00:01.000Z");
    let cleared = stage.patch("/v1/tenants/acme", json!({"limits": null}));
    assert_eq!(
        cleared.await.expect(200)["limits"]["retention_days"],
        Value::Null
    );
    let listed = stage.get("/v1/tenants?limit=1").await.expect(200);
    assert_eq!(listed["items"][0]["id"], "acme");
    let cursor = listed["next_cursor"].as_str().unwrap();
    let rest = stage.get(&format!("/v1/tenants?cursor={cursor}")).await;
    let rest = rest.expect(200);
    assert_eq!(rest["items"][0]["id"], "default");
    assert_eq!(rest["items"][0]["created_at"], Value::Null);
    assert_eq!(rest["next_cursor"], Value::Null);
}

#[tokio::test]
async fn a_tenant_without_a_record_is_seen_and_gets_one_when_it_is_changed() {
    let stage = Stage::new().await;
    stage
        .get("/v1/tenants/acme")
        .await
        .problem(404, "not_found");
    let change = json!({"limits": {"webhooks": 1}});
    stage
        .patch("/v1/tenants/acme", change.clone())
        .await
        .problem(404, "not_found");
    let key = json!({"name": "a", "scopes": ["read"], "tenant": "acme"});
    stage.post("/v1/keys", key).await.expect(201);
    let found = stage.get("/v1/tenants/acme").await.expect(200);
    assert_eq!(
        (&found["name"], &found["created_at"]),
        (&json!("acme"), &Value::Null)
    );
    let changed = stage
        .patch("/v1/tenants/acme", change.clone())
        .await
        .expect(200);
    assert_eq!(changed["created_at"], "2026-02-21T10:00:00.000Z");
}

#[tokio::test]
async fn invalid_fields_of_a_tenant_are_reported() {
    let stage = Stage::new().await;
    for (body, field, words) in [
        (json!({"id": "A B", "name": "a"}), "id", "a-z"),
        (json!({"id": "a", "name": ""}), "name", "1 to 100"),
        (json!({"id": "a"}), "name", "is missing"),
        (
            json!({"id": "a", "name": "a", "limits": {"webhooks": 0}}),
            "limits.webhooks",
            "1 to 1000",
        ),
        (
            json!({"id": "a", "name": "a", "limits": {"publish_rate": "fast"}}),
            "limits.publish_rate",
            "whole number",
        ),
        (
            json!({"id": "a", "name": "a", "limits": {"max_body_bytes": 99_999_999}}),
            "limits.max_body_bytes",
            "1 to 4194304",
        ),
        (
            json!({"id": "a", "name": "a", "limits": {"events": 1}}),
            "limits.events",
            "not known",
        ),
    ] {
        stage.post("/v1/tenants", body).await.refuses(field, words);
    }
    stage
        .get("/v1/tenants?cursor=A%20B")
        .await
        .refuses("cursor", "next_cursor");
    stage
        .get("/v1/tenants?limit=0")
        .await
        .refuses("limit", "1 to 200");
}

#[tokio::test]
async fn only_keys_of_the_default_tenant_see_tenants() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, Value::Null).await;
    let body = json!({"id": "b", "name": "b"}).to_string();
    for (method, path, body) in [
        (Method::GET, "/v1/tenants", ""),
        (Method::GET, "/v1/tenants/acme", ""),
        (Method::POST, "/v1/tenants", body.as_str()),
        (Method::PATCH, "/v1/tenants/acme", "{}"),
    ] {
        let answer = stage.call(&acme, method, path, body).await;
        answer.problem(403, "foreign_tenant");
    }
}

#[tokio::test]
async fn a_webhook_too_many_names_the_limit_and_changes_nothing() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, json!({"webhooks": 1})).await;
    add_webhook(&stage, &acme).await.expect(201);
    let faults = add_webhook(&stage, &acme).await;
    let faults = faults.problem(409, "limit_reached");
    assert_eq!(
        faults,
        ["limits.webhooks: this tenant may have at most 1 webhooks"]
    );
    let change = json!({"limits": {"webhooks": 2}});
    stage.patch("/v1/tenants/acme", change).await.expect(200);
    add_webhook(&stage, &acme).await.expect(201);
}

#[tokio::test]
async fn a_payload_over_the_tenants_limit_is_not_stored() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, json!({"max_body_bytes": 10})).await;
    add_webhook(&stage, &acme).await.expect(201);
    publish(&stage, &acme, "12345678").await.expect(202);
    let answer = publish(&stage, &acme, "123456789").await;
    let faults = answer.problem(413, "payload_too_large");
    assert!(
        faults[0].starts_with("limits.max_body_bytes: ") && faults[0].contains("10 bytes"),
        "{faults:?}"
    );
    let rows = stage.call(&acme, Method::GET, "/v1/deliveries", "").await;
    let rows = rows.expect(200);
    assert_eq!(rows["items"].as_array().unwrap().len(), 1);
    let admin = stage.admin.clone();
    publish(&stage, &admin, "123456789").await.expect(202);
}

#[tokio::test]
async fn publishing_faster_than_the_tenants_rate_is_refused_until_there_is_credit() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, json!({"publish_rate": 2})).await;
    for _ in 0..2 {
        publish(&stage, &acme, "a").await.expect(202);
    }
    let answer = publish(&stage, &acme, "a").await;
    let faults = answer.problem(429, "rate_limited");
    assert!(
        faults[0].starts_with("limits.publish_rate: ") && faults[0].contains("2 events per second"),
        "{faults:?}"
    );
    assert_eq!(answer.headers[header::RETRY_AFTER], "2");
    let admin = stage.admin.clone();
    publish(&stage, &admin, "a").await.expect(202);
    stage.clock.advance(Millis::new(500));
    publish(&stage, &acme, "a").await.expect(202);
    publish(&stage, &acme, "a")
        .await
        .problem(429, "rate_limited");
    let change = json!({"limits": {"publish_rate": null}});
    stage.patch("/v1/tenants/acme", change).await.expect(200);
    for _ in 0..10 {
        publish(&stage, &acme, "a").await.expect(202);
    }
}

#[tokio::test]
async fn usage_is_reported_per_day_to_the_operator_and_to_the_tenant() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, Value::Null).await;
    add_webhook(&stage, &acme).await.expect(201);
    publish(&stage, &acme, "12345678").await.expect(202);
    stage.clock.advance(Millis::from_seconds(86_400));
    for _ in 0..2 {
        publish(&stage, &acme, "12345678").await.expect(202);
    }
    let own = stage.call(&acme, Method::GET, "/v1/usage", "").await;
    let own = own.expect(200);
    let days = own["days"].as_array().unwrap();
    assert_eq!(days.len(), 30);
    let day = |day: &str, events: u64| json!({"day": day, "published": events, "delivered": 0, "attempts": 0, "bytes": 10 * events});
    assert_eq!(days[28..], [day("2026-02-21", 1), day("2026-02-22", 2)]);
    assert_eq!(own["total"]["bytes"], 30);
    let path = "/v1/tenants/acme/usage?from=2026-02-22&to=2026-02-22";
    let one = stage.get(path).await.expect(200);
    assert_eq!(one["days"], json!([day("2026-02-22", 2)]));
    assert_eq!(one["tenant"], "acme");
    let foreign = stage.call(&acme, Method::GET, path, "").await;
    foreign.problem(403, "foreign_tenant");
    stage
        .get("/v1/tenants/unknown/usage")
        .await
        .problem(404, "not_found");
    for (query, field, words) in [
        ("from=yesterday", "from", "2026-02-21"),
        ("from=2026-02-21T00:00:00Z", "from", "2026-02-21"),
        ("from=2026-02-23", "from", "not be after"),
        ("from=2026-01-01", "from", "at most 31 days"),
    ] {
        let answer = stage.get(&format!("/v1/usage?{query}")).await;
        answer.refuses(field, words);
    }
}

/// Their counters are too many for one read.
#[tokio::test]
async fn usage_is_reported_for_many_webhooks() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, Value::Null).await;
    for _ in 0..75 {
        add_webhook(&stage, &acme).await.expect(201);
    }
    publish(&stage, &acme, "12345678").await.expect(202);
    stage.clock.advance(Millis::from_seconds(20 * 86_400));
    publish(&stage, &acme, "12345678").await.expect(202);
    let usage = stage.call(&acme, Method::GET, "/v1/usage", "").await;
    assert_eq!(usage.expect(200)["total"]["published"], 2);
}

#[tokio::test]
async fn the_inspector_shows_usage_and_only_the_operator_sees_other_tenants() {
    let stage = Stage::new().await;
    let acme = tenant(&stage, json!({"webhooks": 7})).await;
    add_webhook(&stage, &acme).await.expect(201);
    publish(&stage, &acme, "12345678").await.expect(202);
    let given = json!({"id": "zulu", "name": "<b>Zulu</b>"});
    stage.post("/v1/tenants", given).await.expect(201);
    let day = "<tr data-day=\"2026-02-21\">";
    let operator = log_in(&stage, &stage.admin).await;
    let page = get(&stage, "/inspector/usage?tenant=acme", &operator).await;
    assert!(page.text.contains("<code>acme</code>, the last 30 days"));
    let row = page.text.split(day).nth(1).unwrap();
    assert!(
        row.contains("Published </span>1<") && row.contains("Bytes </span>10<"),
        "{row}"
    );
    assert!(page.text.contains("data-tenant=\"zulu\"") && !page.text.contains("<b>Zulu</b></b>"));
    let unknown = get(&stage, "/inspector/usage?tenant=unknown", &operator).await;
    assert_eq!(unknown.status.as_u16(), 404);
    let customer = log_in(&stage, &acme).await;
    let page = get(&stage, "/inspector/usage?tenant=default", &customer).await;
    assert!(page.text.contains("<code>acme</code>, the last 30 days"));
    assert!(!page.text.contains("zulu") && !page.text.contains("default"));
}
