//! The table's stream on its way to publisher and watcher: in order for each key, in any order between shards, and again if
//! an invocation fails.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::dynamodb::ItemChange;
use parking_lot::Mutex;
use postrider_testkit::stream_mapping::Mapping;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::TABLE;
use super::draws::Fault;
use super::flaw::Flaw;
use super::functions::Function;
use super::world::World;

pub(super) const SHARDS: usize = 3;

/// The consumers of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consumer {
    Publisher,
    Watcher,
}

impl Consumer {
    pub(super) const ALL: [Self; 2] = [Self::Publisher, Self::Watcher];

    const fn function(self) -> Function {
        match self {
            Self::Publisher => Function::Publisher,
            Self::Watcher => Function::Watcher,
        }
    }

    const fn batch(self) -> usize {
        match self {
            Self::Publisher => 20,
            Self::Watcher => 100,
        }
    }
}

pub(super) struct Streams {
    mappings: [Mapping; 2],
    shards: Mutex<[[VecDeque<Value>; SHARDS]; 2]>,
    added: Notify,
}

impl Streams {
    pub(super) fn new() -> Self {
        let template = include_str!("../../../template.yaml");
        let names = ["PublisherFunction", "WatcherFunction"];
        Self {
            mappings: names.map(|name| Mapping::of(template, name)),
            shards: Mutex::default(),
            added: Notify::new(),
        }
    }

    pub(super) fn add(&self, change: &ItemChange) {
        let mut hasher = DefaultHasher::new();
        change.pk().hash(&mut hasher);
        let shard = usize::try_from(hasher.finish() % SHARDS as u64).unwrap();
        let record = change.record();
        let mut shards = self.shards.lock();
        for (consumer, mapping) in self.mappings.iter().enumerate() {
            if mapping.wants(&record) {
                shards[consumer][shard].push_back(record.clone());
            }
        }
        drop(shards);
        self.added.notify_waiters();
    }

    /// Whether every record was consumed.
    pub(super) fn is_empty(&self) -> bool {
        let shards = self.shards.lock();
        shards.iter().flatten().all(VecDeque::is_empty)
    }

    fn first(&self, consumer: Consumer, shard: usize, count: usize) -> Vec<Value> {
        let shards = self.shards.lock();
        shards[consumer as usize][shard]
            .iter()
            .take(count)
            .cloned()
            .collect()
    }

    fn done(&self, consumer: Consumer, shard: usize, count: usize) -> Vec<Value> {
        let mut shards = self.shards.lock();
        shards[consumer as usize][shard].drain(..count).collect()
    }
}

impl World {
    /// Invokes a consumer with the records of a shard, for ever.
    pub(super) async fn serve_stream(self: Arc<Self>, consumer: Consumer, shard: usize) {
        let mut most = consumer.batch();
        loop {
            let added = self.streams.added.notified();
            if self.streams.first(consumer, shard, 1).is_empty() {
                added.await;
                continue;
            }
            // The batching window, and how far the stream is behind.
            let window = match consumer {
                Consumer::Publisher => self.draws.between("window", 50, 3000),
                Consumer::Watcher => self.draws.between("long window", 5000, 120_000),
            };
            self.executor.sleep(window).await;
            let size = 1 + self.draws.index("stream batch", most);
            let batch = self.streams.first(consumer, shard, size);
            let answer = self
                .invoke(consumer.function(), json!({ "Records": batch }))
                .await;
            let done = self.done(consumer, &batch, answer.as_ref());
            if done < batch.len() {
                self.audit.fault(consumer.function());
            }
            if consumer == Consumer::Publisher && self.draws.strikes(Fault::BatchRepeated) {
                self.audit.fault(Function::Publisher);
                continue;
            }
            for record in self.streams.done(consumer, shard, done) {
                if consumer == Consumer::Watcher {
                    self.watched(&record);
                }
            }
            // A batch that failed is bisected, and comes again after a pause.
            if done < batch.len() {
                most = (most / 2).max(1);
                self.executor.sleep(1000).await;
            } else {
                most = consumer.batch();
            }
        }
    }

    /// How many records of a batch do not come again.
    fn done(&self, consumer: Consumer, batch: &[Value], answer: Option<&Value>) -> usize {
        let Some(answer) = answer else {
            let is_flawed = self.flaw == Some(Flaw::WatchesTooEarly);
            return match consumer {
                Consumer::Watcher if is_flawed => batch.len(),
                Consumer::Watcher | Consumer::Publisher => 0,
            };
        };
        let failures = answer["batchItemFailures"].as_array();
        let is_failed = |record: &&Value| {
            failures.is_some_and(|failures| {
                let number = &record["dynamodb"]["SequenceNumber"];
                failures.iter().any(|one| one["itemIdentifier"] == *number)
            })
        };
        batch.iter().take_while(|record| !is_failed(record)).count()
    }

    fn watched(&self, record: &Value) {
        let key = |name: &str| record["dynamodb"]["Keys"][name]["S"].as_str().unwrap();
        let (pk, sk) = (key("pk"), key("sk"));
        let database = self.database.lock();
        self.audit.watched(pk, sk, database.item(TABLE, pk, sk));
    }
}
