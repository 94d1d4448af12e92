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
        "/livez",
        "/metrics",
        "/openapi.json",
        "/v1/deliveries",
        "/v1/deliveries/{id}",
        "/v1/deliveries/{id}/retry",
        "/v1/deliveries/{id}/shadow",
        "/v1/event-types",
        "/v1/event-types/{name}",
        "/v1/erasures",
        "/v1/erasures/{id}",
        "/v1/events",
        "/v1/events/{id}",
        "/v1/events/{id}/deliveries",
        "/v1/export",
        "/v1/filters/test",
        "/v1/import",
        "/v1/keys",
        "/v1/keys/{id}",
        "/v1/portal-links",
        "/v1/retries",
        "/v1/retries/{id}",
        "/v1/sessions/{id}",
        "/v1/stats",
        "/v1/sources",
        "/v1/sources/{id}",
        "/v1/sources/{id}/refused",
        "/v1/sources/{id}/refused/{refused_id}",
        "/v1/sources/{id}/rotate-secret",
        "/v1/sources/{id}/routes",
        "/v1/stream",
        "/v1/templates/presets",
        "/v1/templates/test",
        "/v1/tenants",
        "/v1/tenants/{id}",
        "/v1/tenants/{id}/usage",
        "/v1/usage",
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
            for status in ["400", "401", "403", "405", "500", "503"] {
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

/// The schema behind a reference, or the schema itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => schema,
    }
}

/// The schema of a field, without its alternative `null`. If fields depend on each other, that of the first variant.
fn field<'a>(document: &'a Value, schema: &str, name: &str) -> &'a Value {
    let whole = &document["components"]["schemas"][schema];
    let first = whole["oneOf"].get(0).or(whole["allOf"].get(0));
    let first = first.map(|one| resolved(document, one));
    let property = &first.unwrap_or(whole)["properties"][name];
    let alternatives = property["oneOf"].as_array();
    let value = alternatives.and_then(|all| all.iter().find(|one| one["type"] != "null"));
    resolved(document, value.unwrap_or(property))
}

#[tokio::test]
async fn every_body_rejects_unknown_fields_and_states_its_problems() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    let mut bodies = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() {
                continue;
            }
            bodies += 1;
            for status in ["408", "413", "415"] {
                assert!(
                    operation["responses"][status].is_object(),
                    "{method} {path} {status}"
                );
            }
            let mut open = vec![resolved(&document, schema)];
            while let Some(schema) = open.pop() {
                match schema["oneOf"].as_array() {
                    Some(all) => open.extend(
                        all.iter()
                            .filter(|one| one["type"] != "null")
                            .map(|one| resolved(&document, one)),
                    ),
                    None => assert_eq!(
                        schema["additionalProperties"], false,
                        "{method} {path}: {schema}"
                    ),
                }
            }
        }
    }
    assert!(bodies > 10, "{bodies}");
}

#[tokio::test]
async fn the_document_states_the_limits() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    for (schema, name, limit, value) in [
        ("NewWebhook", "timeout_seconds", "maximum", 30),
        ("NewWebhook", "retry_rate", "maximum", 10_000),
        ("NewWebhook", "max_rate", "maximum", 300),
        ("NewWebhook", "max_in_flight", "maximum", 128),
        ("NewWebhook", "target_url", "maxLength", 2048),
        ("NewWebhook", "event_types", "maxItems", 100),
        ("NewWebhook", "headers", "maxProperties", 32),
        ("NewWebhook", "owner_email", "maxLength", 254),
        ("RetrySettings", "max_attempts", "maximum", 100),
        ("RetrySettings", "delays_seconds", "maxItems", 100),
        ("NewSource", "secret", "maxLength", 1024),
        ("NewSource", "routes", "maxItems", 100),
        ("CustomScheme", "window_seconds", "maximum", 3600),
        ("NewShadow", "timeout_seconds", "maximum", 20),
        ("NewKey", "scopes", "maxItems", 3),
    ] {
        let stated = field(&document, schema, name)[limit].as_f64();
        assert_eq!(stated, Some(f64::from(value)), "{schema}.{name} {limit}");
    }
    for (schema, name) in [
        ("NewWebhook", "name"),
        ("NewWebhook", "secret"),
        ("NewRoute", "intent"),
        ("NewRoute", "webhook_id"),
        ("RetryFilter", "event_type"),
    ] {
        let pattern = &field(&document, schema, name)["pattern"];
        assert!(pattern.is_string(), "{schema}.{name}");
    }
}

#[tokio::test]
async fn an_event_has_either_payload() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    let either = &document["components"]["schemas"]["NewEvent"]["oneOf"];
    let required = [&either[0]["required"], &either[1]["required"]];
    for (required, name) in required.into_iter().zip(["payload", "payload_base64"]) {
        let names = required.as_array().unwrap();
        assert!(names.contains(&name.into()), "{required}");
        assert!(names.contains(&"type".into()), "{required}");
    }
}

#[tokio::test]
async fn parameters_state_their_values() {
    let stage = Stage::new().await;
    let document = stage.get("/openapi.json").await.expect(200);
    let parameters = document["paths"]["/v1/deliveries"]["get"]["parameters"]
        .as_array()
        .unwrap();
    let named = |name: &str| {
        let found = parameters.iter().find(|one| one["name"] == name);
        &found.unwrap_or_else(|| panic!("{name}"))["schema"]
    };
    let statuses = serde_json::json!(["pending", "failed", "delivered", "dead"]);
    assert_eq!(named("status")["enum"], statuses);
    assert_eq!(named("limit")["maximum"].as_f64(), Some(200.0));
    assert!(named("webhook_id")["pattern"].is_string());
    assert_eq!(named("from")["format"], "date-time");
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
