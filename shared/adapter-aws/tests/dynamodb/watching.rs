//! The watch over fresh rows, with the real handlers behind Lambda's event source mappings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::AttributeValue;
use lambda_runtime::{Context, LambdaEvent};
use postrider_adapter_aws::dynamodb::Follower;
use postrider_adapter_aws::unreadable::UnreadableChange;
use postrider_domain::decide::Transition;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::notification::Notification;
use postrider_domain::time::Millis;
use postrider_gateway::poll::sweeps::Sweeps;
use postrider_gateway::worker::queue::{Handled, Needless};
use postrider_ports::clock::Clock;
use postrider_ports::deliveries::Applied;
use postrider_ports::limiters::Stored;
use postrider_ports::notifications::Topic;
use postrider_ports::queue::QueueMessage;
use postrider_ports::watch::Watch;
use postrider_ports::{Error, Result};
use postrider_publisher::{Publisher, SetsAside};
use postrider_testkit::builders::{NOW, after};
use postrider_testkit::receiver::Answer;
use postrider_testkit::stream_mapping::{Mapping, StreamFunction, StreamReader, Unrest};
use postrider_watcher::WatchFunction;
use serde_json::Value;

use crate::stage::Stage;
use crate::support::faults::{Fault, Faults};

const TEMPLATE: &str = include_str!("../../../../template.yaml");
const SHARDS: u64 = 4;

fn reader(function: &str, unrest: Unrest) -> StreamReader {
    StreamReader::new(Mapping::of(TEMPLATE, function), SHARDS, unrest)
}

struct Watching(WatchFunction);

#[async_trait]
impl StreamFunction for Watching {
    async fn handle(&self, event: Value) -> std::result::Result<Vec<String>, String> {
        let event = LambdaEvent::new(event, Context::default());
        let handled = self.0.handle(event).await;
        handled
            .map(|_| Vec::new())
            .map_err(|error| error.to_string())
    }
}

struct Publishing {
    publisher: Publisher,
    invoked: AtomicUsize,
}

#[async_trait]
impl StreamFunction for Publishing {
    /// Every seventh invocation ends before it has done anything.
    async fn handle(&self, event: Value) -> std::result::Result<Vec<String>, String> {
        if self.invoked.fetch_add(1, Ordering::Relaxed) % 7 == 6 {
            return Err("out of memory".to_owned());
        }
        let event = LambdaEvent::new(event, Context::default());
        let handled = self.publisher.handle(event).await;
        let failures = handled.map_err(|error| error.to_string())?;
        let failures = failures.batch_item_failures.into_iter();
        Ok(failures.filter_map(|one| one.item_identifier).collect())
    }
}

/// A topic that is throttled now and then.
#[derive(Default)]
struct Throttled(AtomicUsize);

#[async_trait]
impl Topic for Throttled {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        let publish = |_| match self.0.fetch_add(1, Ordering::Relaxed) % 5 {
            4 => Err(Error::Unavailable("throttled".to_owned())),
            _ => Ok(()),
        };
        notifications.iter().map(publish).collect()
    }
}

/// The store writes nothing that cannot be read.
struct AllReadable;

#[async_trait]
impl SetsAside for AllReadable {
    async fn set_aside(&self, changes: &[UnreadableChange]) -> Result<()> {
        panic!("{changes:?}")
    }
}

impl Stage {
    fn watcher(&self) -> Watching {
        let store = Arc::clone(&self.tables.store);
        let clock = Arc::clone(&self.clock) as _;
        Watching(WatchFunction::new(store, clock, "test".to_owned()))
    }

    fn publisher(&self) -> Publishing {
        let follower = Follower::of(Arc::clone(&self.tables.store));
        let publisher = Publisher::new(
            Arc::new(follower),
            Arc::new(Throttled::default()),
            Arc::new(AllReadable),
            Arc::clone(&self.clock) as _,
            "test".to_owned(),
        );
        Publishing {
            publisher,
            invoked: AtomicUsize::new(0),
        }
    }

    /// Lets the watcher see everything that was written so far.
    async fn watch(&self) {
        let mut reader = reader("WatcherFunction", Unrest::default());
        reader.add(&self.tables.events().await);
        reader.deliver_all(&self.watcher(), self.clock.now()).await;
    }

