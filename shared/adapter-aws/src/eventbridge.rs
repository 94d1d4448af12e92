//! Publishes notifications to an EventBridge bus.

use async_trait::async_trait;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, PutEventsResultEntry};
use postrider_domain::notification::Notification;
use postrider_ports::notifications::Topic;
use postrider_ports::{Error, Result};

use crate::fault;

/// The `source` of every event. The rule of the bridge in `template.yaml` excludes it, so that a notification never becomes an
/// event that causes notifications.
const SOURCE: &str = "postrider";
/// The maximum number of entries per call.
/// <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html>
const BATCH: usize = 10;
/// The maximum size of a call.
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html>
const BATCH_BYTES: usize = 256 * 1024;
/// What a time counts towards the size.
const TIME_BYTES: usize = 14;

/// A bus that receives every notification: `detail-type` is its type, `detail` the same CloudEvents JSON as on SNS.
pub struct EventBus {
    client: Client,
    name: String,
}

impl EventBus {
    /// The bus with this name. Makes no call yet.
    #[must_use]
    pub const fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    fn entry(&self, notification: &Notification) -> PutEventsRequestEntry {
        PutEventsRequestEntry::builder()
            .event_bus_name(&self.name)
            .source(SOURCE)
            .detail_type(notification.kind.as_str())
            .time(DateTime::from_millis(notification.at.as_millis()))
            .detail(notification.to_cloud_event().to_string())
            .build()
    }

    /// One result per entry.
    async fn put(&self, entries: Vec<PutEventsRequestEntry>) -> Vec<Result<()>> {
        let count = entries.len();
        let call = self.client.put_events().set_entries(Some(entries));
        match call.send().await {
            Ok(answer) => results(answer.entries(), count),
            Err(error) => vec![Err(fault::of(&error)); count],
        }
    }
}

#[async_trait]
impl Topic for EventBus {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        let entries = notifications.iter().map(|one| self.entry(one));
        let mut results = Vec::with_capacity(notifications.len());
        for batch in batches(entries) {
            results.extend(self.put(batch).await);
        }
        results
    }
}

/// Fills calls in order. An entry that is too large for any call gets one of its own, so that only it is rejected.
fn batches(
    entries: impl Iterator<Item = PutEventsRequestEntry>,
) -> Vec<Vec<PutEventsRequestEntry>> {
    let mut batches: Vec<Vec<PutEventsRequestEntry>> = Vec::new();
    let mut filled = 0;
    for entry in entries {
        let bytes = size(&entry);
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH && filled + bytes <= BATCH_BYTES => {
                batch.push(entry);
                filled += bytes;
            }
            Some(_) | None => {
                batches.push(vec![entry]);
                filled = bytes;
            }
        }
    }
    batches
}

fn size(entry: &PutEventsRequestEntry) -> usize {
    let texts = [entry.source(), entry.detail_type(), entry.detail()];
    texts.into_iter().flatten().map(str::len).sum::<usize>() + TIME_BYTES
}

/// The call succeeds even if the bus rejects entries; each has its own result, in order. An entry that the response does not
/// mention was not accepted.
fn results(answered: &[PutEventsResultEntry], count: usize) -> Vec<Result<()>> {
    let result = |n| match answered.get(n) {
        Some(entry) => result(entry),
        None => Err(unanswered()),
    };
    (0..count).map(result).collect()
}

fn result(entry: &PutEventsResultEntry) -> Result<()> {
    match (entry.error_code(), entry.event_id()) {
        (Some(code), _) => Err(fault::of_entry(
            code,
            entry.error_message().unwrap_or_default(),
        )),
        (None, Some(_)) => Ok(()),
        (None, None) => Err(unanswered()),
    }
}

fn unanswered() -> Error {
    Error::Unavailable("aws: no result for an event".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(detail_bytes: usize) -> PutEventsRequestEntry {
        PutEventsRequestEntry::builder()
            .source(SOURCE)
            .detail_type("delivery.dead")
            .detail("x".repeat(detail_bytes))
            .build()
    }

    fn lengths(details: &[usize]) -> Vec<usize> {
        let entries = details.iter().map(|bytes| entry(*bytes));
        batches(entries).iter().map(Vec::len).collect()
    }

    #[test]
    fn a_call_has_at_most_ten_entries() {
        assert_eq!(lengths(&[1; 23]), [10, 10, 3]);
        assert!(lengths(&[]).is_empty());
    }

    #[test]
    fn a_call_has_at_most_256_kb_with_source_type_and_time() {
        let half = BATCH_BYTES / 2 - "postrider".len() - "delivery.dead".len() - TIME_BYTES;
        assert_eq!(lengths(&[half, half]), [2]);
        assert_eq!(lengths(&[half, half + 1]), [1, 1]);
        assert_eq!(lengths(&[1, BATCH_BYTES, 1]), [1, 1, 1]);
    }

    #[test]
    fn each_entry_has_its_own_result() {
        let accepted = PutEventsResultEntry::builder().event_id("1").build();
        let failed = |code: &str| {
            let failed = PutEventsResultEntry::builder().error_code(code);
            failed.error_message("why").build()
        };
        let answered = [
            accepted,
            failed("InternalFailure"),
            failed("ThrottlingException"),
            failed("NotAuthorizedForSourceException"),
            PutEventsResultEntry::builder().build(),
        ];
        let results = results(&answered, 6);
        assert_eq!(results.len(), 6);
        assert_eq!(results[0], Ok(()));
        for lost in [1, 2, 4, 5] {
            let result = &results[lost];
            assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
        }
        let text = "aws: NotAuthorizedForSourceException: why".to_owned();
        assert_eq!(results[3], Err(Error::Broken(text)));
    }
}
