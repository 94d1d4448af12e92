//! Requests as API Gateway passes them to the function.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use lambda_http::request::from_str;
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::Scheme;
use postrider_domain::source::Source;
use postrider_samples::{self as sample, Unsigned};
use serde_json::{Map, Value, json};

use crate::stage::{Answer, SECRET, Stage, URL, sign};

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
async fn signatures_joined_in_transit_are_all_checked() {
    let stage = Stage::new();
    let source = stage.source(&[]).await.id.to_string();
    let joined = format!("{},{}", sign("old", b"{}"), sign(SECRET, b"{}"));
    invoke(&stage, &event(&source, "{}", false, &joined))
        .await
        .expect(202);
}

/// A request as API Gateway passes it on when its stage has a name.
fn through_stage(stage: &str, source: &Source, inbound: &Inbound) -> Value {
    let mut event: Value = serde_json::from_str(EVENT).unwrap();
    let path = format!("/{stage}{}", Source::path(source.id));
    event["rawPath"] = json!(path);
    event["requestContext"]["http"]["path"] = json!(path);
    event["requestContext"]["stage"] = json!(stage);
    event["rawQueryString"] = json!(inbound.query.clone().unwrap_or_default());
    let headers = inbound.headers.iter();
    let headers: Map<String, Value> = headers
        .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
        .collect();
    event["headers"] = json!(headers);
    event["body"] = json!(data_encoding::BASE64.encode(&inbound.body));
    event["isBase64Encoded"] = json!(true);
    event
}

#[tokio::test]
async fn a_stage_name_before_the_path_does_not_matter() {
    let stage = Stage::new();
    for scheme in [
        "twilio", "square", "hubspot", "slack", "sendgrid", "docusign",
    ] {
        let scheme = Scheme::named(scheme).unwrap();
        let keys = sample::keys(&scheme, &[1; 32]).unwrap();
        let source = stage.source_of(scheme.name, keys.secret.expose()).await;
        let event = &sample::events(&scheme)[0];
        let unsigned = Unsigned {
            url: URL,
            query: Some("a=1%2F2&b=x+y"),
            id: "1",
            headers: event.headers,
            content_type: event.content_type,
            body: event.body.as_bytes(),
        };
        let inbound = sample::sign(&scheme, &keys, unsigned, stage.now()).unwrap();
        let event = through_stage("prod", &source, &inbound);
        let accepted = invoke(&stage, &event).await.expect(202);
        assert_eq!(
            stage.event(&accepted).await.body,
            inbound.body,
            "{}",
            scheme.name
        );
        let mut forged = event;
        forged["body"] = json!("e30=");
        let rejected = invoke(&stage, &forged).await;
        rejected.problem(401, "invalid_signature");
        let listed = stage.gateway.rejected.list(&source.tenant, source.id, 1);
        let path = listed.await.unwrap().requests[0]
            .rejected
            .request
            .path
            .clone();
        assert_eq!(
            path,
            format!("/prod{}", Source::path(source.id)),
            "as the sender called it"
        );
    }
}

#[tokio::test]
async fn a_handshake_works_with_a_stage() {
    let stage = Stage::new();
    let source = stage.source_of("meta", "app secret").await;
    let mut event = through_stage("prod", &source, &Inbound::default());
    event["requestContext"]["http"]["method"] = json!("GET");
    let query = "hub.mode=subscribe&hub.challenge=11&hub.verify_token=app+secret";
    event["rawQueryString"] = json!(query);
    event["body"] = Value::Null;
    event["isBase64Encoded"] = json!(false);
    let answer = invoke(&stage, &event).await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, "11"));
}

#[tokio::test]
async fn header_names_are_case_insensitive() {
    let stage = Stage::new();
    let source = stage.source(&[]).await.id.to_string();
    let mut event = event(&source, "{}", false, "");
    let headers = event["headers"].as_object_mut().unwrap();
    headers.remove("x-observatory-signature");
    headers.insert("X-Webhook-Signature".to_owned(), json!(sign(SECRET, b"{}")));
    invoke(&stage, &event).await.expect(202);
}
