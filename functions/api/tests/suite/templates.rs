//! Templates: testing them, their presets, and the webhooks that have one.

use postrider_domain::key::Scope;
use serde_json::{Value, json};

use crate::stage::{Stage, new_webhook};

const PATH: &str = "/v1/templates/test";

fn tested(body: &str, payload: &Value) -> Value {
    json!({"template": {"body": body}, "payload": payload})
}

#[tokio::test]
async fn a_template_is_tested_on_a_payload_or_a_stored_event() {
    let stage = Stage::new().await;
    let body = "{\"a\": {{ payload.a }}, \"type\": {{ event.type }}}";
    let answer = stage
        .post(PATH, tested(body, &json!({"a": null})))
        .await
        .expect(200);
    let expected = json!({
        "body": "{\"a\": null, \"type\": \"example.event\"}", "content_type": "application/json", "query": null,
    });
    assert_eq!(answer, expected);

    stage.post("/v1/webhooks", new_webhook()).await.expect(201);
    let event = json!({"type": "task.done", "payload": {"a": 5}});
    let event = stage.post("/v1/events", event).await.expect(202);
    let template = json!({"body": "{{ payload.a }} {{ event.id }}", "content_type": "text/plain", "query": "a={{ payload.a }}"});
    let given = json!({"template": template, "event_id": event["id"]});
    let answer = stage.post(PATH, given).await.expect(200);
    let id = event["id"].as_str().unwrap();
    let expected = json!({"body": format!("5 {id}"), "content_type": "text/plain", "query": "a=5"});
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn an_error_of_a_template_names_field_and_line() {
    let stage = Stage::new().await;
    let refused = async |template: Value, field: &str, words: &str| {
        let given = json!({"template": template, "payload": {"a": 1}});
        stage.post(PATH, given).await.refuses(field, words);
    };
    refused(json!({"body": "a\n{% if %}"}), "template.body", "line 2: ").await;
    refused(
        json!({"body": "\n\n{{ payload.b.c }}"}),
        "template.body",
        "line 3: ",
    )
    .await;
    refused(json!({"body": "{"}), "template.body", "not valid JSON").await;
    refused(
        json!({"body": "{}", "query": "{{ x | y }}"}),
        "template.query",
        "line 1: ",
    )
    .await;
    refused(
        json!({"body": "x".repeat(16385)}),
        "template.body",
        "16384 bytes",
    )
    .await;
    refused(
        json!({"body": "{}", "content_type": "\n"}),
        "template.content_type",
        "ASCII",
    )
    .await;
    refused(
        json!({"body": "{}", "language": "liquid"}),
        "template.language",
        "not known",
    )
    .await;
    stage
        .post(PATH, json!({"template": {"body": "{}"}}))
        .await
        .refuses("payload", "missing");
    let both = json!({"template": {"body": "{}"}, "payload": 1, "event_id": "evt_a"});
    stage.post(PATH, both).await.refuses("event_id", "not both");
    let unknown = json!({"template": {"body": "{}"}, "event_id": "evt_a"});
    stage
        .post(PATH, unknown)
        .await
        .refuses("event_id", "id of an event");
    let gone = json!({"template": {"body": "{}"}, "event_id": "evt_aaaaaaaaaaaaaaaaaaaaaaaaaa"});
    stage.post(PATH, gone).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_webhook_keeps_its_template_until_it_is_removed() {
    let stage = Stage::new().await;
    let mut given = new_webhook();
    given["template"] = json!({"body": "{}\n", "query": "a=1"});
    let created = stage.post("/v1/webhooks", &given).await.expect(201);
    let shown = json!({"body": "{}\n", "content_type": "application/json", "query": "a=1"});
    assert_eq!(created["template"], shown);
    let path = format!("/v1/webhooks/{}", created["id"].as_str().unwrap());
    let renamed = stage
        .patch(&path, json!({"name": "other"}))
        .await
        .expect(200);
    assert_eq!(renamed["template"], shown);
    stage
        .patch(&path, json!({"template": {"body": "{{"}}))
        .await
        .refuses("template.body", "line 1");
    let changed = stage
        .patch(&path, json!({"template": {"body": "[]"}}))
        .await
        .expect(200);
    assert_eq!(
        changed["template"],
        json!({"body": "[]", "content_type": "application/json"})
    );
    let removed = stage
        .patch(&path, json!({"template": null}))
        .await
        .expect(200);
    assert_eq!(removed["template"], Value::Null);
}

#[tokio::test]
async fn a_delivery_shows_what_its_template_renders() {
    let stage = Stage::new().await;
    let mut given = new_webhook();
    given["template"] = json!({"body": "{\"n\": {{ payload.n }}}", "content_type": "application/vnd.chat+json", "query": "n={{ payload.n }}"});
    stage.post("/v1/webhooks", &given).await.expect(201);
    let event = json!({"type": "task.done", "payload": {"n": 7}});
    let event = stage.post("/v1/events", event).await.expect(202);
    let id = event["deliveries"][0]["id"].as_str().unwrap();
    let shown = stage.get(&format!("/v1/deliveries/{id}")).await.expect(200);
    assert_eq!(shown["payload"], "{\"n\":7}");
    assert_eq!(shown["request"]["body"], "{\"n\": 7}");
    let url = shown["request"]["target_url"].as_str().unwrap();
    assert!(url.ends_with("?n=7"), "{url}");
    let headers = shown["request"]["headers"].as_array().unwrap();
    let header = json!({"name": "content-type", "value": "application/vnd.chat+json"});
    assert!(headers.contains(&header), "{headers:?}");
}

#[tokio::test]
async fn presets_can_be_listed_and_used_as_they_are() {
    let stage = Stage::new().await;
    let presets = stage.get("/v1/templates/presets").await.expect(200);
    let names: Vec<_> = presets["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["slack", "discord", "teams"]);
    for preset in presets["items"].as_array().unwrap() {
        let mut given = new_webhook();
        given["template"] = preset["template"].clone();
        stage.post("/v1/webhooks", &given).await.expect(201);
        let test = json!({"template": preset["template"], "payload": {"text": "\"hello\""}});
        stage.post(PATH, test).await.expect(200);
    }
}

#[tokio::test]
async fn testing_a_template_needs_a_key_that_may_read() {
    let stage = Stage::new().await;
    let given = tested("{}", &json!(1)).to_string();
    let call = async |key: &str| stage.call(key, http::Method::POST, PATH, &given).await;
    let publish = stage.token("default", &[Scope::Publish]).await;
    call(&publish).await.problem(403, "missing_scope");
    let read = stage.token("default", &[Scope::Read]).await;
    call(&read).await.expect(200);
    let foreign = stage.token("other", &[Scope::Read]).await;
    stage.post("/v1/webhooks", new_webhook()).await.expect(201);
    let event = json!({"type": "task.done", "payload": {"a": 5}});
    let event = stage.post("/v1/events", event).await.expect(202);
    let given = json!({"template": {"body": "{}"}, "event_id": event["id"]}).to_string();
    let answer = stage.call(&foreign, http::Method::POST, PATH, &given).await;
    answer.problem(404, "not_found");
}
