//! The queues: two SQS standard queues, one that is fair between webhooks, and one for drains that is fair between
//! tenants. A drain takes seconds; in the queue of attempts it would hold up the others of its batch.

use std::collections::BTreeMap;
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
    urls: SqsUrls,
    clock: Arc<dyn Clock>,
}

/// Where messages are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqsUrls {
    pub messages: String,
    /// `None` for a function that never asks for a drain.
    pub drains: Option<String>,
}

impl SqsQueue {
    /// The queues at these URLs. Makes no call yet.
    #[must_use]
    pub fn new(client: Client, urls: SqsUrls, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            urls,
            clock,
        }
    }

    /// The URL of the queue for a message; `None` if this function does not know it.
    fn url(&self, message: &QueueMessage) -> Option<&str> {
        match message {
            QueueMessage::Attempt(_) | QueueMessage::Probe(_) => Some(&self.urls.messages),
            QueueMessage::Drain(_) => self.urls.drains.as_deref(),
        }
    }

    /// Sends up to ten messages to the queue at `url`; one result each.
    async fn send_batch(&self, url: &str, messages: &[&QueueMessage]) -> Vec<Result<()>> {
        let mut results: Vec<Result<()>> = vec![Err(unanswered()); messages.len()];
        for _ in 0..TRIES {
            let open: Vec<usize> = (0..messages.len())
                .filter(|n| matches!(results.get(*n), Some(Err(_))))
                .collect();
            if open.is_empty() {
                break;
            }
            self.try_batch(url, messages, &open, &mut results).await;
        }
        results
    }

    /// Sends the messages of a batch with the indexes in `open`, and records the results.
    async fn try_batch(
        &self,
        url: &str,
        messages: &[&QueueMessage],
        open: &[usize],
        results: &mut [Result<()>],
    ) {
        let now = self.clock.now();
        let mut note = |n: usize, result: Result<()>| {
            if let Some(slot) = results.get_mut(n) {
                *slot = result;
            }
        };
        let mut call = self.client.send_message_batch().queue_url(url);
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
        let mut results: Vec<Result<()>> = vec![Err(unknown_queue()); messages.len()];
        let mut by_queue: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (n, message) in messages.iter().enumerate() {
            if let Some(url) = self.url(message) {
                by_queue.entry(url).or_default().push(n);
            }
        }
        let mut batches = Vec::new();
        for (url, indexes) in &by_queue {
            for batch in indexes.chunks(BATCH) {
                let of_batch: Vec<_> = batch.iter().filter_map(|n| messages.get(*n)).collect();
                batches.push(async move {
                    let sent = self.send_batch(url, &of_batch).await;
                    batch.iter().copied().zip(sent).collect::<Vec<_>>()
                });
            }
        }
        let sent = stream::iter(batches).buffered(BATCHES_AT_ONCE).concat();
        for (n, result) in sent.await {
            if let Some(slot) = results.get_mut(n) {
                *slot = result;
            }
        }
        results
    }

    async fn depth(&self) -> Result<u64> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let call = self.client.get_queue_attributes();
        let call = call.queue_url(&self.urls.messages);
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
        .message_group_id(group(message))
        .delay_seconds(delay_seconds(message.not_before().unwrap_or(now), now))
        .build()
        .map_err(|_| unwritable(()))
}

/// Whole seconds until a row is due, rounded up so that its message does not arrive early; at most what SQS allows.
fn delay_seconds(due_at: Timestamp, now: Timestamp) -> i32 {
    let left = due_at.since(now).min(MESSAGE_REACH).get().div_ceil(1000);
    i32::try_from(left).unwrap_or(i32::MAX)
}

/// Queues are fair between groups: attempts between receivers, drains between tenants.
fn group(message: &QueueMessage) -> String {
    match message {
        QueueMessage::Attempt(_) | QueueMessage::Probe(_) => message.webhook().to_string(),
        QueueMessage::Drain(message) => message.tenant.to_string(),
    }
}

fn unknown_queue() -> Error {
    Error::Broken("this function does not know the queue of drains".to_owned())
}

fn unanswered() -> Error {
    Error::Unavailable("aws: no result for a queue message".to_owned())
}

#[cfg(test)]
mod tests {
    use postrider_domain::time::Millis;
    use postrider_ports::queue::{AttemptMessage, DrainMessage, ProbeMessage};
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
            fresh: false,
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
    fn a_drain_message_is_grouped_by_tenant() {
        let AttemptMessage { tenant, id, .. } = message();
        let drain = DrainMessage {
            tenant,
            webhook: id.webhook,
            not_before: NOW.plus(Millis::new(1500)),
        };
        let entry = entry(0, &drain.into(), NOW).unwrap();
        assert_eq!(entry.message_group_id(), Some("default"));
        assert_eq!(entry.delay_seconds(), Some(2));
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
