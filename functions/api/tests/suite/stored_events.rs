//! Stored events, and delivering them to another webhook.

use http::Method;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::key::Scope;
use serde_json::{Value, json};

use crate::stage::Stage;

/// An event that no webhook is subscribed to.
async fn unmatched(stage: &Stage) -> String {
    let event = json!({"type": "order.paid", "session_id": "s-7", "payload": {"n": 1}});
    let stored = stage.post("/v1/events", event).await.expect(202);
    assert_eq!(stored["deliveries"], json!([]));
    stored["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_event_is_shown_with_its_payload_and_deliveries() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let stored = stage.publish(json!({"n": 1})).await;
    let id = stored["id"].as_str().unwrap();
    let mut shown = stage.get(&format!("/v1/events/{id}")).await.expect(200);
    let listed = stage.get("/v1/deliveries").await.expect(200);
    assert_eq!(shown["deliveries"].take(), listed["items"]);
    assert_eq!(
        shown,
        json!({
            "id": id, "type": "task.done", "session_id": "s-1", "origin": "api", "content_type": "application/json",
            "payload": "{\"n\":1}", "payload_base64": null, "created_at": "2026-02-21T10:00:00.000Z",
            "deliveries": null,
        })
    );
}

#[tokio::test]
async fn an_event_that_no_webhook_got_is_delivered_later() {
    let stage = Stage::new().await;
    let event = unmatched(&stage).await;
    let webhook = stage.webhook().await;
    let path = format!("/v1/events/{event}/deliveries");
    let body = json!({"webhook_id": webhook});
    let row = stage.post(&path, &body).await.expect(202);
    assert_eq!(
        (&row["event_id"], &row["webhook_id"], &row["status"]),
        (&json!(event), &json!(webhook), &json!("pending"))
    );
    let shown = stage.get(&format!("/v1/events/{event}")).await.expect(200);
    assert_eq!(shown["deliveries"], json!([row]));
    stage
        .post(&path, &body)
        .await
        .problem(409, "delivery_exists");
}

#[tokio::test]
async fn a_late_delivery_needs_a_webhook_that_takes_it() {
    let stage = Stage::new().await;
    let event = unmatched(&stage).await;
    let path = format!("/v1/events/{event}/deliveries");
    let answer = stage.post(&path, json!({"webhook_id": "x"})).await;
    answer.refuses("webhook_id", "wh_");
    let unknown = stage.webhook().await;
    stage.delete(&format!("/v1/webhooks/{unknown}")).await;
    let answer = stage.post(&path, json!({"webhook_id": unknown})).await;
    answer.problem(404, "not_found");
    let disabled = stage.webhook().await;
    let cause = DeadCause::Gone;
    let delivery = stage.delivery().await;
    stage.attempt(&delivery, Transition::Die { cause }).await;
    let answer = stage.post(&path, json!({"webhook_id": disabled})).await;
    answer.problem(409, "webhook_disabled");
    let shown = stage.get(&format!("/v1/events/{event}")).await.expect(200);
    assert_eq!(shown["deliveries"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn showing_needs_read_and_delivering_needs_manage() {
    let stage = Stage::new().await;
    let event = unmatched(&stage).await;
    let webhook = stage.webhook().await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let publisher = stage.token("default", &[Scope::Publish]).await;
    let path = format!("/v1/events/{event}");
    stage
        .call(&reader, Method::GET, &path, "")
        .await
        .expect(200);
    stage
        .call(&publisher, Method::GET, &path, "")
        .await
        .problem(403, "missing_scope");
    let body = json!({"webhook_id": webhook}).to_string();
    stage
        .call(&reader, Method::POST, &format!("{path}/deliveries"), &body)
        .await
        .problem(403, "missing_scope");
}
