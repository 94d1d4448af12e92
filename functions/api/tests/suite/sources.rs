//! Sources and their routes.

use http::{Method, header};
use postrider_domain::key::Scope;
use serde_json::{Value, json};

use crate::stage::Stage;

const SECRET: &str = "canary of a source's secret";

fn new_source() -> Value {
    json!({"name": "Peer", "scheme": "postrider", "secret": SECRET})
}

/// Creates a source without routes; returns its API path.
async fn source(stage: &Stage) -> String {
    let made = stage.post("/v1/sources", new_source()).await.expect(201);
    format!("/v1/sources/{}", made["id"].as_str().unwrap())
}

fn route(webhook: &str) -> Value {
    json!({
        "event_type": "pull_request.*", "filter": {"action": ["opened"]}, "intent": "code_review",
        "target_session": "reviewer-cluster", "webhook_id": webhook,
    })
}

#[tokio::test]
async fn a_source_is_created_shown_and_deleted() {
    let stage = Stage::new().await;
    let answer = stage.post("/v1/sources", new_source()).await;
    let made = answer.expect(201);
    let id = made["id"].as_str().unwrap();
    assert!(id.starts_with("src_"));
    let path = format!("/v1/sources/{id}");
    assert_eq!(answer.headers[header::LOCATION], path.as_str());
    let shown = json!({
        "id": id, "name": "Peer", "scheme": "postrider", "url": format!("/gateway/webhooks/{id}"),
        "public_url": null, "custom": null, "has_verify_token": false, "routes": [], "secret_expires": [],
        "created_at": "2026-02-21T10:00:00.000Z", "updated_at": "2026-02-21T10:00:00.000Z",
    });
    for (field, value) in shown.as_object().unwrap() {
        assert_eq!(&made[field], value, "{field}");
    }
    assert_eq!(stage.get(&path).await.expect(200), made);
    assert_eq!(
        stage.get("/v1/sources").await.expect(200),
        json!({"items": [made], "next_cursor": null})
    );
    let deleted = stage.delete(&path).await;
    assert_eq!((deleted.status.as_u16(), deleted.text.as_str()), (204, ""));
    stage.get(&path).await.problem(404, "not_found");
    stage.delete(&path).await.problem(404, "not_found");
}

#[tokio::test]
async fn every_field_can_be_set_and_changed() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let mut given = new_source();
    given["public_url"] = json!("https://hooks.example/in");
    given["routes"] = json!([route(&webhook)]);
    let made = stage.post("/v1/sources", &given).await.expect(201);
    assert_eq!(made["public_url"], given["public_url"]);
    assert_eq!(made["routes"], given["routes"]);
    let path = format!("/v1/sources/{}", made["id"].as_str().unwrap());

    let named = stage.patch(&path, json!({"name": "New"})).await.expect(200);
    assert_eq!(
        (&named["name"], &named["routes"]),
        (&json!("New"), &given["routes"])
    );
    assert_ne!(named["updated_at"], made["updated_at"]);
    let reset = json!({"public_url": null, "routes": []});
    let reset = stage.patch(&path, reset).await.expect(200);
    assert_eq!(
        (&reset["public_url"], &reset["routes"]),
        (&Value::Null, &json!([]))
    );
    let nothing = stage.patch(&path, json!({})).await.expect(200);
    assert_eq!(nothing["name"], "New");
    stage
        .patch(&path, json!({"secret": SECRET}))
        .await
        .refuses("secret", "rotate-secret");
    stage
        .patch(&path, json!({"scheme": null}))
        .await
        .refuses("scheme", "another source");
    stage
        .patch(&path, json!({"status": 1}))
        .await
        .refuses("status", "not known");
}

