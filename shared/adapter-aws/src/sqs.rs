//! The queue: an SQS standard queue, fair between webhooks.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use futures_util::StreamExt;
use futures_util::stream;
use postrider_domain::delivery::MESSAGE_REACH;
use postrider_domain::time::Timestamp;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::{Error, Result};

use crate::fault;

/// The maximum number of messages per call.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
const BATCH: usize = 10;
/// How many calls one `send` makes concurrently.
const BATCHES_AT_ONCE: usize = 4;
/// How many times a message is tried; a batch can fail in part, and the SDK retries only whole calls.
const TRIES: usize = 2;

/// Sends queue messages.
pub struct SqsQueue {
    client: Client,
    url: String,
    clock: Arc<dyn Clock>,
}

impl SqsQueue {
    /// The queue at this URL. Makes no call yet.
    #[must_use]
    pub fn new(client: Client, url: String, clock: Arc<dyn Clock>) -> Self {
        Self { client, url, clock }
    }

    /// Sends up to ten messages; one result each.
    async fn send_batch(&self, messages: &[QueueMessage]) -> Vec<Result<()>> {
        let mut results: Vec<Result<()>> = vec![Err(unanswered()); messages.len()];
        for _ in 0..TRIES {
            let open: Vec<usize> = (0..messages.len())
                .filter(|n| matches!(results.get(*n), Some(Err(_))))
                .collect();
            if open.is_empty() {
                break;
            }
            self.try_batch(messages, &open, &mut results).await;
        }
        results
    }

    /// Sends the messages of a batch with the indexes in `open`, and records the results.
    async fn try_batch(
        &self,
        messages: &[QueueMessage],
        open: &[usize],
        results: &mut [Result<()>],
    ) {
        let now = self.clock.now();
        let mut note = |n: usize, result: Result<()>| {
            if let Some(slot) = results.get_mut(n) {
                *slot = result;
            }
        };
        let mut call = self.client.send_message_batch().queue_url(&self.url);
        for n in open {
            match messages.get(*n).map(|message| entry(*n, message, now)) {
                Some(Ok(entry)) => call = call.entries(entry),
                Some(Err(error)) => note(*n, Err(error)),
                None => {}
            }
        }
        match call.send().await {
            Ok(answer) => {
                for done in answer.successful {
                    if let Ok(n) = done.id.parse() {
                        note(n, Ok(()));
                    }
                }
                for failed in answer.failed {
                    if let Ok(n) = failed.id.parse() {
                        let text = format!("aws: a queue message was rejected: {}", failed.code);
                        note(n, Err(Error::Unavailable(text)));
                    }
                }
            }
            Err(error) => {
                let error = fault::of(&error);
                open.iter().for_each(|n| note(*n, Err(error.clone())));
            }
        }
    }
}

#[async_trait]
impl Queue for SqsQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let batches: Vec<_> = messages
            .chunks(BATCH)
            .map(|batch| self.send_batch(batch))
            .collect();
        stream::iter(batches)
            .buffered(BATCHES_AT_ONCE)
            .concat()
            .await
    }

    async fn depth(&self) -> Result<u64> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let call = self.client.get_queue_attributes().queue_url(&self.url);
        let answer = call.attribute_names(name.clone()).send().await;
        let answer = answer.map_err(|error| fault::of(&error))?;
        let depth = answer
            .attributes
            .as_ref()
            .and_then(|known| known.get(&name));
        depth
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Error::Broken("aws: the queue did not report its depth".to_owned()))
    }
}

fn entry(n: usize, message: &QueueMessage, now: Timestamp) -> Result<SendMessageBatchRequestEntry> {
    let unwritable = |_| Error::Broken("cannot encode a queue message".to_owned());
    SendMessageBatchRequestEntry::builder()
        .id(n.to_string())
        .message_body(serde_json::to_string(message).map_err(|_| unwritable(()))?)
        .message_group_id(message.webhook().to_string())
        .delay_seconds(delay_seconds(message.not_before().unwrap_or(now), now))
        .build()
        .map_err(|_| unwritable(()))
}

/// Whole seconds until a row is due, rounded up so that its message does not arrive early; at most what SQS allows.
fn delay_seconds(due_at: Timestamp, now: Timestamp) -> i32 {
    let left = due_at.since(now).min(MESSAGE_REACH).get().div_ceil(1000);
    i32::try_from(left).unwrap_or(i32::MAX)
}

fn unanswered() -> Error {
    Error::Unavailable("aws: no result for a queue message".to_owned())
}

#[cfg(test)]
mod tests {
    use postrider_domain::time::Millis;
    use postrider_ports::queue::{AttemptMessage, ProbeMessage};
    use postrider_testkit::builders::{NOW, event_id, webhook_id};

    use super::*;

    fn message() -> AttemptMessage {
        AttemptMessage {
            tenant: postrider_domain::ids::TenantId::default(),
            id: postrider_domain::ids::DeliveryId {
                event: event_id(1),
                webhook: webhook_id(2),
            },
            next_retry_at: NOW.plus(Millis::new(29_001)),
            asked_again: false,
        }
    }

    #[test]
    fn a_delay_is_rounded_up_and_never_more_than_the_queue_allows() {
        let after = |ms| delay_seconds(NOW.plus(Millis::new(ms)), NOW);
        assert_eq!((after(0), after(1), after(1000), after(1001)), (0, 1, 1, 2));
        assert_eq!((after(900_000), after(900_001)), (900, 900));
        assert_eq!(delay_seconds(Timestamp::ZERO, NOW), 0, "long overdue");
    }

    #[test]
    fn a_message_names_the_row_and_its_time_and_is_grouped_by_webhook() {
        let message = message();
        let entry = entry(3, &message.clone().into(), NOW).unwrap();
        let body: serde_json::Value = serde_json::from_str(entry.message_body()).unwrap();
        let expected = serde_json::json!({
            "kind": "attempt",
            "tenant": "default",
            "id": message.id.to_string(),
            "next_retry_at": message.next_retry_at.as_millis(),
        });
        assert_eq!(body, expected);
        assert_eq!(entry.id(), "3");
        assert_eq!(entry.delay_seconds(), Some(30));
        let webhook = message.id.webhook.to_string();
        assert_eq!(entry.message_group_id(), Some(webhook.as_str()));
    }

    #[test]
    fn a_probe_message_names_the_webhook_and_is_not_delayed() {
        let AttemptMessage { tenant, id, .. } = message();
        let webhook = id.webhook;
        let entry = entry(0, &ProbeMessage { tenant, webhook }.into(), NOW).unwrap();
        let body: serde_json::Value = serde_json::from_str(entry.message_body()).unwrap();
        let expected = serde_json::json!({
            "kind": "probe",
            "tenant": "default",
            "webhook": webhook.to_string(),
        });
        assert_eq!((body, entry.delay_seconds()), (expected, Some(0)));
    }
}
