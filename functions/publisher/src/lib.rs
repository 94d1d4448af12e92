//! Publishes notifications about changes in the table's stream, and writes what follows from them.
//!
//! The order makes a repeated batch harmless. Health comes first and is idempotent where it decides something. Notifications
//! keep their ids. Counters and live feed come last, and only for changes that will not come again: those before the first
//! failed one, where the stream continues.

mod batch;
mod records;

use std::sync::Arc;

use async_trait::async_trait;
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use futures_util::{FutureExt, StreamExt, stream};
use lambda_runtime::{Error, LambdaEvent};
use postrider_adapter_aws::dynamodb::{Follower, Record};
use postrider_adapter_aws::unreadable::{UnreadableChange, UnreadableQueue};
use postrider_domain::notification::Notification;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::traces;
use postrider_ports::Result as Outcome;
use postrider_ports::clock::Clock;
use postrider_ports::notifications::Topic;
use postrider_wiring::metrics;
use serde_json::Value;
use tokio::select;
use tracing::{debug, error, warn};

use crate::batch::Batch;

/// How long before its deadline the function stops publishing, to leave time for counters, feed and report.
const PUBLISH_UNTIL: Millis = Millis::from_seconds(5);
/// How long before its deadline it stops writing those.
const SETTLE_UNTIL: Millis = Millis::from_seconds(1);
/// How many notifications one call to the topic takes.
const PER_CALL: usize = 10;
/// How many calls are made concurrently.
const CALLS: usize = 8;

/// Writes what follows from changes.
#[async_trait]
pub trait Follows: Send + Sync {
    /// Updates the health of webhooks. Returns the notifications for each change, or why the change must be processed
    /// again.
    async fn follow(&self, records: Vec<Record>, now: Timestamp)
    -> Vec<Outcome<Vec<Notification>>>;

    /// Adds changes that will not come again to counters and live feed.
    async fn settle(&self, records: &[Record], now: Timestamp);
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

    async fn settle(&self, records: &[Record], now: Timestamp) {
        Self::settle(self, records, now).await;
    }
}

/// Takes the keys of changes that cannot be decoded.
#[async_trait]
pub trait SetsAside: Send + Sync {
    async fn set_aside(&self, changes: &[UnreadableChange]) -> Outcome<()>;
}

#[async_trait]
impl SetsAside for UnreadableQueue {
    async fn set_aside(&self, changes: &[UnreadableChange]) -> Outcome<()> {
        self.send(changes).await
    }
}

/// Handles batches of changes.
pub struct Publisher {
    follower: Arc<dyn Follows>,
    topic: Arc<dyn Topic>,
    unreadable: Arc<dyn SetsAside>,
    clock: Arc<dyn Clock>,
    gateway: String,
}

impl Publisher {
    /// A publisher of the named gateway, on this topic.
    #[must_use]
    pub fn new(
        follower: Arc<dyn Follows>,
        topic: Arc<dyn Topic>,
        unreadable: Arc<dyn SetsAside>,
        clock: Arc<dyn Clock>,
        gateway: String,
    ) -> Self {
        Self {
            follower,
            topic,
            unreadable,
            clock,
            gateway,
        }
    }

    /// Handles a batch and reports the changes that must be processed again. The stream continues from the first of them.
    ///
    /// # Errors
    /// If the event is not a batch of changes.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<DynamoDbEventResponse, Error> {
        let deadline = postrider_wiring::deadline(&event.context, self.clock.now());
        let mut batch = Batch::of(records::read(event.payload)?);
        let until = deadline.minus(PUBLISH_UNTIL);
        self.set_aside_unreadable(&mut batch).await;
        self.follow(&mut batch, until).await;
        self.publish(&mut batch, until).await;
        self.settle(&batch, deadline.minus(SETTLE_UNTIL)).await;
        let (changes, announced, failed) = batch.counts();
        debug!(
            event = "changes.followed",
            changes, announced, failed, "followed {changes} changes"
        );
        Ok(batch.response())
    }

    /// An unreadable change stays unreadable. Its key goes to a queue, and the stream goes on.
    async fn set_aside_unreadable(&self, batch: &mut Batch) {
        let unreadable = batch.unreadable();
        if unreadable.is_empty() {
            return;
        }
        for change in &unreadable {
            let sequence = &change.sequence_number;
            error!(
                event = "change.unreadable",
                sequence, "a stream record cannot be decoded"
            );
        }
        if let Err(reason) = self.unreadable.set_aside(&unreadable).await {
            error!(event = "change.not_set_aside", %reason, "unreadable stream records could not be sent to their queue");
            batch.fail_unreadable();
        }
    }

    async fn follow(&self, batch: &mut Batch, until: Timestamp) {
        let (indexes, records): (Vec<_>, Vec<_>) = batch.readable().unzip();
        let count = records.len();
        let followed = select! {
            biased;
            followed = self.follower.follow(records, self.clock.now()) => followed,
            () = self.clock.sleep_until(until) => vec![Err(out_of_time()); count],
        };
        for (index, result) in indexes.into_iter().zip(followed) {
            match result {
                Ok(notifications) => batch.add(index, notifications),
                Err(reason) => {
                    let sequence = batch.sequence(index);
                    error!(event = "change.not_followed", sequence, %reason, "the consequences of a change could not be written");
                    batch.fail(index);
                }
            }
        }
    }

    async fn publish(&self, batch: &mut Batch, until: Timestamp) {
        let started_at = self.clock.now();
        let (indexes, notifications): (Vec<_>, Vec<_>) = batch.notifications().unzip();
        let calls: Vec<_> = notifications
            .chunks(PER_CALL)
            .map(|chunk| self.publish_in_time(chunk, until).boxed())
            .collect();
        let results: Vec<_> = stream::iter(calls).buffered(CALLS).collect().await;
        let ended_at = self.clock.now();
        let published = indexes.into_iter().zip(&notifications);
        for ((index, notification), result) in published.zip(results.into_iter().flatten()) {
            let failure = result.as_ref().err().map(ToString::to_string);
            traces::announced(notification, failure, started_at, ended_at);
            if let Err(reason) = result {
                let sequence = batch.sequence(index);
                warn!(event = "change.not_published", sequence, %reason, "a notification could not be published");
                batch.fail(index);
            }
        }
    }

    async fn publish_in_time(
        &self,
        notifications: &[Notification],
        until: Timestamp,
    ) -> Vec<Outcome<()>> {
        select! {
            biased;
            results = self.topic.publish(notifications) => results,
            () = self.clock.sleep_until(until) => vec![Err(out_of_time()); notifications.len()],
        }
    }

    async fn settle(&self, batch: &Batch, until: Timestamp) {
        let settled = batch.settled();
        let now = self.clock.now();
        select! {
            biased;
            () = self.follower.settle(&settled, now) => {}
            () = self.clock.sleep_until(until) => {
                warn!(event = "changes.not_settled", "counters and live feed of a batch could not be written in time");
            }
        }
        let finished: Vec<_> = settled.iter().filter_map(Record::finished).collect();
        let key_stats = metrics::of_finished(&finished);
        if let Err(reason) = metrics::emit(&self.gateway, now, &key_stats) {
            warn!(event = "changes.metrics_failed", %reason, "the metrics of the batch could not be written");
        }
    }
}

fn out_of_time() -> postrider_ports::Error {
    postrider_ports::Error::Unavailable("the function ran out of time".to_owned())
}