#[tokio::test]
async fn routes_are_read_and_replaced() {
    let stage = Stage::new().await;
    let (webhook, path) = (stage.webhook().await, source(&stage).await);
    let routes = format!("{path}/routes");
    assert_eq!(stage.get(&routes).await.expect(200), json!({"routes": []}));
    let mut bare = route(&webhook);
    bare.as_object_mut().unwrap().remove("target_session");
    let given = json!({"routes": [route(&webhook), bare]});
    let put = async |body: &Value| {
        stage
            .call(&stage.admin, Method::PUT, &routes, &body.to_string())
            .await
    };
    let replaced = put(&given).await.expect(200);
    assert_eq!(replaced["routes"][0], given["routes"][0]);
    assert_eq!(replaced["routes"][1]["target_session"], Value::Null);
    assert_eq!(stage.get(&routes).await.expect(200), replaced);
    assert_eq!(
        stage.get(&path).await.expect(200)["routes"],
        replaced["routes"]
    );

    put(&json!({})).await.refuses("routes", "missing");
    put(&json!({"routes": null})).await.refuses("routes", "");
    put(&json!({"routes": [7]}))
        .await
        .refuses("routes[0]", "an object");
    let mut unclear = route(&webhook);
    unclear["filter"] = json!({"action": "opened"});
    put(&json!({"routes": [route(&webhook), unclear]}))
        .await
        .refuses("routes[1].filter", "at /action");
    put(&json!({"routes": vec![route(&webhook); 101]}))
        .await
        .refuses("routes", "100");
    assert_eq!(
        stage.get(&routes).await.expect(200),
        replaced,
        "nothing has changed"
    );
}

#[tokio::test]
async fn a_route_to_a_deleted_webhook_does_not_block_changes() {
    let stage = Stage::new().await;
    let (webhook, path) = (stage.webhook().await, source(&stage).await);
    stage
        .patch(&path, json!({"routes": [route(&webhook)]}))
        .await
        .expect(200);
    stage.delete(&format!("/v1/webhooks/{webhook}")).await;
    let named = stage.patch(&path, json!({"name": "New"})).await.expect(200);
    assert_eq!(named["routes"][0]["webhook_id"], webhook);
    let other = source(&stage).await;
    let refused = stage
        .patch(&other, json!({"routes": [route(&webhook)]}))
        .await;
    refused.refuses("routes[0].webhook_id", "no webhook has this id");
}

#[tokio::test]
async fn every_invalid_field_is_reported_with_its_limit() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let refused = async |field: &str, value: Value, at: &str, words: &str| {
        let mut given = new_source();
        given[field] = value;
        stage.post("/v1/sources", &given).await.refuses(at, words);
    };
    refused("name", json!(""), "name", "1 to 100").await;
    refused("scheme", json!("rot13"), "scheme", "postrider").await;
    refused("scheme", json!(7), "scheme", "a string").await;
    refused("secret", json!(""), "secret", "1 to 1024").await;
    refused("secret", json!("x".repeat(1025)), "secret", "1 to 1024").await;
    refused("secret", json!(null), "secret", "a string").await;
    refused(
        "public_url",
        json!("https://h/?q=1"),
        "public_url",
        "without",
    )
    .await;
    refused("routes", json!({}), "routes", "").await;
    refused("unknown", json!(1), "unknown", "not known").await;
    let faulty = async |field: &str, value: Value, words: &str| {
        let mut bad = route(&webhook);
        bad[field] = value;
        let at = format!("routes[1].{field}");
        refused("routes", json!([route(&webhook), bad]), &at, words).await;
    };
    faulty("event_type", json!("a..b"), "separated by single dots").await;
    faulty("intent", json!(""), "1 to 128").await;
    faulty("target_session", json!("é"), "1 to 128").await;
    faulty("webhook_id", json!("nonsense"), "wh_").await;
    faulty(
        "webhook_id",
        json!("wh_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
        "no webhook",
    )
    .await;
    let mut missing = new_source();
    missing.as_object_mut().unwrap().remove("secret");
    stage
        .post("/v1/sources", missing)
        .await
        .refuses("secret", "missing");

    let all =
        json!({"name": "", "scheme": "", "secret": "", "public_url": "", "routes": [route("wh_")]});
    let faults = stage
        .post("/v1/sources", all)
        .await
        .problem(400, "invalid_request");
    assert_eq!(faults.len(), 5, "{faults:?}");
}

