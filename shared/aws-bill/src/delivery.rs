//! From what was counted for some deliveries to the usage of a million.

use crate::assumptions::Assumptions;
use crate::usage::{Item, Usage};

pub(crate) const GB: f64 = 1024.0 * 1024.0 * 1024.0;
const DELIVERIES: f64 = 1e6;

/// Capacity units of DynamoDB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Units {
    pub writes: f64,
    pub reads: f64,
}

/// Counts of a run, for all its deliveries together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    pub deliveries: f64,
    /// Published events; each is a request to the API.
    pub events: f64,
    pub accept: Units,
    /// What noting the last use of the publisher's API key uses, as far as these events share in it.
    pub key_use: Units,
    pub attempt: Units,
    pub publish: Units,
    pub watch: Units,
    pub attempts: f64,
    /// Queue messages sent, and the batches in which the dispatcher got them.
    pub messages: f64,
    pub message_batches: f64,
    /// Changes that passed the filters of the stream, and the batches in which the publisher got them.
    pub changes: f64,
    pub change_batches: f64,
    /// Batches in which the watcher got the accepted rows.
    pub watch_batches: f64,
    /// Batches in which a delivery finished: they log metrics.
    pub finishing_batches: f64,
    pub topic_requests: f64,
    /// Bytes of items times the months that they are kept.
    pub item_byte_months: f64,
    /// The same for index entries.
    pub index_byte_months: f64,
    /// Bytes of bodies sent to receivers.
    pub sent_bytes: f64,
}

impl Counted {
    /// Write units per delivery of its own item writes: accepting it and attempting it.
    #[must_use]
    pub fn writes_each(&self) -> f64 {
        (self.accept.writes + self.attempt.writes) / self.deliveries
    }

    /// Write units per delivery, with those of the publisher.
    #[must_use]
    pub fn all_writes_each(&self) -> f64 {
        self.writes_each() + self.publish.writes / self.deliveries
    }

    #[must_use]
    pub fn reads_each(&self) -> f64 {
        let reads = [self.accept, self.attempt, self.publish, self.watch].map(|units| units.reads);
        reads.into_iter().sum::<f64>() / self.deliveries
    }

    /// The usage of a million such deliveries.
    #[must_use]
    pub fn million(&self, assumed: &Assumptions) -> Usage {
        let usage = self.table(Usage::default());
        let usage = self.functions(usage, assumed);
        let usage = self.messages(usage);
        let usage = self.logs(usage, assumed);
        let sent = self.sent_bytes + self.attempts * assumed.request_bytes;
        let invocations =
            self.events + self.message_batches + self.change_batches + self.watch_batches;
        let usage = usage
            .with(Item::Transfer, "receivers", sent / GB)
            .with(
                Item::Transfer,
                "publishers",
                self.events * assumed.answer_bytes / GB,
            )
            .with(
                Item::KeyRequests,
                "functions",
                invocations * assumed.key_requests,
            );
        usage.times(DELIVERIES / self.deliveries)
    }

    fn table(&self, usage: Usage) -> Usage {
        usage
            .with(Item::WriteUnits, "accept", self.accept.writes)
            .with(
                Item::WriteUnits,
                "last use of the API key",
                self.key_use.writes,
            )
            .with(Item::WriteUnits, "attempts", self.attempt.writes)
            .with(Item::WriteUnits, "publisher", self.publish.writes)
            .with(Item::ReadUnits, "accept", self.accept.reads)
            .with(Item::ReadUnits, "attempts", self.attempt.reads)
            .with(Item::ReadUnits, "publisher", self.publish.reads)
            .with(Item::ReadUnits, "watcher", self.watch.reads)
            .with(Item::TableStorage, "items", self.item_byte_months / GB)
            .with(Item::TableStorage, "indexes", self.index_byte_months / GB)
            .with(
                Item::PointInTimeRecovery,
                "items",
                self.item_byte_months / GB,
            )
    }

    fn functions(&self, usage: Usage, assumed: &Assumptions) -> Usage {
        let api = self.events * assumed.api_seconds * assumed.api_gb;
        let dispatcher = self.message_batches * assumed.attempt_seconds * assumed.dispatcher_gb;
        let publisher =
            self.change_batches * assumed.publisher_seconds + self.changes * assumed.change_seconds;
        let watcher = self.watch_batches * assumed.publisher_seconds * assumed.publisher_gb;
        usage
            .with(Item::HttpRequests, "publishers", self.events)
            .with(Item::Invocations, "api", self.events)
            .with(Item::Invocations, "dispatcher", self.message_batches)
            .with(Item::Invocations, "publisher", self.change_batches)
            .with(Item::Invocations, "watcher", self.watch_batches)
            .with(Item::Compute, "api", api)
            .with(Item::Compute, "dispatcher", dispatcher)
            .with(Item::Compute, "publisher", publisher * assumed.publisher_gb)
            .with(Item::Compute, "watcher", watcher)
    }

