//! From the HTTP API to the receiver.

use bytes::Bytes;
use data_encoding::BASE64;
use http::Method;
use postrider_domain::event::MAX_BODY_BYTES;
use postrider_testkit::bodies::random_bytes;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};
use tokio::process::Command;

use super::stack::Stack;
use crate::command;

pub(super) async fn a_published_event_is_delivered(stack: &Stack) {
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

pub(super) async fn a_body_of_the_maximum_size_is_delivered_and_a_larger_one_rejected(
    stack: &Stack,
) {
    let receiver = Receiver::start().await;
    let webhook = stack
        .api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    // The first does not deflate and is an object in the bucket; the second is on its item.
    let large = random_bytes(7, MAX_BODY_BYTES);
    for payload in [large, Bytes::from(vec![b'x'; MAX_BODY_BYTES])] {
        let base64 = BASE64.encode(&payload);
        let event =
            json!({"type": "task.completed", "webhook_id": webhook, "payload_base64": base64});
        let stored = stack
            .api
            .call(Method::POST, "/v1/events", Some(event))
            .await;
        let delivery = stored["deliveries"][0]["id"].as_str().unwrap();
        let shown = stack.api.settled(delivery).await;
        assert_eq!(shown["status"], "delivered");
        assert!(shown["payload_base64"].as_str() == Some(&*base64));
        let received = receiver.requests().pop().unwrap();
        assert!(received.body == payload, "{} bytes", received.body.len());
    }
    let larger = BASE64.encode(&vec![7; MAX_BODY_BYTES + 1]);
    let event = json!({"type": "task.completed", "webhook_id": webhook, "payload_base64": larger});
    let (status, problem) = stack
        .api
        .try_call(Method::POST, "/v1/events", Some(event.to_string()))
        .await
        .unwrap();
    assert_eq!(status, 413, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("4194304"), "{detail}");
}

pub(super) async fn the_command_works_with_the_stack(stack: &Stack) {
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

pub(super) async fn a_dead_delivery_is_sent_again_when_an_operator_retries_it(stack: &Stack) {
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

pub(super) async fn a_dead_delivery_is_compared_with_another_url_and_stays_dead(stack: &Stack) {
    let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
    receiver.answer(Answer::status(500).body("no"));
    elsewhere.answer(Answer::status(200).body("yes"));
    let once = json!({"profile": "gateway", "max_attempts": 1});
    let webhook = stack.api.webhook(&receiver.url(), &once).await;
    let delivery = stack.api.publish(&webhook, r#"{"n": 1}"#).await;
    let before = stack.api.settled(&delivery).await;
    assert_eq!(before["status"], "dead", "{before}");
    let shadow = format!("/v1/deliveries/{delivery}/shadow");
    let wish = json!({"url": elsewhere.url()});
    let shown = stack.api.call(Method::POST, &shadow, Some(wish)).await;
    assert_eq!(shown["shadow"]["status_code"], 200, "{shown}");
    assert_eq!(shown["last_attempt"]["status_code"], 500, "{shown}");
    for (n, result) in [(0, "different"), (2, "different")] {
        assert_eq!(shown["comparison"][n]["result"], result, "{shown}");
    }
    let arrived = elsewhere.requests().remove(0);
    assert_eq!(arrived.body, r#"{"n": 1}"#);
    assert!(arrived.header("webhook-signature").starts_with("v1,"));
    let inward = json!({"url": "https://169.254.169.254/"}).to_string();
    let refused = stack.api.try_call(Method::POST, &shadow, Some(inward));
    assert_eq!(refused.await.unwrap().0, 400);
    let row = format!("/v1/deliveries/{delivery}");
    assert_eq!(stack.api.call(Method::GET, &row, None).await, before);
    assert_eq!(receiver.requests().len(), 1);

    // The table may expire an event at any time after its last day.
    let event = format!("default#{}", before["event_id"].as_str().unwrap());
    let gone = json!({
        "TableName": stack.output("DeliveriesTable"),
        "Key": {"pk": {"S": event}, "sk": {"S": "event"}},
        "ReturnValues": "ALL_OLD",
    });
    let gone = stack.aws.call("dynamodb", "delete_item", gone).await;
    assert_eq!(gone["Attributes"]["sk"]["S"], "event", "{gone}");
    let wish = json!({"url": elsewhere.url()}).to_string();
    let refused = stack.api.try_call(Method::POST, &shadow, Some(wish)).await;
    let (status, problem) = refused.unwrap();
    assert_eq!(
        (status, problem["code"].as_str()),
        (409, Some("payload_gone"))
    );
    assert_eq!(elsewhere.requests().len(), 1);
}
