//! Payloads that do not match the schema of their event type.

use http::Method;
use postrider_gateway::settings::validation::EventValidation;
use serde_json::{Value, json};

use crate::inspector::{get, log_in};
use crate::stage::Stage;

async fn describe(stage: &Stage, schema: Value) {
    let entry = json!({"schema": schema}).to_string();
    let path = "/v1/event-types/task.done";
    let put = stage.call(&stage.admin, Method::PUT, path, &entry).await;
    assert!(put.status.is_success(), "{}", put.text);
}

fn schema() -> Value {
    json!({
        "required": ["id"], "additionalProperties": false,
        "properties": {"id": {"type": "string", "pattern": "^A-[0-9]+$"}, "lines": {"items": {"type": "integer"}}},
    })
}

#[tokio::test]
async fn a_rejected_event_gets_a_problem_with_the_pointer_of_each_fault() {
    let stage = Stage::validating(EventValidation::Reject).await;
    describe(&stage, schema()).await;
    let payload = json!({"id": "hunter2", "lines": [1, "hunter2"], "more": "hunter2"});
    let event = json!({"type": "task.done", "payload": payload});
    let answer = stage.post("/v1/events", &event).await;
    answer.problem(400, "schema_mismatch");
    assert!(!answer.text.contains("hunter2"), "{}", answer.text);
    let problem = answer.json();
    assert_eq!(
        problem["errors"],
        json!([
            {"field": "payload", "pointer": "/id", "message": "must match the pattern ^A-[0-9]+$"},
            {"field": "payload", "pointer": "/lines/1", "message": "must be an integer"},
            {"field": "payload", "pointer": "/more", "message": "is not allowed here"},
        ])
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("/id must match"), "{detail}");
    // In a batch, each event has its own answer.
    let good = json!({"type": "task.done", "payload": {"id": "A-7"}});
    let batch = json!({"events": [event, good]});
    let answer = stage.post("/v1/events", batch).await.expect(202);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0]["code"], "schema_mismatch");
    assert!(results[1]["id"].is_string(), "{answer}");
    // So has a payload that is not JSON.
    let text =
        json!({"type": "task.done", "payload_base64": "PGEvPg==", "content_type": "text/xml"});
    let answer = stage.post("/v1/events", text).await;
    answer.problem(400, "schema_mismatch");
}

#[tokio::test]
async fn there_are_at_most_twenty_faults_and_no_long_text() {
    let stage = Stage::validating(EventValidation::Reject).await;
    describe(&stage, json!({"additionalProperties": {"type": "string"}})).await;
    let many: serde_json::Map<String, Value> = (0..30)
        .map(|n| (format!("{}{n}", "ü".repeat(150)), json!(n)))
        .collect();
    let event = json!({"type": "task.done", "payload": many});
    let answer = stage.post("/v1/events", event).await;
    assert_eq!(answer.problem(400, "schema_mismatch").len(), 20);
    assert!(answer.text.len() < 12_000, "{}", answer.text.len());
}

#[tokio::test]
async fn a_warning_is_shown_on_the_page_of_the_event() {
    let stage = Stage::validating(EventValidation::Warn).await;
    describe(&stage, schema()).await;
    let wrong = stage.publish(json!({"id": 7})).await;
    let right = stage.publish(json!({"id": "A-7"})).await;
    let cookie = log_in(&stage, &stage.admin).await;
    let page = async |event: &Value| {
        let path = format!("/inspector/events/{}", event["id"].as_str().unwrap());
        get(&stage, &path, &cookie).await.text
    };
    let shown = page(&wrong).await;
    assert!(shown.contains("does not match the schema"), "{shown}");
    assert!(shown.contains("must be a string"), "{shown}");
    let shown = page(&right).await;
    assert!(!shown.contains("does not match the schema"), "{shown}");
}

#[tokio::test]
async fn an_invalid_schema_is_refused_with_its_place() {
    let stage = Stage::new().await;
    let entry = json!({"schema": {"properties": {"a": {"type": "strng"}}, "$ref": "#/$defs/none"}});
    let path = "/v1/event-types/task.done";
    let put = stage
        .call(&stage.admin, Method::PUT, path, &entry.to_string())
        .await;
    put.refuses("schema", "at /properties/a/type: must be one of null,");
    put.refuses("schema", "at /$ref: refers to a part");
}
