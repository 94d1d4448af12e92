//! Lost, duplicated and broken messages, and restarts.

use postrider_domain::time::Timestamp;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::queue;
use super::stack::Stack;

/// A receiver that fails once, and a webhook that retries after this many seconds.
async fn failing_once(stack: &Stack, seconds: u64) -> (Receiver, String) {
    let receiver = Receiver::start().await;
    receiver.answer_next([Answer::status(503)]);
    let retry = json!({"profile": "custom", "delays_seconds": [seconds]});
    let webhook = stack.api.webhook(&receiver.url(), &retry).await;
    (receiver, webhook)
}

async fn row(stack: &Stack, delivery: &str) -> Value {
    let path = format!("/v1/deliveries/{delivery}");
    stack.api.call(http::Method::GET, &path, None).await
}

fn message(row: &Value) -> String {
    let due = Timestamp::parse_rfc3339(row["next_retry_at"].as_str().unwrap()).unwrap();
    json!({
        "kind": "attempt", "tenant": "default", "id": row["id"], "next_retry_at": due.as_millis(),
    })
    .to_string()
}

fn batch_of(message: &str) -> Value {
    let sample = include_str!("../../infra/events/dispatcher.json");
    let mut batch: Value = serde_json::from_str(sample).unwrap();
    batch["Records"][0]["body"] = message.into();
    batch
}

pub(super) async fn two_dispatchers_on_one_delivery_make_one_post(stack: &Stack) {
    let receiver = Receiver::start().await;
    receiver.hold();
    let webhook = stack
        .api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let delivery = stack.api.publish(&webhook, "{}").await;
    receiver.received(1).await;
    let message = message(&row(stack, &delivery).await);
    let second = stack.invoke("dispatcher", &batch_of(&message)).await;
    assert_eq!(second["batchItemFailures"], json!([]), "{second}");
    receiver.open();
    assert_eq!(stack.api.settled(&delivery).await["status"], "delivered");
    // The same message again, after the delivery.
    queue::send_message(stack, &message).await;
    drained(stack).await;
    let row = row(stack, &delivery).await;
    assert_eq!(row["attempts"].as_array().unwrap().len(), 1, "{row}");
    assert_eq!(receiver.requests().len(), 1);
}

async fn drained(stack: &Stack) {
    let messages = stack.output("HintQueueUrl");
    queue::until(stack, messages, "ApproximateNumberOfMessages", "0").await;
    queue::until(
        stack,
        messages,
        "ApproximateNumberOfMessagesNotVisible",
        "0",
    )
    .await;
}

/// Purges the delivery queue.
async fn purge(stack: &Stack) {
    let messages = stack.output("HintQueueUrl");
    let purge = json!({"QueueUrl": messages});
    stack.aws.call("sqs", "purge_queue", purge).await;
    queue::until(stack, messages, "ApproximateNumberOfMessagesDelayed", "0").await;
}

pub(super) async fn the_poller_replaces_a_lost_message(stack: &Stack) {
    let messages = stack.output("HintQueueUrl");
    // Including messages of other tests that are due minutes from now.
    purge(stack).await;
    let (receiver, webhook) = failing_once(stack, 5).await;
    let delivery = stack.api.publish(&webhook, "{}").await;
    queue::until(stack, messages, "ApproximateNumberOfMessagesDelayed", "1").await;
    purge(stack).await;
    let row = stack.ticked_until_settled(&delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    assert_eq!(receiver.requests().len(), 2);
}

pub(super) async fn only_a_poison_message_ends_in_the_dead_letter_queue(stack: &Stack) {
    let messages = stack.output("HintQueueUrl");
    let dead_letters = stack.output("HintDeadLettersUrl");
    // Five receives would take half an hour.
    let usual = queue::attribute(stack, messages, "VisibilityTimeout").await;
    visibility(stack, "1").await;
    let receiver = Receiver::start().await;
    let webhook = stack
        .api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    queue::send_message(stack, "poison").await;
    let delivery = stack.api.publish(&webhook, "{}").await;
    assert_eq!(stack.api.settled(&delivery).await["status"], "delivered");
    assert_eq!(queue::receive(stack, dead_letters).await, "poison");
    let left = queue::attribute(stack, dead_letters, "ApproximateNumberOfMessages").await;
    assert_eq!(left, "0", "no other message was moved there");
    assert_eq!(receiver.requests().len(), 1);
    visibility(stack, &usual).await;
}

async fn visibility(stack: &Stack, seconds: &str) {
    let messages = stack.output("HintQueueUrl");
    let setting = json!({"QueueUrl": messages, "Attributes": {"VisibilityTimeout": seconds}});
    stack.aws.call("sqs", "set_queue_attributes", setting).await;
}

/// Shows that the roles are enforced, so everything above needed no other permissions.
pub(super) async fn a_function_without_its_role_can_do_nothing(stack: &Stack) {
    let tick = include_str!("../../infra/events/poller.json");
    let tick: Value = serde_json::from_str(tick).unwrap();
    let roles = stack.aws.call("iam", "list_roles", json!({})).await;
    let mut roles = roles["Roles"].as_array().unwrap().iter();
    let role = roles.find(|role| role["RoleName"].as_str().unwrap().contains("PollerRole"));
    let policy = json!({"RoleName": role.unwrap()["RoleName"], "PolicyName": "poller"});
    let held = stack
        .aws
        .call("iam", "get_role_policy", policy.clone())
        .await;
    stack
        .aws
        .call("iam", "delete_role_policy", policy.clone())
        .await;
    let refused = stack.try_invoke("poller", &tick).await;
    let mut back = policy;
    back["PolicyDocument"] = held["PolicyDocument"].to_string().into();
    stack.aws.call("iam", "put_role_policy", back).await;
    refused.unwrap_err();
    stack.invoke("poller", &tick).await;
}

pub(super) async fn everything_restarts_between_two_attempts(stack: &mut Stack) {
    let messages = stack.output("HintQueueUrl").to_owned();
    purge(stack).await;
    let (receiver, webhook) = failing_once(stack, 10).await;
    let delivery = stack.api.publish(&webhook, r#"{"kept":true}"#).await;
    queue::until(stack, &messages, "ApproximateNumberOfMessagesDelayed", "1").await;
    stack.emulator.restart().await;
    let row = stack.api.settled(&delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    assert_eq!(row["attempts"].as_array().unwrap().len(), 2, "{row}");
    assert_eq!(receiver.requests()[1].body, r#"{"kept":true}"#);
}
