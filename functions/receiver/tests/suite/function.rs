//! Requests as API Gateway hands them to the function.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use lambda_http::request::from_str;
use serde_json::{Value, json};

use crate::stage::{Answer, SECRET, Stage, sign};

const EVENT: &str = include_str!("../../../../infra/events/receiver.json");

/// The sample event, for this source and with this body.
fn event(source: &str, body: &str, is_base64: bool, signature: &str) -> Value {
    let mut event: Value = serde_json::from_str(EVENT).unwrap();
    let path = format!("/gateway/webhooks/{source}");
    event["rawPath"] = json!(path);
    event["requestContext"]["http"]["path"] = json!(path);
    event["pathParameters"]["source_id"] = json!(source);
    event["headers"]["x-observatory-signature"] = json!(signature);
    event["body"] = json!(body);
    event["isBase64Encoded"] = json!(is_base64);
    event
}

async fn invoke(stage: &Stage, event: &Value) -> Answer {
    let (parts, body) = from_str(&event.to_string()).unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    stage
        .send(Request::from_parts(parts, Body::from(bytes)))
        .await
}

#[tokio::test]
async fn the_sample_event_is_received() {
    let stage = Stage::new();
    let source = stage.source(&[]).await.id.to_string();
    let sample: Value = serde_json::from_str(EVENT).unwrap();
    let body = sample["body"].as_str().unwrap();
    let signature = sign(SECRET, body.as_bytes());
    let event = event(&source, body, false, &signature);
    let accepted = invoke(&stage, &event).await.expect(202);
    let stored = stage.event(&accepted).await;
    assert_eq!(&stored.body[..], body.as_bytes());
    assert_eq!(stored.event_type.as_str(), "task.completed");
    assert_eq!(
        invoke(&stage, &event).await.expect(200)["id"],
        accepted["id"]
    );
}

#[tokio::test]
async fn a_body_in_base64_is_verified_over_its_bytes() {
    let stage = Stage::new();
    let source = stage.source(&[]).await.id.to_string();
    let body = b"\xff\x00\n";
    let encoded = data_encoding::BASE64.encode(body);
    let signature = sign(SECRET, body);
    let accepted = invoke(&stage, &event(&source, &encoded, true, &signature)).await;
    assert_eq!(&stage.event(&accepted.expect(202)).await.body[..], body);
    let over_text = sign(SECRET, encoded.as_bytes());
    let forged = invoke(&stage, &event(&source, &encoded, true, &over_text)).await;
    forged.problem(401, "invalid_signature");
}

#[tokio::test]
async fn signatures_that_were_joined_on_their_way_are_all_looked_at() {
    let stage = Stage::new();
    let source = stage.source(&[]).await.id.to_string();
    let joined = format!("{},{}", sign("old", b"{}"), sign(SECRET, b"{}"));
    invoke(&stage, &event(&source, "{}", false, &joined))
        .await
        .expect(202);
}