#[tokio::test]
async fn a_secret_is_rotated_and_never_shown() {
    let stage = Stage::new().await;
    let path = source(&stage).await;
    let rotate = format!("{path}/rotate-secret");
    let rotated = stage.post(&rotate, json!({"secret": "canary 2"})).await;
    let expected = json!({"previous_expires_at": "2026-02-22T10:00:00.000Z"});
    assert_eq!(rotated.expect(200), expected);
    let shown = stage.get(&path).await;
    let expires = &shown.expect(200)["secret_expires"];
    assert_eq!(expires, &json!(["2026-02-22T10:00:00.000Z"]));
    for path in [path.as_str(), "/v1/sources"] {
        assert!(!stage.get(path).await.text.contains("canary"));
    }
    stage
        .post(&rotate, "")
        .await
        .problem(400, "invalid_request");
    stage
        .post(&rotate, json!({"secret": ""}))
        .await
        .refuses("secret", "1 to 1024");
    stage
        .post(&rotate, json!({"secret": "canary 3"}))
        .await
        .expect(200);
    let fourth = stage.post(&rotate, json!({"secret": "canary 4"})).await;
    fourth.problem(409, "too_many_secrets");
}

#[tokio::test]
async fn another_tenant_sees_nothing() {
    let stage = Stage::new().await;
    let path = source(&stage).await;
    let id = path.strip_prefix("/v1/sources/").unwrap();
    let other = stage.token("other", &Scope::ALL).await;
    for (method, rest, body) in [
        (Method::GET, "", ""),
        (Method::PATCH, "", "{}"),
        (Method::DELETE, "", ""),
        (Method::POST, "/rotate-secret", r#"{"secret":"x"}"#),
        (Method::GET, "/refused", ""),
        (Method::GET, "/refused/rfd_aaaaaaaaaaaaaaaaaaaaaaaaaa", ""),
        (Method::GET, "/routes", ""),
        (Method::PUT, "/routes", r#"{"routes":[]}"#),
    ] {
        let mut answers = Vec::new();
        for id in [id, "src_aaaaaaaaaaaaaaaaaaaaaaaaaa", "nonsense", "%FF"] {
            let path = format!("/v1/sources/{id}{rest}");
            let answer = stage.call(&other, method.clone(), &path, body).await;
            answer.problem(404, "not_found");
            answers.push(answer.text);
        }
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{method} {rest}"
        );
    }
    let listed = stage.call(&other, Method::GET, "/v1/sources", "").await;
    assert_eq!(listed.expect(200)["items"], json!([]));
    let theirs = stage.token("other", &Scope::ALL).await;
    let mut given = new_source();
    given["routes"] = json!([route(&stage.webhook().await)]);
    let refused = stage
        .call(&theirs, Method::POST, "/v1/sources", &given.to_string())
        .await;
    refused.refuses("routes[0].webhook_id", "no webhook has this id");
}

#[tokio::test]
async fn reading_requires_read_and_changing_requires_manage() {
    let stage = Stage::new().await;
    let path = source(&stage).await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let publisher = stage.token("default", &[Scope::Publish]).await;
    for (method, path, body) in [
        (
            Method::POST,
            "/v1/sources".to_owned(),
            new_source().to_string(),
        ),
        (Method::PATCH, path.clone(), "{}".to_owned()),
        (Method::DELETE, path.clone(), String::new()),
        (
            Method::POST,
            format!("{path}/rotate-secret"),
            r#"{"secret":"x"}"#.to_owned(),
        ),
        (
            Method::PUT,
            format!("{path}/routes"),
            r#"{"routes":[]}"#.to_owned(),
        ),
        (
            Method::GET,
            format!("{path}/refused/rfd_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            String::new(),
        ),
    ] {
        for token in [&reader, &publisher] {
            let answer = stage.call(token, method.clone(), &path, &body).await;
            answer.problem(403, "missing_scope");
        }
    }
    for path in [
        "/v1/sources",
        path.as_str(),
        &format!("{path}/routes"),
        &format!("{path}/refused"),
    ] {
        stage.call(&reader, Method::GET, path, "").await.expect(200);
        stage
            .call(&publisher, Method::GET, path, "")
            .await
            .problem(403, "missing_scope");
    }
}
