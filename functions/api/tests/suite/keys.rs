//! Keys, scopes and tokens.

use axum::body::Body;
use http::{Method, Request, header};
use postrider_domain::key::Scope;
use serde_json::json;

use crate::stage::{Answer, Stage};

#[tokio::test]
async fn a_key_is_created_used_listed_and_revoked() {
    let stage = Stage::new().await;
    let given = json!({"name": "reader", "scopes": ["read", "read"]});
    let made = stage.post("/v1/keys", given).await.expect(201);
    let token = made["token"].as_str().unwrap();
    let id = made["id"].as_str().unwrap();
    assert_eq!(
        (&made["scopes"], &made["tenant"]),
        (&json!(["read"]), &json!("default"))
    );
    stage
        .call(token, Method::GET, "/v1/webhooks", "")
        .await
        .expect(200);
    let listed = stage.get("/v1/keys").await;
    let items = &listed.expect(200)["items"];
    assert_eq!(items.as_array().unwrap().len(), 2);
    assert_eq!(
        items[0].as_object().unwrap().len(),
        6,
        "no token, no digest: {items}"
    );
    assert!(!listed.text.contains(token) && !listed.text.contains(&token[4..]));
    let used = items
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["id"] == id)
        .unwrap();
    assert_eq!(used["last_used_at"], "2026-02-21T10:00:00.000Z");
    let revoked = stage.delete(&format!("/v1/keys/{id}")).await;
    assert_eq!(revoked.status.as_u16(), 204);
    stage
        .call(token, Method::GET, "/v1/webhooks", "")
        .await
        .problem(401, "invalid_token");
    stage
        .delete(&format!("/v1/keys/{id}"))
        .await
        .problem(404, "not_found");
}

#[tokio::test]
async fn invalid_fields_are_reported() {
    let stage = Stage::new().await;
    for (body, field, words) in [
        (json!({"name": "", "scopes": ["read"]}), "name", "1 to 100"),
        (json!({"name": "a", "scopes": []}), "scopes", "at least one"),
        (
            json!({"name": "a", "scopes": ["root"]}),
            "scopes[0]",
            "`manage`",
        ),
        (json!({"name": "a", "scopes": [7]}), "scopes[0]", "a string"),
        (
            json!({"name": "a", "scopes": ["read", "read", "read", "read"]}),
            "scopes",
            "at most 3",
        ),
        (json!({"name": "a"}), "scopes", "is missing"),
        (
            json!({"name": "a", "scopes": ["read"], "tenant": "A B"}),
            "tenant",
            "a-z",
        ),
        (
            json!({"name": "a", "scopes": ["read"], "token": "x"}),
            "token",
            "not known",
        ),
    ] {
        stage.post("/v1/keys", body).await.refuses(field, words);
    }
}

#[tokio::test]
async fn only_the_default_tenant_creates_keys_for_others() {
    let stage = Stage::new().await;
    let given = json!({"name": "a", "scopes": ["manage"], "tenant": "acme"});
    let made = stage.post("/v1/keys", given).await.expect(201);
    assert_eq!(made["tenant"], "acme");
    let acme = made["token"].as_str().unwrap();
    let own = json!({"name": "b", "scopes": ["read"], "tenant": "acme"}).to_string();
    stage
        .call(acme, Method::POST, "/v1/keys", &own)
        .await
        .expect(201);
    let foreign = json!({"name": "b", "scopes": ["read"], "tenant": "default"}).to_string();
    stage
        .call(acme, Method::POST, "/v1/keys", &foreign)
        .await
        .problem(403, "foreign_tenant");
}

#[tokio::test]
async fn only_the_default_tenant_lists_and_revokes_keys_of_others() {
    let stage = Stage::new().await;
    let given = json!({"name": "a", "scopes": ["manage", "read"], "tenant": "acme"});
    let made = stage.post("/v1/keys", given).await.expect(201);
    let (id, acme) = (&made["id"], made["token"].as_str().unwrap());
    let path = format!("/v1/keys/{}", id.as_str().unwrap());
    for (method, path) in [
        (Method::GET, "/v1/keys?tenant=default"),
        (Method::DELETE, &*format!("{path}?tenant=default")),
    ] {
        let answer = stage.call(acme, method, path, "").await;
        answer.problem(403, "foreign_tenant");
    }
    let own = stage
        .call(acme, Method::GET, "/v1/keys?tenant=acme", "")
        .await;
    assert_eq!(own.expect(200)["items"][0]["id"], *id);
    let listed = stage.get("/v1/keys?tenant=acme").await;
    assert_eq!(listed.expect(200), own.expect(200));
    stage
        .get("/v1/keys?tenant=A+B")
        .await
        .refuses("tenant", "a-z");
    stage.delete(&path).await.problem(404, "not_found");
    let revoked = stage.delete(&format!("{path}?tenant=acme")).await;
    assert_eq!(revoked.status.as_u16(), 204);
    let refused = stage.call(acme, Method::GET, "/v1/keys", "").await;
    refused.problem(401, "invalid_token");
}

