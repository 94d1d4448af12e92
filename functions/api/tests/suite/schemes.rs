//! Custom schemes, and Meta's verify token.

use serde_json::{Value, json};

use crate::stage::Stage;

fn acme() -> Value {
    json!({
        "name": "Acme", "scheme": "custom", "secret": "canary",
        "custom": {
            "header": "X-Acme-Signature", "prefix": "v1=", "signed": "{timestamp}.{body}",
            "timestamp": "header:x-acme-time", "window_seconds": 60,
            "event_type": ["header:x-acme-event", "body:/type"], "delivery_id": ["body:/id"],
        },
    })
}

#[tokio::test]
async fn a_custom_scheme_is_created_shown_and_replaced() {
    let stage = Stage::new().await;
    let made = stage.post("/v1/sources", acme()).await.expect(201);
    let custom = json!({
        "header": "x-acme-signature", "prefix": "v1=", "separator": ",", "encoding": "hex",
        "digest": "hmac-sha256", "key": "text", "signed": "{timestamp}.{body}",
        "timestamp": "header:x-acme-time", "timestamp_prefix": null, "timestamp_format": "seconds",
        "window_seconds": 60, "id": null,
        "event_type": ["header:x-acme-event", "body:/type"], "delivery_id": ["body:/id"],
    });
    assert_eq!(made["custom"], custom);
    let path = format!("/v1/sources/{}", made["id"].as_str().unwrap());
    assert_eq!(stage.get(&path).await.expect(200), made);
    let named = stage.patch(&path, json!({"name": "New"})).await.expect(200);
    assert_eq!(named["custom"], custom, "fields that are not named stay");
    let replacement = json!({"custom": {"header": "x-sign", "encoding": "base64"}});
    let replaced = stage.patch(&path, replacement).await.expect(200);
    assert_eq!(replaced["custom"]["header"], "x-sign");
    assert_eq!(replaced["custom"]["timestamp"], Value::Null);
}

#[tokio::test]
async fn every_invalid_field_of_a_custom_scheme_is_reported() {
    let stage = Stage::new().await;
    let refused = async |field: &str, value: Value, words: &str| {
        let mut given = acme();
        given["custom"][field] = value;
        let at = format!("custom.{field}");
        stage.post("/v1/sources", &given).await.refuses(&at, words);
    };
    refused("header", json!("not a name"), "").await;
    refused("header", json!(7), "a string").await;
    refused("digest", json!("md5"), "hmac-sha256").await;
    refused("encoding", json!("rot13"), "base64").await;
    refused("separator", json!("|"), "space").await;
    refused("prefix", json!("x".repeat(33)), "32").await;
    refused("signed", json!("{nonsense}"), "").await;
    refused("timestamp", json!("cookie:x"), "").await;
    refused("window_seconds", json!(0), "1 to 3600").await;
    refused("window_seconds", json!(3601), "1 to 3600").await;
    refused("window_seconds", json!(-1), "1 to 3600").await;
    refused("window_seconds", json!("60"), "whole number").await;
    refused("event_type", json!(vec!["body:/a"; 5]), "4").await;
    refused("unknown", json!(1), "not known").await;
    let mut given = acme();
    given["custom"] = json!({});
    stage
        .post("/v1/sources", &given)
        .await
        .refuses("custom.header", "missing");
    given["custom"] = json!([]);
    stage
        .post("/v1/sources", &given)
        .await
        .refuses("custom", "an object");
    given["custom"] = Value::Null;
    stage
        .post("/v1/sources", &given)
        .await
        .refuses("custom", "must be set");
    let mut given = acme();
    given["scheme"] = json!("github");
    stage
        .post("/v1/sources", &given)
        .await
        .refuses("custom", "only for the scheme `custom`");
}

#[tokio::test]
async fn a_custom_scheme_must_match_the_secret() {
    let stage = Stage::new().await;
    let mut given = acme();
    given["custom"] = json!({"header": "x-sign", "digest": "ed25519", "key": "hex"});
    stage
        .post("/v1/sources", &given)
        .await
        .refuses("secret", "64 hexadecimal");
    let made = stage.post("/v1/sources", acme()).await.expect(201);
    let path = format!("/v1/sources/{}", made["id"].as_str().unwrap());
    let change = json!({"custom": given["custom"]});
    stage
        .patch(&path, change)
        .await
        .refuses("secret", "64 hexadecimal");
    assert_eq!(
        stage.get(&path).await.expect(200),
        made,
        "nothing has changed"
    );
    let other = json!({"name": "GitHub", "scheme": "github", "secret": "x"});
    let other = stage.post("/v1/sources", other).await.expect(201);
    let path = format!("/v1/sources/{}", other["id"].as_str().unwrap());
    stage
        .patch(&path, json!({"custom": acme()["custom"]}))
        .await
        .refuses("custom", "only for the scheme `custom`");
    stage
        .patch(&path, json!({"custom": null}))
        .await
        .refuses("custom", "an object");
}

#[tokio::test]
async fn the_verify_token_is_set_and_never_shown() {
    let stage = Stage::new().await;
    let meta = |token: Value| json!({"name": "WhatsApp", "scheme": "meta", "secret": "s", "verify_token": token});
    let made = stage.post("/v1/sources", meta(json!("canary"))).await;
    assert!(!made.text.contains("canary"));
    let made = made.expect(201);
    assert_eq!(made["has_verify_token"], true);
    let path = format!("/v1/sources/{}", made["id"].as_str().unwrap());
    let named = stage.patch(&path, json!({"name": "New"})).await.expect(200);
    assert_eq!(named["has_verify_token"], true);
    assert!(!stage.get(&path).await.text.contains("canary"));
    let removed = stage.patch(&path, json!({"verify_token": null})).await;
    assert_eq!(removed.expect(200)["has_verify_token"], false);
    for bad in [json!(""), json!("x".repeat(1025))] {
        stage
            .post("/v1/sources", meta(bad.clone()))
            .await
            .refuses("verify_token", "1 to 1024");
        stage
            .patch(&path, json!({"verify_token": bad}))
            .await
            .refuses("verify_token", "1 to 1024");
    }
    let mut other = meta(json!("x"));
    other["scheme"] = json!("github");
    stage
        .post("/v1/sources", other)
        .await
        .refuses("verify_token", "only for the scheme `meta`");
    let all = json!({"name": "", "scheme": "meta", "secret": "", "verify_token": ""});
    let faults = stage.post("/v1/sources", all).await;
    assert_eq!(faults.problem(400, "invalid_request").len(), 3);
}
