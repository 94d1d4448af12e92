//! From a sender's signed request to the receiver.

use std::collections::BTreeMap;

use http::Method;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_testkit::receiver::Receiver;
use serde_json::{Value, json};

use super::queue;
use super::stack::Stack;

/// This scheme accepts any text as a secret; one in our own format allows signing with our code.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OPENED: &str = r#"{"action":"opened","number":7}"#;

/// ADR-020's example.
pub(super) async fn a_signed_request_is_routed_and_a_forged_one_rejected(stack: &Stack) {
    let receiver = Receiver::start().await;
    let webhook = stack
        .api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let route = json!({
        "event_type": "pull_request.opened",
        "intent": "code_review",
        "target_session": "reviewer-cluster",
        "webhook_id": webhook,
    });
    let draft = json!({"name": "GitHub", "scheme": "github", "secret": SECRET, "routes": [route]});
    let source = stack
        .api
        .call(Method::POST, "/v1/sources", Some(draft))
        .await;
    let path = source["url"].as_str().unwrap();
    let (status, answer) = post(stack, path, OPENED, "delivery-1").await;
    assert_eq!(status, 202, "{answer}");
    let delivery = answer["deliveries"][0]["id"].as_str().unwrap();
    let row = stack.api.settled(delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    let requests = receiver.requests();
    assert_eq!(requests[0].body, OPENED, "byte for byte");
    assert_eq!(requests[0].header("x-webhook-event"), "pull_request.opened");
    assert_eq!(requests[0].header("x-webhook-intent"), "code_review");
    assert_eq!(requests[0].header("x-webhook-session"), "reviewer-cluster");
    let (status, again) = post(stack, path, OPENED, "delivery-1").await;
    assert_eq!((status, &again["id"]), (200, &answer["id"]), "{again}");
    for (path, body) in [
        (path, r#"{"action":"opened","number":8}"#),
        ("/gateway/webhooks/src_nobody", OPENED),
    ] {
        let (status, refusal) = post(stack, path, body, "delivery-2").await;
        assert_eq!(status, 401, "{refusal}");
    }
    assert_eq!(receiver.requests().len(), 1);
}

/// A rejected request is stored and notified; an event without a route is notified as unrouted.
pub(super) async fn inbound_events_are_notified_and_rejected_requests_are_stored(stack: &Stack) {
    let draft = json!({"name": "GitHub", "scheme": "github", "secret": SECRET});
    let made = stack
        .api
        .call(Method::POST, "/v1/sources", Some(draft))
        .await;
    let (id, path) = (made["id"].as_str().unwrap(), made["url"].as_str().unwrap());
    let kinds = ["inbound.unrouted", "inbound.signature_failed"];
    let filter = json!({"type": kinds, "source_id": [id]});
    let subscribed = queue::subscribe(stack, "inbound", filter).await;
    let (status, answer) = post(stack, path, OPENED, "delivery-1").await;
    assert_eq!(
        (status, &answer["deliveries"]),
        (202, &json!([])),
        "{answer}"
    );
    let forged = format!("{OPENED}\n");
    assert_eq!(post(stack, path, &forged, "delivery-2").await.0, 401);
    let mut wanted = BTreeMap::from(kinds.map(|kind| (kind, Value::Null)));
    while wanted.values().any(Value::is_null) {
        let event: Value = serde_json::from_str(&queue::receive(stack, &subscribed).await).unwrap();
        assert_eq!(event["data"]["source_id"], id, "{event}");
        let kind = event["type"].as_str().unwrap();
        *wanted.get_mut(kind).unwrap() = event["data"].clone();
    }
    assert_eq!(wanted["inbound.unrouted"]["event_id"], answer["id"]);
    let failed = &wanted["inbound.signature_failed"];
    assert_eq!(failed["name"], "WebhookSignatureFailureEvent");
    assert_eq!(failed["reason"], "no_match");
    let refused = format!("/v1/sources/{id}/refused");
    let listed = stack.api.call(Method::GET, &refused, None).await;
    assert_eq!(listed["items"][0]["id"], failed["refused_id"], "{listed}");
    assert_eq!(listed["kept"], 1);
    let one = format!("{refused}/{}", failed["refused_id"].as_str().unwrap());
    let shown = stack.api.call(Method::GET, &one, None).await;
    assert_eq!(shown["body"], forged, "{shown}");
    let finding = &shown["findings"][0];
    assert_eq!(finding["change"], "newline_cut", "{shown}");
}

/// A request like those of GitHub, with the signature of [`OPENED`] whatever the body.
async fn post(stack: &Stack, path: &str, body: &str, delivery: &str) -> (u16, Value) {
    let secret = SigningSecret::parse(SECRET).unwrap();
    let request = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(format!("{}{path}", stack.api.url))
        .header("content-type", "application/json")
        .header("x-github-event", "pull_request")
        .header("x-github-delivery", delivery)
        .header(
            "x-hub-signature-256",
            signature::plain(&secret, OPENED.as_bytes()),
        )
        .body(body.to_owned());
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}
