//! The OpenAPI document says what the router does.

use std::collections::BTreeSet;

use http::Method;
use serde_json::Value;

use crate::stage::Stage;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[tokio::test]
async fn every_documented_operation_is_routed_and_no_other_method_is() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for (path, item) in document["paths"].as_object().unwrap() {
        if path == "/v1/stream" {
            continue;
        }
        for method in METHODS {
            let call = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer = stage
                .call(
                    &stage.admin,
                    call,
                    &path.replace("{id}", "x").replace("{refused_id}", "y"),
                    "",
                )
                .await;
            let routed =
                answer.status.as_u16() != 405 && !answer.text.contains(r#""code":"unknown_route""#);
            assert_eq!(routed, item.get(method).is_some(), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_path_of_the_design_is_documented() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    let paths: BTreeSet<_> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = BTreeSet::from([
        "/",
        "/healthz",
        "/metrics",
        "/openapi.json",
        "/v1/deliveries",
        "/v1/deliveries/{id}",
        "/v1/deliveries/{id}/retry",
        "/v1/deliveries/{id}/shadow",
        "/v1/events",
        "/v1/keys",
        "/v1/keys/{id}",
        "/v1/retries",
        "/v1/retries/{id}",
        "/v1/stats",
        "/v1/sources",
        "/v1/sources/{id}",
        "/v1/sources/{id}/refused",
        "/v1/sources/{id}/refused/{refused_id}",
        "/v1/sources/{id}/rotate-secret",
        "/v1/sources/{id}/routes",
        "/v1/stream",
        "/v1/webhooks",
        "/v1/webhooks/{id}",
        "/v1/webhooks/{id}/pause",
        "/v1/webhooks/{id}/resume",
        "/v1/webhooks/{id}/rotate-secret",
        "/v1/webhooks/{id}/test",
    ]);
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn every_operation_has_an_id_of_its_own() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    let mut seen = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(seen.insert(id), "{id}");
        }
    }
}

#[tokio::test]
async fn every_operation_names_its_token_and_its_problems() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let described = operation["summary"].is_string() && operation["responses"].is_object();
            assert!(described, "{method} {path}");
            if !path.starts_with("/v1") {
                continue;
            }
            assert!(
                operation["security"][0]["token"].is_array(),
                "{method} {path}"
            );
            for status in ["400", "401", "403", "500", "503"] {
                let content = &operation["responses"][status]["content"];
                let schema = &content["application/problem+json"]["schema"]["$ref"];
                assert_eq!(
                    schema, "#/components/schemas/Problem",
                    "{method} {path} {status}"
                );
            }
        }
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