    async fn lane(&self, id: DeliveryId) -> Option<String> {
        self.tables.lane(&self.scene.tenant, id).await
    }

    /// Ticks and works until everything is delivered, for a quarter of an hour.
    async fn recover(&self, ids: &BTreeSet<DeliveryId>) {
        for _ in 0..15 {
            self.clock.advance(Millis::from_seconds(60));
            self.tick().await;
            self.work().await;
            let mut left = 0;
            for id in ids {
                left += usize::from(!self.is_delivered(*id).await);
            }
            if left == 0 {
                return;
            }
        }
        panic!("some of {ids:?} were stranded");
    }

    async fn publish_some(&self, webhooks: &[WebhookId], each: usize) -> BTreeSet<DeliveryId> {
        let mut ids = BTreeSet::new();
        for webhook in webhooks {
            for _ in 0..each {
                ids.insert(self.publish(*webhook).await);
            }
        }
        ids
    }
}

fn minute() -> Millis {
    Millis::from_seconds(60)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_message_is_found_and_a_delivered_row_costs_no_lane() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let lost = stage.publish(webhook).await;
    stage.queue.take();
    let delivered = stage.publish(webhook).await;
    stage.work().await;
    assert_eq!(stage.lane(lost).await, None, "it was accepted without one");
    stage.clock.advance(minute());
    stage.watch().await;
    assert!(stage.lane(lost).await.unwrap().starts_with("queued#"));
    assert_eq!(stage.lane(delivered).await, None);
    stage.recover(&[lost].into()).await;
    assert_eq!(stage.lane(lost).await, None, "closing removes it");
    assert_eq!(stage.receiver.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_held_at_the_check_keeps_its_version() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let messages = stage.queue.take();
    let claimed = stage.scene.claimed(id, NOW).await;
    stage.clock.advance(minute());
    stage.watch().await;
    assert!(stage.lane(id).await.is_some(), "its holder may have died");
    assert_eq!(stage.row(id).await.version, claimed.version());
    let applied = stage.scene.finish(&claimed, Transition::Deliver, after(60));
    assert!(matches!(applied.await, Applied::Done(_)), "it still holds");
    let handled = stage.handle(messages).await;
    assert_eq!(handled, [Ok(Handled::Dropped(Needless::Closed))]);
    assert!(stage.receiver.requests().is_empty(), "no second request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purged_queue_strands_nothing() {
    let stage = Stage::set().await;
    let webhooks = [stage.webhook().await, stage.webhook().await];
    let ids = stage.publish_some(&webhooks, 8).await;
    stage.queue.take();
    stage.clock.advance(minute());
    stage.watch().await;
    stage.recover(&ids).await;
    assert_eq!(stage.receiver.requests().len(), ids.len());
}

/// Messages are lost, doubled and late, receivers fail, functions end midway, and batches come in any size, again, and in
/// another order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unquiet_stream_strands_nothing_and_counts_nothing_twice() {
    for seed in 1..=3 {
        let stage = Stage::set().await;
        let webhooks = [stage.webhook().await, stage.webhook().await];
        let (watcher, publisher) = (stage.watcher(), stage.publisher());
        let repeating = Unrest {
            seed,
            repeats: true,
        };
        // Counters are not protected against a batch that comes again after it was done.
        let unquiet = Unrest {
            seed,
            repeats: false,
        };
        let mut watch = reader("WatcherFunction", repeating);
        let mut publish = reader("PublisherFunction", unquiet);
        let mut ids = BTreeSet::new();
        for round in 0..3 {
            ids.extend(stage.publish_some(&webhooks, 4).await);
            stage.receiver.answer_next([Answer::status(500)]);
            let sent = stage.queue.take().into_iter().enumerate();
            let kept = sent.filter(|(n, _)| n % 3 != round);
            let kept: Vec<QueueMessage> = kept.map(|(_, message)| message).collect();
            stage.handle(kept.clone()).await;
            stage.handle(kept).await;
            stage.queue.take();
            stage.clock.advance(minute());
            let events = stage.tables.events().await;
            watch.add(&events);
            publish.add(&events);
            let now = stage.clock.now();
            watch.deliver_all(&watcher, now).await;
            publish.deliver_all(&publisher, now).await;
        }
        stage.recover(&ids).await;
        publish.add(&stage.tables.events().await);
        publish.deliver_all(&publisher, stage.clock.now()).await;
        assert!(publish.abandoned.is_empty() && watch.abandoned.is_empty());
        let (from, to) = (NOW.hour(), after(7200));
        let tenant = &stage.scene.tenant;
        let stats = stage.scene.stats(tenant, None, from, to).await.unwrap();
        let delivered: u64 = stats.iter().map(|hour| hour.delivered).sum();
        assert_eq!(delivered, ids.len() as u64, "seed {seed}");
        let attempts: u64 = stats.iter().map(|hour| hour.attempts).sum();
        assert_eq!(attempts, stage.receiver.requests().len() as u64);
    }
}

/// As after a restore: the records of these rows are in no stream. Wherever it is interrupted, the next tick goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_finds_every_open_row_of_its_period() {
    let stage = Stage::set().await;
    let webhooks = [stage.webhook().await, stage.webhook().await];
    let before = stage.publish_some(&webhooks, 1).await;
    stage.queue.take();
    stage.clock.advance(minute());
    let open = stage.publish_some(&webhooks, 6).await;
    stage.queue.take();
    let closed = stage.publish_some(&webhooks, 2).await;
    stage.work().await;
    let (from, to) = (after(60), after(61));
    let clock = || Arc::clone(&stage.clock) as Arc<dyn Clock>;
    let sweeps = Sweeps::new(Arc::clone(&stage.tables.store) as _, clock());
    sweeps.start(from, to).await.unwrap();
    let deadline = after(3600);
    for interrupted_at in [0, 1, 2, 5, 20, 33] {
        let faults = Faults::from(interrupted_at, Fault::Unreachable);
        let config = stage.tables.config().retry_config(RetryConfig::disabled());
        let client = Client::from_conf(config.interceptor(faults).build());
        let broken = Sweeps::new(stage.tables.store_with(client) as _, clock());
        assert_eq!(broken.carry_on(deadline).await, None);
    }
    sweeps.start(from, to).await.unwrap();
    let swept = sweeps.carry_on(deadline).await.unwrap();
    assert_eq!(swept.ended_at, Some(stage.clock.now()));
    assert!(swept.rows >= (open.len() + closed.len()) as u64);
    assert_eq!(sweeps.carry_on(deadline).await, None, "it has ended");
    for id in &open {
        assert!(stage.lane(*id).await.is_some());
    }
    for id in before.iter().chain(&closed) {
        assert_eq!(stage.lane(*id).await, None);
    }
    stage.recover(&open).await;
}

