//! A request as API Gateway passes it to the function.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use lambda_http::request::from_str;
use serde_json::{Value, json};

use crate::stage::{Answer, Stage};

const SAMPLE: &str = include_str!("../../../../infra/events/api.json");

async fn invoke(stage: &Stage, event: &Value) -> Answer {
    let (parts, body) = from_str(&event.to_string()).unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    stage
        .send(Request::from_parts(parts, Body::from(bytes)))
        .await
}

#[tokio::test]
async fn the_sample_event_publishes_an_event_once() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let mut sample: Value = serde_json::from_str(SAMPLE).unwrap();
    invoke(&stage, &sample).await.problem(401, "invalid_token");
    sample["headers"]["authorization"] = json!(format!("Bearer {}", stage.admin));
    let published = invoke(&stage, &sample).await.expect(202);
    assert_eq!(published["deliveries"][0]["webhook_id"], webhook);
    // With the same idempotency key, the second request repeats the first.
    let repeated = invoke(&stage, &sample).await.expect(200);
    assert_eq!(repeated["id"], published["id"]);
}
