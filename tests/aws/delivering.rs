//! From the HTTP API to the receiver.

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};
use tokio::process::Command;

use super::stack::Stack;
use crate::command;

/// The largest body of an event on AWS.
const LARGEST: usize = 350 * 1024;

pub(super) async fn what_is_published_is_delivered(stack: &Stack) {
    let receiver = Receiver::start().await;
    let webhook = stack
        .api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let delivery = stack.api.publish(&webhook, r#"{ "task" :42}"#).await;
    let row = stack.api.settled(&delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    let requests = receiver.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body, r#"{ "task" :42}"#, "byte for byte");
    assert!(requests[0].header("webhook-signature").starts_with("v1,"));
    let listed = stack
        .api
        .call(
            Method::GET,
            &format!("/v1/deliveries?webhook_id={webhook}"),
            None,
        )
        .await;
    assert_eq!(listed["items"][0]["id"], delivery);
}

pub(super) async fn a_body_of_the_largest_size_is_delivered_and_a_larger_one_refused(
    stack: &Stack,
) {
    let receiver = Receiver::start().await;
    let webhook = stack
        .api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let payload = |size: usize| format!("\"{}\"", "x".repeat(size - 2));
    let event = |payload: &str| {
        format!(r#"{{"type":"task.completed","webhook_id":"{webhook}","payload":{payload}}}"#)
    };
    let room = LARGEST - event("").len();
    let delivery = stack.api.publish(&webhook, &payload(room)).await;
    assert_eq!(stack.api.settled(&delivery).await["status"], "delivered");
    assert_eq!(receiver.requests()[0].body.len(), room);
    let larger = event(&payload(LARGEST + 1));
    let (status, problem) = stack
        .api
        .try_call(Method::POST, "/v1/events", Some(larger))
        .await
        .unwrap();
    assert_eq!(status, 413, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("350") || detail.contains("358400"),
        "{detail}"
    );
}

pub(super) async fn the_command_works_against_it(stack: &Stack) {
    let listed = Command::new(command::binary())
        .args(["webhooks", "list", "--json"])
        .env_clear()
        .env("POSTRIDER_URL", &stack.api.url)
        .env("POSTRIDER_TOKEN", &stack.token)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success(), "{said}");
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(listed.to_string().contains("wh_"), "{listed}");
}

pub(super) async fn a_dead_delivery_is_sent_again_when_a_person_says_so(stack: &Stack) {
    let receiver = Receiver::start().await;
    receiver.answer_next([Answer::status(500)]);
    let once = json!({"profile": "gateway", "max_attempts": 1});
    let webhook = stack.api.webhook(&receiver.url(), &once).await;
    let delivery = stack.api.publish(&webhook, "{}").await;
    assert_eq!(stack.api.settled(&delivery).await["status"], "dead");
    let retry = format!("/v1/deliveries/{delivery}/retry");
    stack.api.call(Method::POST, &retry, None).await;
    receiver.received(2).await;
    let row = stack.api.settled(&delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    assert_eq!(row["attempts"].as_array().unwrap().len(), 2, "{row}");
}
