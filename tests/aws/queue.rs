//! The stack's queues, and one subscribed to its topic.

use std::time::Duration;

use serde_json::{Value, json};

use super::stack::Stack;
use crate::command::PATIENCE;

/// A new queue with this name that gets what passes the filter from the topic; returns its URL.
pub(super) async fn subscribe(stack: &Stack, name: &str, filter: Value) -> String {
    let topic = stack.output("NoticesTopic");
    let (url, arn) = create(stack, name, "sns.amazonaws.com").await;
    let attributes = json!({"RawMessageDelivery": "true", "FilterPolicy": filter.to_string()});
    let subscription =
        json!({"TopicArn": topic, "Protocol": "sqs", "Endpoint": arn, "Attributes": attributes});
    stack.aws.call("sns", "subscribe", subscription).await;
    url
}

/// A new queue with this name to which this service may send; returns its URL and ARN.
pub(super) async fn create(stack: &Stack, name: &str, sender: &str) -> (String, String) {
    let queue = json!({"QueueName": name});
    let queue = stack.aws.call("sqs", "create_queue", queue).await;
    let url = queue["QueueUrl"].as_str().unwrap().to_owned();
    let arn = attribute(stack, &url, "QueueArn").await;
    let allowed = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
        "Principal": {"Service": sender}, "Action": "sqs:SendMessage", "Resource": arn}]});
    let policy = json!({"QueueUrl": url, "Attributes": {"Policy": allowed.to_string()}});
    stack.aws.call("sqs", "set_queue_attributes", policy).await;
    (url, arn)
}

/// Removes and returns the next message of a queue.
pub(super) async fn receive(stack: &Stack, url: &str) -> String {
    let wait = async {
        loop {
            let ask = json!({"QueueUrl": url, "WaitTimeSeconds": 1});
            let got = stack.aws.call("sqs", "receive_message", ask).await;
            if let Some(message) = got["Messages"].get(0) {
                let handled = json!({"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]});
                stack.aws.call("sqs", "delete_message", handled).await;
                return message["Body"].as_str().unwrap().to_owned();
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("a message arrives")
}

/// One attribute of a queue.
pub(super) async fn attribute(stack: &Stack, url: &str, name: &str) -> String {
    let ask = json!({"QueueUrl": url, "AttributeNames": [name]});
    let answer = stack.aws.call("sqs", "get_queue_attributes", ask).await;
    answer["Attributes"][name].as_str().unwrap().to_owned()
}

/// Waits until a queue's attribute has this value.
pub(super) async fn until(stack: &Stack, url: &str, name: &str, value: &str) {
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    let wait = async {
        while attribute(stack, url, name).await != value {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .unwrap_or_else(|_| panic!("{name} of {url} becomes {value}"));
}

/// Sends a message to the delivery queue.
pub(super) async fn send_message(stack: &Stack, body: &str) {
    let url = stack.output("HintQueueUrl");
    let message = json!({"QueueUrl": url, "MessageBody": body});
    stack.aws.call("sqs", "send_message", message).await;
}