/// A tick of the poller may be in the middle of the old one.
#[tokio::test]
async fn a_sweep_that_was_replaced_does_not_overwrite_the_new_one() {
    let stage = Stage::set().await;
    let store = &stage.tables.store;
    let sweeps = Sweeps::new(Arc::clone(store) as _, Arc::clone(&stage.clock) as _);
    sweeps.start(NOW, after(60)).await.unwrap();
    let mut old = store.sweep().await.unwrap().unwrap();
    old.rows = 100;
    assert_eq!(store.store_sweep(&old).await, Ok(Stored::Done));
    sweeps.start(NOW, after(120)).await.unwrap();
    let new = store.sweep().await.unwrap().unwrap();
    assert_eq!(store.store_sweep(&old).await, Ok(Stored::Outdated));
    assert_eq!(store.sweep().await, Ok(Some(new)));
}

/// A row that cannot be read holds up neither the others of its batch nor the stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoiled_row_does_not_stop_the_watch() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let (spoiled, sound) = (stage.publish(webhook).await, stage.publish(webhook).await);
    stage.queue.take();
    let spoil = stage
        .tables
        .client
        .update_item()
        .table_name(&stage.tables.tables.deliveries)
        .set_key(Some(stage.tables.key(&stage.scene.tenant, spoiled)))
        .update_expression("SET lease_until = :spoiled")
        .expression_attribute_values(":spoiled", AttributeValue::S("later".to_owned()));
    spoil.send().await.unwrap();
    stage.clock.advance(minute());
    stage.watch().await;
    assert!(stage.lane(sound).await.is_some());
}
