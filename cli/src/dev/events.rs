//! The events that AWS passes to functions, and their responses.

use postrider_domain::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::queue::Message;

const REGION: &str = "us-east-1";
const ACCOUNT: &str = "123456789012";

/// A batch of queue messages.
pub(super) fn sqs(batch: &[Message]) -> Value {
    let records: Vec<_> = batch.iter().map(sqs_record).collect();
    json!({ "Records": records })
}

/// The id under which a function reports a message.
pub(super) fn message_id(message: &Message) -> String {
    format!("00000000-0000-4000-8000-{:012x}", message.number)
}

fn sqs_record(message: &Message) -> Value {
    let id = message_id(message);
    json!({
        "messageId": id,
        "receiptHandle": format!("{id}-{}", message.receives),
        "body": json!(message.body).to_string(),
        "attributes": {
            "ApproximateReceiveCount": message.receives.to_string(),
            "ApproximateFirstReceiveTimestamp": message.sent_at.as_millis().to_string(),
            "SentTimestamp": message.sent_at.as_millis().to_string(),
            "SenderId": "postrider-dev",
            "MessageGroupId": message.body.webhook(),
        },
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:postrider-hints"),
        "awsRegion": REGION,
    })
}

/// A tick of the schedule.
pub(super) fn schedule(at: Timestamp) -> Value {
    json!({
        "version": "0",
        "id": format!("00000000-0000-4000-9000-{:012x}", at.as_millis()),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": ACCOUNT,
        "time": at.to_string(),
        "region": REGION,
        "resources": [format!("arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/postrider-poller")],
        "detail": "{}",
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchResponse {
    #[serde(default)]
    batch_item_failures: Vec<ItemFailure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemFailure {
    item_identifier: String,
}

/// The messages of a batch that the function reports as failed. As on AWS, the whole batch counts as failed if the
/// response is invalid or names a message that was not in the batch.
pub(super) fn not_done(batch: Vec<Message>, answer: &Value) -> Vec<Message> {
    let Ok(response) = BatchResponse::deserialize(answer) else {
        // A function that reports nothing returns null; that is success.
        return if answer.is_null() { Vec::new() } else { batch };
    };
    let failed: Vec<_> = response
        .batch_item_failures
        .into_iter()
        .map(|failure| failure.item_identifier)
        .collect();
    let known = |id: &String| batch.iter().any(|message| message_id(message) == *id);
    if !failed.iter().all(known) {
        return batch;
    }
    batch
        .into_iter()
        .filter(|message| failed.contains(&message_id(message)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::queue::Messages;
    use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
    use postrider_ports::queue::{AttemptMessage, Queue, QueueMessage};
    use postrider_testkit::clock::SteppedClock;
    use std::sync::Arc;

    async fn batch() -> Vec<Message> {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let messages = Messages::new(Arc::new(SteppedClock::at(now)));
        let message = |n| AttemptMessage {
            tenant: TenantId::default(),
            id: DeliveryId {
                event: EventId::from_bytes([n; 16]),
                webhook: WebhookId::from_bytes([9; 16]),
            },
            next_retry_at: now,
            fresh: false,
        };
        messages
            .send(vec![message(1).into(), message(2).into()])
            .await;
        messages.take(10).await
    }

    #[tokio::test]
    async fn a_record_has_the_fields_of_an_sqs_record() {
        let batch = batch().await;
        let event = sqs(&batch);
        let record = &event["Records"][0];
        let body: Value = serde_json::from_str(record["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["tenant"], "default");
        assert_eq!(body["kind"], "attempt");
        let QueueMessage::Attempt(first) = &batch[0].body else {
            panic!("{:?}", batch[0].body);
        };
        assert_eq!(body["id"], first.id.to_string());
        assert_eq!(body["next_retry_at"], 1_700_000_000_000_i64);
        assert_eq!(record["attributes"]["ApproximateReceiveCount"], "1");
        let group = first.id.webhook.to_string();
        assert_eq!(record["attributes"]["MessageGroupId"], group);
    }

    #[tokio::test]
    async fn only_messages_that_the_function_reports_are_returned() {
        let batch = batch().await;
        let second = message_id(&batch[1]);
        let answer = json!({"batchItemFailures": [{"itemIdentifier": second}]});
        assert_eq!(not_done(batch.clone(), &answer), batch[1..]);
        assert_eq!(
            not_done(batch.clone(), &json!({"batchItemFailures": []})),
            []
        );
        assert_eq!(not_done(batch, &Value::Null), []);
    }

    #[tokio::test]
    async fn an_invalid_response_returns_the_whole_batch() {
        let batch = batch().await;
        for answer in [
            json!({"batchItemFailures": [{"itemIdentifier": "stranger"}]}),
            json!({"batchItemFailures": [{"itemIdentifier": ""}]}),
            json!({"batchItemFailures": "none"}),
            json!("ok"),
        ] {
            assert_eq!(not_done(batch.clone(), &answer), batch, "{answer}");
        }
    }
}
