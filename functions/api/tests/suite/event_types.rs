//! The catalogue of event types.

use http::Method;
use postrider_domain::key::Scope;
use serde_json::{Value, json};

use crate::stage::{Answer, Stage};

const LIST: &str = "/v1/event-types";

async fn put(stage: &Stage, token: &str, name: &str, body: Value) -> Answer {
    let path = format!("{LIST}/{name}");
    stage
        .call(token, Method::PUT, &path, &body.to_string())
        .await
}

fn names(list: &Value) -> Vec<(&str, bool)> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["shared"].as_bool().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn an_event_type_is_created_replaced_and_deleted() {
    let stage = Stage::new().await;
    let full = json!({
        "description": "An order was paid", "group": "Orders", "schema": {"type": "object"}, "examples": [{"id": 1}, null],
        "deprecated": true,
    });
    let created = put(&stage, &stage.admin, "order.paid", full)
        .await
        .expect(201);
    assert_eq!(created["name"], "order.paid");
    assert_eq!(
        (&created["deprecated"], &created["archived"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        stage.get(&format!("{LIST}/order.paid")).await.expect(200),
        created
    );
    let replaced = put(
        &stage,
        &stage.admin,
        "order.paid",
        json!({"archived": true}),
    )
    .await
    .expect(200);
    assert_eq!(
        (&replaced["description"], &replaced["schema"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&replaced["examples"], &replaced["deprecated"]),
        (&json!([]), &json!(true))
    );
    let list = stage.get(LIST).await.expect(200);
    assert_eq!(names(&list), [("order.paid", false)]);
    let deleted = stage.delete(&format!("{LIST}/order.paid")).await;
    assert_eq!(deleted.status.as_u16(), 204);
    stage
        .delete(&format!("{LIST}/order.paid"))
        .await
        .problem(404, "not_found");
    stage
        .get(&format!("{LIST}/order.paid"))
        .await
        .problem(404, "not_found");
}

#[tokio::test]
async fn what_is_not_valid_is_reported() {
    let stage = Stage::new().await;
    let refused = async |name: &str, body: Value, field: &str, words: &str| {
        put(&stage, &stage.admin, name, body)
            .await
            .refuses(field, words);
    };
    refused("order.*", json!({}), "name", "event type").await;
    refused(
        "a",
        json!({"schema": {"$ref": "https://example.com/s.json"}}),
        "schema",
        "only to itself",
    )
    .await;
    refused("a", json!({"schema": 5}), "schema", "JSON Schema").await;
    refused(
        "a",
        json!({"examples": vec![1; 6]}),
        "examples",
        "at most 5",
    )
    .await;
    refused("a", json!({"colour": "red"}), "colour", "not known").await;
    let twice = r#"{"schema": {"type": "object", "type": "string"}}"#;
    let path = format!("{LIST}/a");
    stage
        .call(&stage.admin, Method::PUT, &path, twice)
        .await
        .refuses("schema", "twice");
}

#[tokio::test]
async fn entries_of_the_operator_apply_to_tenants_without_their_own() {
    let stage = Stage::new().await;
    let tenant = stage.token("acme", &[Scope::Read, Scope::Manage]).await;
    for name in ["order.paid", "order.sent"] {
        put(&stage, &stage.admin, name, json!({"description": "shared"}))
            .await
            .expect(201);
    }
    put(&stage, &tenant, "order.paid", json!({"description": "own"}))
        .await
        .expect(201);
    put(&stage, &tenant, "acme.only", json!({}))
        .await
        .expect(201);
    let list = stage.call(&tenant, Method::GET, LIST, "").await.expect(200);
    assert_eq!(
        names(&list),
        [
            ("acme.only", false),
            ("order.paid", false),
            ("order.sent", true)
        ]
    );
    let shown = async |token: &str| {
        let path = format!("{LIST}/order.paid");
        stage.call(token, Method::GET, &path, "").await.expect(200)["description"].clone()
    };
    assert_eq!(
        (shown(&tenant).await, shown(&stage.admin).await),
        (json!("own"), json!("shared"))
    );
    let operators = stage.get(LIST).await.expect(200);
    assert_eq!(
        names(&operators),
        [("order.paid", false), ("order.sent", false)]
    );
    let path = format!("{LIST}/order.paid");
    let deleted = stage.call(&tenant, Method::DELETE, &path, "").await;
    assert_eq!(deleted.status.as_u16(), 204);
    assert_eq!(shown(&tenant).await, "shared");
    stage
        .call(&tenant, Method::DELETE, &path, "")
        .await
        .problem(404, "not_found");
}

#[tokio::test]
async fn changing_the_catalogue_needs_a_key_that_may_manage() {
    let stage = Stage::new().await;
    let reader = stage.token("default", &[Scope::Read]).await;
    put(&stage, &reader, "a", json!({}))
        .await
        .problem(403, "missing_scope");
    stage.call(&reader, Method::GET, LIST, "").await.expect(200);
    let publisher = stage.token("default", &[Scope::Publish]).await;
    stage
        .call(&publisher, Method::GET, LIST, "")
        .await
        .problem(403, "missing_scope");
}