#[tokio::test]
async fn the_number_of_keys_is_limited() {
    let stage = Stage::new().await;
    let given = json!({"name": "a", "scopes": ["read"]});
    for _ in 0..99 {
        stage.post("/v1/keys", &given).await.expect(201);
    }
    let answer = stage.post("/v1/keys", &given).await;
    answer.problem(409, "limit_reached");
    assert!(answer.text.contains("at most 100 keys"));
}

#[tokio::test]
async fn every_path_requires_its_scope() {
    let stage = Stage::new().await;
    let (wh, dlv, job, key) = ("wh_x", "dlv_x", "job_x", "key_x");
    let paths = [
        (Method::POST, "/v1/events".to_owned(), Scope::Publish),
        (Method::GET, "/v1/webhooks".to_owned(), Scope::Read),
        (Method::POST, "/v1/webhooks".to_owned(), Scope::Manage),
        (Method::GET, format!("/v1/webhooks/{wh}"), Scope::Read),
        (Method::PATCH, format!("/v1/webhooks/{wh}"), Scope::Manage),
        (Method::DELETE, format!("/v1/webhooks/{wh}"), Scope::Manage),
        (
            Method::POST,
            format!("/v1/webhooks/{wh}/rotate-secret"),
            Scope::Manage,
        ),
        (
            Method::POST,
            format!("/v1/webhooks/{wh}/pause"),
            Scope::Manage,
        ),
        (
            Method::POST,
            format!("/v1/webhooks/{wh}/resume"),
            Scope::Manage,
        ),
        (
            Method::POST,
            format!("/v1/webhooks/{wh}/test"),
            Scope::Manage,
        ),
        (Method::GET, "/v1/deliveries".to_owned(), Scope::Read),
        (Method::GET, format!("/v1/deliveries/{dlv}"), Scope::Read),
        (
            Method::POST,
            format!("/v1/deliveries/{dlv}/retry"),
            Scope::Manage,
        ),
        (
            Method::POST,
            format!("/v1/deliveries/{dlv}/shadow"),
            Scope::Manage,
        ),
        (Method::POST, "/v1/retries".to_owned(), Scope::Manage),
        (Method::GET, format!("/v1/retries/{job}"), Scope::Read),
        (Method::DELETE, format!("/v1/retries/{job}"), Scope::Manage),
        (Method::GET, "/v1/keys".to_owned(), Scope::Read),
        (Method::POST, "/v1/keys".to_owned(), Scope::Manage),
        (Method::DELETE, format!("/v1/keys/{key}"), Scope::Manage),
        (Method::GET, "/v1/tenants".to_owned(), Scope::Read),
        (Method::POST, "/v1/tenants".to_owned(), Scope::Manage),
        (Method::GET, "/v1/tenants/x".to_owned(), Scope::Read),
        (Method::PATCH, "/v1/tenants/x".to_owned(), Scope::Manage),
    ];
    for scope in Scope::ALL {
        let token = stage.token("default", &[scope]).await;
        for (method, path, needed) in &paths {
            let answer = stage.call(&token, method.clone(), path, "").await;
            let may = scope == *needed || (*needed == Scope::Read && scope == Scope::Manage);
            if may {
                assert_ne!(
                    answer.status.as_u16(),
                    403,
                    "{method} {path} with {scope:?}"
                );
            } else {
                answer.problem(403, "missing_scope");
                assert!(answer.text.contains(needed.as_str()), "{}", answer.text);
            }
        }
    }
    let publisher = stage.token("default", &[Scope::Publish]).await;
    stage
        .call(&publisher, Method::GET, "/v1/stream", "")
        .await
        .problem(403, "missing_scope");
    for (method, path, _) in paths {
        let request = Request::builder()
            .method(&method)
            .uri(&path)
            .body(Body::empty())
            .unwrap();
        stage.send(request).await.problem(401, "missing_token");
    }
}

#[tokio::test]
async fn a_malformed_token_is_rejected() {
    let stage = Stage::new().await;
    let call = async |values: &[&[u8]]| -> Answer {
        let mut request = Request::get("/v1/webhooks");
        for value in values {
            request = request.header("authorization", *value);
        }
        stage.send(request.body(Body::empty()).unwrap()).await
    };
    let good = format!("bearer  {}", stage.admin);
    call(&[good.as_bytes()]).await.expect(200);
    for bad in [
        &[b"Bearer nonsense".as_slice()][..],
        &[b"Bearer "],
        &[b"Bearer"],
        &[b""],
        &[b"Basic dXNlcjpwYXNz"],
        &[b"Bearer \xff\xfe"],
        &[good.as_bytes(), good.as_bytes()],
    ] {
        let answer = call(bad).await;
        answer.problem(401, "invalid_token");
        assert!(
            answer.headers[header::WWW_AUTHENTICATE]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
    let missing = call(&[]).await;
    missing.problem(401, "missing_token");
    assert!(missing.headers.contains_key(header::WWW_AUTHENTICATE));
}
