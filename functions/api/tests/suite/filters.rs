//! Filters: testing them, and what publishing does with them.

use postrider_domain::key::Scope;
use serde_json::{Value, json};

use crate::stage::{Stage, new_webhook};

const PATH: &str = "/v1/filters/test";

#[tokio::test]
async fn a_filter_is_tested_on_a_payload() {
    let stage = Stage::new().await;
    let filter =
        json!({"total": [{"numeric": [">", 100]}], "$or": [{"a": [1]}, {"b": {"c": [2]}}]});
    for (payload, matches, failed) in [
        (json!({"total": 250, "a": 1}), true, json!([])),
        (
            json!([{"a": 1}, {"total": 250, "a": [1, 2]}]),
            true,
            json!([]),
        ),
        (json!({"total": 20, "a": 1}), false, json!(["/total"])),
        (
            json!({"total": 250}),
            false,
            json!(["/$or/0/a", "/$or/1/b/c"]),
        ),
        (
            json!("text"),
            false,
            json!(["/total", "/$or/0/a", "/$or/1/b/c"]),
        ),
    ] {
        let tested = json!({"filter": filter, "payload": payload});
        let answer = stage.post(PATH, tested).await.expect(200);
        assert_eq!(
            answer,
            json!({"matches": matches, "failed": failed}),
            "{payload}"
        );
    }
}

#[tokio::test]
async fn an_invalid_filter_is_reported_with_its_place() {
    let stage = Stage::new().await;
    let refused = async |filter: Value, words: &str| {
        let tested = json!({"filter": filter, "payload": {}});
        stage.post(PATH, tested).await.refuses("filter", words);
        let mut given = new_webhook();
        given["filter"] = filter;
        stage
            .post("/v1/webhooks", &given)
            .await
            .refuses("filter", words);
    };
    refused(json!(7), "a JSON object").await;
    refused(json!({}), "at least one field").await;
    refused(json!({"a": {"b": "x"}}), "at /a/b").await;
    refused(json!({"a": [{"regexp": "x"}]}), "at /a/0/regexp").await;
    refused(json!({"a": ["x".repeat(4096)]}), "4096 bytes").await;
    refused(json!({"a": vec![1; 101]}), "100 conditions").await;
    let twice = r#"{"filter": {"a": [1], "a": [2]}, "payload": {}}"#;
    let answer = stage
        .call(&stage.admin, http::Method::POST, PATH, twice)
        .await;
    answer.refuses("filter", "twice");
    stage
        .post(PATH, json!({"filter": {"a": [1]}}))
        .await
        .refuses("payload", "missing");
}

#[tokio::test]
async fn an_event_creates_deliveries_only_for_webhooks_whose_filter_matches() {
    let stage = Stage::new().await;
    let mut large = new_webhook();
    large["filter"] = json!({"total": [{"numeric": [">", 100]}]});
    let large = stage.post("/v1/webhooks", large).await.expect(201);
    let count = async |event: Value| {
        let answer = stage.post("/v1/events", event).await.expect(202);
        answer["deliveries"].as_array().unwrap().len()
    };
    let event = |total: i64| json!({"type": "task.done", "payload": {"total": total}});
    assert_eq!(count(event(250)).await, 1);
    assert_eq!(count(event(20)).await, 0);
    let mut named = event(20);
    named["webhook_id"] = large["id"].clone();
    assert_eq!(count(named).await, 0);
    let batch = json!({"events": [event(20), event(250)]});
    let results = &stage.post("/v1/events", batch).await.expect(202)["results"];
    let counts = [0, 1].map(|n| results[n]["deliveries"].as_array().unwrap().len());
    assert_eq!(counts, [0, 1]);
}

#[tokio::test]
async fn testing_a_filter_needs_a_key_that_may_read() {
    let stage = Stage::new().await;
    let tested = json!({"filter": {"a": [1]}, "payload": {"a": 1}}).to_string();
    let publish = stage.token("default", &[Scope::Publish]).await;
    let call = async |key: &str| stage.call(key, http::Method::POST, PATH, &tested).await;
    call(&publish).await.problem(403, "missing_scope");
    let read = stage.token("default", &[Scope::Read]).await;
    call(&read).await.expect(200);
}