    /// Each message is sent alone. A batch is received and deleted with one request each.
    fn messages(&self, usage: Usage) -> Usage {
        usage
            .with(Item::FairQueueRequests, "send", self.messages)
            .with(Item::FairQueueRequests, "receive", self.message_batches)
            .with(Item::FairQueueRequests, "delete", self.message_batches)
            .with(Item::TopicRequests, "publisher", self.topic_requests)
    }

    fn logs(&self, usage: Usage, assumed: &Assumptions) -> Usage {
        let line = assumed.log_line_bytes;
        let access = self.events * assumed.access_line_bytes;
        let failed = self.attempts - self.deliveries;
        let dispatcher =
            self.deliveries * assumed.delivered_line_bytes + failed * assumed.failed_line_bytes;
        let publisher = self.finishing_batches * line;
        let watcher = self.watch_batches * line;
        let written = access + dispatcher + publisher + watcher;
        let stored = written * assumed.log_compression * assumed.log_months;
        usage
            .with(Item::LogsWritten, "HTTP API", access / GB)
            .with(Item::LogsWritten, "dispatcher", dispatcher / GB)
            .with(Item::LogsWritten, "publisher", publisher / GB)
            .with(Item::LogsWritten, "watcher", watcher / GB)
            .with(Item::LogsStored, "all", stored / GB)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::Bill;
    use crate::prices::Prices;

    fn counted() -> Counted {
        Counted {
            deliveries: 2.0,
            events: 2.0,
            accept: Units {
                writes: 12.0,
                reads: 4.0,
            },
            key_use: Units::default(),
            attempt: Units {
                writes: 4.0,
                reads: 6.0,
            },
            publish: Units {
                writes: 2.0,
                reads: 1.0,
            },
            watch: Units {
                writes: 0.0,
                reads: 1.0,
            },
            attempts: 2.0,
            messages: 2.0,
            message_batches: 1.0,
            changes: 2.0,
            change_batches: 0.5,
            watch_batches: 0.5,
            finishing_batches: 1.0,
            topic_requests: 1.0,
            item_byte_months: 2.0 * 1024.0,
            index_byte_months: 2.0 * 512.0,
            sent_bytes: 2.0 * 1024.0,
        }
    }

    #[test]
    fn a_million_deliveries_use_what_was_counted_for_each() {
        let usage = counted().million(&Assumptions::default());
        let total = |item| usage.total(item);
        assert!((total(Item::WriteUnits) - 9e6).abs() < 1.0);
        assert!((total(Item::ReadUnits) - 6e6).abs() < 1.0);
        assert!((total(Item::Invocations) - 2e6).abs() < 1.0);
        assert!((total(Item::FairQueueRequests) - 2e6).abs() < 1.0);
        let stored = 1e6 * 1536.0 / GB;
        assert!((total(Item::TableStorage) - stored).abs() < 1e-6);
        assert!(
            total(Item::PointInTimeRecovery) < total(Item::TableStorage),
            "indexes are not charged"
        );
        assert!((counted().writes_each() - 8.0).abs() < 1e-9);
    }

    #[test]
    fn twice_the_run_costs_the_same_per_delivery() {
        let prices = Prices::us_east_1();
        let price =
            |counted: Counted| Bill::of(&counted.million(&Assumptions::default()), &prices).total();
        let twice = Counted {
            deliveries: 4.0,
            events: 4.0,
            accept: Units {
                writes: 24.0,
                reads: 8.0,
            },
            key_use: Units::default(),
            attempt: Units {
                writes: 8.0,
                reads: 12.0,
            },
            publish: Units {
                writes: 4.0,
                reads: 2.0,
            },
            watch: Units {
                writes: 0.0,
                reads: 2.0,
            },
            attempts: 4.0,
            messages: 4.0,
            message_batches: 2.0,
            changes: 4.0,
            change_batches: 1.0,
            watch_batches: 1.0,
            finishing_batches: 2.0,
            topic_requests: 2.0,
            item_byte_months: 4.0 * 1024.0,
            index_byte_months: 4.0 * 512.0,
            sent_bytes: 4.0 * 1024.0,
        };
        assert!((price(counted()) - price(twice)).abs() < 1e-9);
    }
}
