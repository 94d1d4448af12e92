//! Publishes notifications about changes in the table's stream, after writing what follows from them.

mod records;

use std::sync::Arc;

use async_trait::async_trait;
use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use lambda_runtime::{Error, LambdaEvent};
use postrider_adapter_aws::dynamodb::{Follower, Record};
use postrider_domain::key_stats::Finished;
use postrider_domain::notification::Notification;
use postrider_domain::time::Timestamp;
use postrider_gateway::traces;
use postrider_ports::Result as Outcome;
use postrider_ports::clock::Clock;
use postrider_ports::notifications::Topic;
use postrider_wiring::metrics;
use serde_json::Value;
use tracing::{error, info, warn};

/// Writes what follows from changes.
#[async_trait]
pub trait Follows: Send + Sync {
    /// Returns the notifications for each change, or why the change must be processed again.
    async fn follow(&self, records: Vec<Record>, now: Timestamp)
    -> Vec<Outcome<Vec<Notification>>>;
}

#[async_trait]
impl Follows for Follower {
    async fn follow(
        &self,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Vec<Outcome<Vec<Notification>>> {
        Self::follow(self, records, now).await
    }
}

/// Handles batches of changes.
pub struct Publisher {
    follower: Arc<dyn Follows>,
    topic: Arc<dyn Topic>,
    clock: Arc<dyn Clock>,
    gateway: String,
}

impl Publisher {
    /// A publisher of the named gateway, on this topic.
    #[must_use]
    pub fn new(
        follower: Arc<dyn Follows>,
        topic: Arc<dyn Topic>,
        clock: Arc<dyn Clock>,
        gateway: String,
    ) -> Self {
        Self {
            follower,
            topic,
            clock,
            gateway,
        }
    }

    /// Handles a batch and reports the changes that must be processed again. The stream continues from the first of
    /// them, so that later ones are delivered again, too: the follower recognises them, and a notification keeps its
    /// id. An unreadable change stays unreadable; after its last try it goes to the failure queue.
    ///
    /// # Errors
    /// If the event is not a batch of changes.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<DynamoDbEventResponse, Error> {
        let mut batch = Batch::default();
        let mut readable = Vec::new();
        for (sequence, record) in records::read(event.payload)? {
            let finished = record.as_ref().ok().and_then(Record::finished);
            batch.finished.push((sequence.clone(), finished));
            match record {
                Ok(record) => readable.push((sequence, record)),
                Err(reason) => {
                    error!(event = "change.unreadable", sequence, %reason, "a stream record cannot be decoded");
                    batch.fail(sequence);
                }
            }
        }
        let (sequences, changes): (Vec<_>, Vec<_>) = readable.into_iter().unzip();
        let count = changes.len();
        let followed = self.follower.follow(changes, self.clock.now()).await;
        for (sequence, result) in sequences.into_iter().zip(followed) {
            match result {
                Ok(notifications) => batch.add(&sequence, notifications),
                Err(reason) => {
                    error!(event = "change.not_followed", sequence, %reason, "the consequences of a change could not be written");
                    batch.fail(sequence);
                }
            }
        }
        self.publish(&mut batch).await;
        self.report(&batch.settled());
        let (announced, failed) = (batch.notifications.len(), batch.failed.len());
        info!(
            event = "changes.followed",
            changes = count,
            announced,
            failed,
            "followed {count} changes"
        );
        Ok(batch.response())
    }

    fn report(&self, finished: &[Finished]) {
        let key_stats = metrics::of_finished(finished);
        if let Err(reason) = metrics::emit(&self.gateway, self.clock.now(), &key_stats) {
            warn!(event = "changes.metrics_failed", %reason, "the metrics of the batch could not be written");
        }
    }

    async fn publish(&self, batch: &mut Batch) {
        let started_at = self.clock.now();
        let results = self.topic.publish(&batch.notifications).await;
        let ended_at = self.clock.now();
        let published = batch.changes.iter().zip(&batch.notifications).zip(results);
        let mut failed = Vec::new();
        for ((sequence, notification), result) in published {
            let failure = result.as_ref().err().map(ToString::to_string);
            traces::announced(notification, failure, started_at, ended_at);
            if let Err(reason) = result {
                warn!(event = "change.not_published", sequence, %reason, "a notification could not be published");
                failed.push(sequence.clone());
            }
        }
        batch.failed.extend(failed);
    }
}

/// The result of a batch.
#[derive(Default)]
struct Batch {
    notifications: Vec<Notification>,
    /// The change behind each notification.
    changes: Vec<String>,
    /// Every change in order, with the delivery that it finished.
    finished: Vec<(String, Option<Finished>)>,
    failed: Vec<String>,
}

impl Batch {
    fn add(&mut self, sequence: &str, notifications: Vec<Notification>) {
        let changes = std::iter::repeat_n(sequence.to_owned(), notifications.len());
        self.changes.extend(changes);
        self.notifications.extend(notifications);
    }

    fn fail(&mut self, sequence: String) {
        self.failed.push(sequence);
    }

    /// The finished deliveries of the changes that will not be processed again: those before the first failure.
    fn settled(&self) -> Vec<Finished> {
        let changes = self.finished.iter();
        let settled = changes.take_while(|(sequence, _)| !self.failed.contains(sequence));
        settled.filter_map(|(_, finished)| *finished).collect()
    }

    fn response(mut self) -> DynamoDbEventResponse {
        self.failed.sort();
        self.failed.dedup();
        let failures = self.failed.into_iter().map(|sequence| {
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(sequence);
            failure
        });
        let mut response = DynamoDbEventResponse::default();
        response.batch_item_failures = failures.collect();
        response
    }
}

#[cfg(test)]
mod tests {
    use postrider_domain::delivery::{Delivery, Status};
    use postrider_domain::ids::TenantId;
    use postrider_testkit::builders::{self, NOW};

    use super::*;

    #[test]
    fn a_delivery_whose_change_will_be_processed_again_is_not_counted_yet() {
        let event = builders::event(&TenantId::default(), 1, NOW);
        let before = builders::row(&event, builders::webhook_id(1));
        let after = Delivery {
            status: Status::Dead,
            ..before.clone()
        };
        let finished = Finished::of_change(&before, &after, NOW);
        assert!(finished.is_some());
        let change = |sequence: &str| (sequence.to_owned(), finished);
        let batch = Batch {
            finished: ["1", "2", "3"].map(change).to_vec(),
            failed: vec!["2".to_owned()],
            ..Batch::default()
        };
        assert_eq!(
            batch.settled().len(),
            1,
            "the stream continues from the second"
        );
    }
}
