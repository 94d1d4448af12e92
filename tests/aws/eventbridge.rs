//! An EventBridge bus that is source of events and target of notifications at once.

use http::Method;
use postrider_testkit::receiver::Receiver;
use postrider_tests::api::Api;
use serde_json::{Value, json};

use super::bridge::Bridge;
use super::operating::postrider_aws;
use super::queue;
use super::stack::Stack;
use crate::command::PATIENCE;

/// The bus of both directions, and the tenant that its events belong to.
const ORDERS: &str = "orders";

/// Needed before the deployment: the stack uses a bus but does not own it.
pub(super) async fn create_bus(aws: &Bridge) {
    aws.call("events", "create_event_bus", json!({"Name": ORDERS}))
        .await;
}

async fn put(stack: &Stack, detail_type: &str, detail: &Value) -> String {
    let entry = json!({"EventBusName": ORDERS, "Source": "com.example.shop", "DetailType": detail_type,
        "Detail": detail.to_string()});
    let put = json!({"Entries": [entry]});
    let answer = stack.aws.call("events", "put_events", put).await;
    let id = answer["Entries"][0]["EventId"].as_str();
    id.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// A queue with the notifications on the bus that report a successful delivery of the tenant.
async fn delivered(stack: &Stack) -> String {
    let (url, arn) = queue::create(stack, "delivered", "events.amazonaws.com").await;
    let pattern = json!({"source": ["postrider"], "detail-type": ["delivery.delivered"],
        "detail": {"tenant": [ORDERS]}});
    let rule =
        json!({"Name": "delivered", "EventBusName": ORDERS, "EventPattern": pattern.to_string()});
    stack.aws.call("events", "put_rule", rule).await;
    let targets = json!({"Rule": "delivered", "EventBusName": ORDERS, "Targets": [{"Id": "queue", "Arn": arn}]});
    stack.aws.call("events", "put_targets", targets).await;
    url
}

async fn api_of_the_tenant(stack: &Stack) -> Api {
    let key = json!({"name": "orders", "tenant": ORDERS, "scopes": ["read", "manage"]});
    let key = stack.api.call(Method::POST, "/v1/keys", Some(key)).await;
    let token = key["token"].as_str().unwrap().to_owned();
    Api::new(stack.api.url.clone(), token)
}

pub(super) async fn an_event_of_the_bus_is_delivered_and_its_delivery_notified_on_the_bus(
    stack: &Stack,
) {
    let (receiver, api) = (Receiver::start().await, api_of_the_tenant(stack).await);
    let webhook = api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let notified = delivered(stack).await;
    for number in 1..=2 {
        let order = json!({"order": number, "name": "Ünïcode"});
        put(stack, "Order Placed", &order).await;
        let requests = tokio::time::timeout(PATIENCE, receiver.received(number))
            .await
            .expect("a request arrives");
        let request = &requests[number - 1];
        assert_eq!(request.header("x-webhook-event"), "Order_Placed");
        assert!(request.header("webhook-signature").starts_with("v1,"));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body, order);
        let event: Value = serde_json::from_str(&queue::receive(stack, &notified).await).unwrap();
        let notification = &event["detail"];
        assert_eq!(notification["type"], "delivery.delivered", "{event}");
        assert_eq!(notification["data"]["webhook_id"], webhook, "{event}");
        assert_eq!(notification["data"]["event_type"], "Order_Placed");
    }
    let listed = api.call(Method::GET, "/v1/deliveries", None).await;
    assert_eq!(
        listed["items"].as_array().unwrap().len(),
        2,
        "the notifications on the bus were not published: {listed}"
    );
}

pub(super) async fn an_event_that_cannot_be_published_goes_to_the_dead_letter_queue(stack: &Stack) {
    let id = put(stack, "order.*", &json!({"order": 3})).await;
    let url = stack.output("BridgeDeadLettersUrl");
    let event: Value = serde_json::from_str(&queue::receive(stack, url).await).unwrap();
    assert_eq!(event["id"], id.as_str(), "{event}");
    assert_eq!(event["detail"], json!({"order": 3}));
}

pub(super) async fn events_in_the_dead_letter_queue_are_published_again(stack: &Stack) {
    let (receiver, api) = (Receiver::start().await, api_of_the_tenant(stack).await);
    api.webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let url = stack.output("BridgeDeadLettersUrl");
    // As EventBridge writes them; the order of the detail's names is part of the body. The emulator rewrites
    // numbers, so this one has a single form.
    for (id, detail_type) in [("again-1", "Order Again"), ("again-2", "order.*")] {
        let event = format!(
            r#"{{"version":"0","id":"{id}","detail-type":"{detail_type}","source":"com.example.shop","account":"000000000000","time":"2026-11-17T00:00:00Z","region":"us-east-1","resources":[],"detail":{{"b": 1.5, "a": "{id}"}}}}"#
        );
        let message = json!({"QueueUrl": url, "MessageBody": event});
        stack.aws.call("sqs", "send_message", message).await;
    }
    let (code, redriven) = postrider_aws(stack, &["redrive"]).await;
    assert_eq!(redriven["bus_events_published"], 1, "{redriven}");
    assert_eq!(
        redriven["failed"][0]["key"], "BridgeDeadLetters/again-2",
        "{redriven}"
    );
    assert_eq!(code, 1, "one event was rejected again");
    let requests = tokio::time::timeout(PATIENCE, receiver.received(1))
        .await
        .expect("a request arrives");
    assert_eq!(&*requests[0].body, br#"{"b": 1.5, "a": "again-1"}"#);
    let left = ["redrive", "--dry-run"];
    let (_, listed) = postrider_aws(stack, &left).await;
    assert_eq!(listed["queues"][0]["name"], "BridgeDeadLetters", "{listed}");
}
