//! Batches of changes as Lambda delivers them. What follows from a change is tested with the store; here each change
//! causes one notification.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_adapter_aws::dynamodb::Record;
use postrider_adapter_aws::unreadable::UnreadableChange;
use postrider_domain::key_stats::KeyStat;
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_domain::time::Timestamp;
use postrider_ports::notifications::Topic;
use postrider_ports::{Error, Result};
use postrider_publisher::{Follows, Publisher, SetsAside};
use postrider_testkit::clock::SteppedClock;
use serde_json::{Value, json};

const ROW: &str = "c4ca4238a0b923820dcc509a6f75849b";
const STATE: &str = "c81e728d9d4c2f636f067f89cc14862c";
const REMOVED: &str = "a87ff679a2f3e71d9181a67b7542122c";
const UNREADABLE_SEQUENCE: &str = "4421584500000000017450439093";

/// Returns one notification per change, but an error for the change named here.
#[derive(Default)]
struct Changes {
    failing: Option<&'static str>,
    seen: Mutex<Vec<Record>>,
    settled: Mutex<Vec<String>>,
}

#[async_trait]
impl Follows for Changes {
    async fn follow(&self, records: Vec<Record>, _: Timestamp) -> Vec<Result<Vec<Notification>>> {
        self.seen.lock().extend(records.clone());
        let follow = |record: Record| match self.failing {
            Some(id) if id == record.id => Err(Error::Unavailable("throttled".to_owned())),
            Some(_) | None => Ok(vec![notification(record.id)]),
        };
        records.into_iter().map(follow).collect()
    }

    async fn settle(&self, records: &[Record], _: Timestamp) {
        let ids = records.iter().map(|record| record.id.clone());
        self.settled.lock().extend(ids);
    }
}

/// The queue of unreadable changes; closed, it takes none.
#[derive(Default)]
struct TestQueue {
    is_closed: bool,
    taken: Mutex<Vec<UnreadableChange>>,
}

#[async_trait]
impl SetsAside for TestQueue {
    async fn set_aside(&self, changes: &[UnreadableChange]) -> Result<()> {
        if self.is_closed {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        self.taken.lock().extend(changes.iter().cloned());
        Ok(())
    }
}

/// A topic that rejects the notification named here.
#[derive(Default)]
struct TestTopic {
    rejected: Option<&'static str>,
    published: Mutex<Vec<String>>,
}

#[async_trait]
impl Topic for TestTopic {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        let publish = |notification: &Notification| {
            if self.rejected == Some(notification.id.as_str()) {
                return Err(Error::Unavailable("throttled".to_owned()));
            }
            self.published.lock().push(notification.id.clone());
            Ok(())
        };
        notifications.iter().map(publish).collect()
    }
}

fn notification(id: String) -> Notification {
    Notification {
        id,
        kind: NotificationKind::DeliveryDelivered,
        tenant: "default".parse().unwrap(),
        at: Timestamp::ZERO,
        data: json!({}),
    }
}

fn recorded() -> Value {
    serde_json::from_str(include_str!("events/batch.json")).unwrap()
}

/// The result of a batch.
struct Handled {
    response: Value,
    seen: Vec<Record>,
    settled: Vec<String>,
    published: Vec<String>,
    set_aside: Vec<UnreadableChange>,
}

async fn handled(changes: Changes, topic: TestTopic, event: Value) -> Handled {
    handled_with(changes, topic, TestQueue::default(), event).await
}

async fn handled_with(
    changes: Changes,
    topic: TestTopic,
    queue: TestQueue,
    event: Value,
) -> Handled {
    let (changes, topic, queue) = (Arc::new(changes), Arc::new(topic), Arc::new(queue));
    let clock = Arc::new(SteppedClock::at(Timestamp::ZERO));
    let publisher = Publisher::new(
        changes.clone(),
        topic.clone(),
        queue.clone(),
        clock,
        "test".to_owned(),
    );
    let event = LambdaEvent::new(event, Context::default());
    let response = publisher.handle(event).await.unwrap();
    Handled {
        response: serde_json::to_value(response).unwrap(),
        seen: changes.seen.lock().clone(),
        settled: changes.settled.lock().clone(),
        published: topic.published.lock().clone(),
        set_aside: queue.taken.lock().clone(),
    }
}

fn failures(sequences: &[&str]) -> Value {
    let failures = sequences
        .iter()
        .map(|sequence| json!({"itemIdentifier": sequence}));
    json!({"batchItemFailures": failures.collect::<Vec<_>>()})
}

#[tokio::test]
async fn an_unreadable_change_is_set_aside_by_its_key_and_the_stream_goes_on() {
    let done = handled(Changes::default(), TestTopic::default(), recorded()).await;
    assert_eq!(done.response, failures(&[]));
    assert_eq!(done.published, [ROW, STATE, REMOVED]);
    assert_eq!(done.settled, [ROW, STATE, REMOVED]);
    let [unreadable] = &done.set_aside[..] else {
        panic!("{:?}", done.set_aside);
    };
    assert_eq!(unreadable.sequence_number, UNREADABLE_SEQUENCE);
    assert!(unreadable.pk.starts_with("default#"), "{unreadable:?}");
    let sent = serde_json::to_value(unreadable).unwrap();
    let fields: Vec<_> = sent.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["pk", "sequence_number", "sk"], "never its content");
    let images: Vec<_> = done
        .seen
        .iter()
        .map(|record| (record.before.is_some(), record.after.is_some()))
        .collect();
    assert_eq!(images, [(true, true), (true, true), (true, false)]);
    assert_eq!(done.seen[0].at, Timestamp::from_millis(1_794_816_000_000));
}

#[tokio::test]
async fn an_unreadable_change_that_cannot_be_set_aside_comes_again() {
    let queue = TestQueue {
        is_closed: true,
        ..TestQueue::default()
    };
    let (changes, topic) = (Changes::default(), TestTopic::default());
    let done = handled_with(changes, topic, queue, recorded()).await;
    assert_eq!(done.response, failures(&[UNREADABLE_SEQUENCE]));
    assert_eq!(done.settled, [ROW, STATE], "only those before it are done");
}

#[tokio::test]
async fn images_arrive_with_every_kind_of_value() {
    let done = handled(Changes::default(), TestTopic::default(), recorded()).await;
    let after = done.seen[0].after.as_ref().unwrap();
    assert_eq!(after["status"].as_s().unwrap(), "delivered");
    assert_eq!(after["version"].as_n().unwrap(), "3");
    assert_eq!(after["a1"].as_b().unwrap().as_ref()[1], 0xc8);
    assert!(done.seen[1].after.as_ref().unwrap()["reason"].is_null());
}

#[tokio::test]
async fn a_change_that_could_not_be_followed_is_retried_and_not_published() {
    let changes = Changes {
        failing: Some(ROW),
        ..Changes::default()
    };
    let done = handled(changes, TestTopic::default(), recorded()).await;
    assert_eq!(done.response, failures(&["4421584500000000017450439091"]));
    assert_eq!(done.published, [STATE, REMOVED]);
    assert_eq!(done.settled, Vec::<String>::new(), "the stream starts over");
}

#[tokio::test]
async fn a_change_that_could_not_be_published_is_retried_and_those_before_it_are_settled() {
    let topic = TestTopic {
        rejected: Some(REMOVED),
        ..TestTopic::default()
    };
    let done = handled(Changes::default(), topic, recorded()).await;
    assert_eq!(done.response, failures(&["4421584500000000017450439094"]));
    assert_eq!(done.published, [ROW, STATE]);
    assert_eq!(done.settled, [ROW, STATE]);
}

/// A topic that never answers.
struct SilentTopic;

#[async_trait]
impl Topic for SilentTopic {
    async fn publish(&self, _: &[Notification]) -> Vec<Result<()>> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_topic_that_does_not_answer_fails_its_changes_before_the_function_ends() {
    let clock = Arc::new(SteppedClock::at(Timestamp::ZERO));
    let changes = Arc::new(Changes::default());
    let publisher = Publisher::new(
        changes.clone(),
        Arc::new(SilentTopic),
        Arc::new(TestQueue::default()),
        clock.clone(),
        "test".to_owned(),
    );
    let mut context = Context::default();
    context.deadline = 60_000;
    let handling = tokio::spawn(async move {
        let event = LambdaEvent::new(recorded(), context);
        publisher.handle(event).await.unwrap()
    });
    let until = Timestamp::from_millis(55_000);
    clock.wait_for_sleeper(until).await;
    clock.set(until);
    let response = serde_json::to_value(handling.await.unwrap()).unwrap();
    assert_eq!(response["batchItemFailures"].as_array().unwrap().len(), 3);
    assert_eq!(*changes.settled.lock(), Vec::<String>::new());
}

/// As Lambda writes it to the failure destination.
#[tokio::test]
async fn a_recorded_failure_can_be_handed_in_again_any_number_of_times() {
    let object: Value = serde_json::from_str(include_str!("events/failed.json")).unwrap();
    let mut published = Vec::new();
    for _ in 0..2 {
        let done = handled(Changes::default(), TestTopic::default(), object.clone()).await;
        assert_eq!(done.response, failures(&[]));
        assert_eq!(done.settled, [ROW]);
        published.push(done.published);
    }
    assert_eq!(published[0], [ROW]);
    assert_eq!(published[0], published[1], "under the same ids");
}

#[tokio::test]
async fn the_sample_event_is_a_delivery_that_was_delivered() {
    let sample =
        serde_json::from_str(include_str!("../../../infra/events/publisher.json")).unwrap();
    let done = handled(Changes::default(), TestTopic::default(), sample).await;
    assert_eq!(done.response, failures(&[]));
    assert_eq!(done.published, [ROW]);
    let finished = done.seen[0].finished().unwrap();
    assert_eq!(finished.observed(KeyStat::SuccessRate), Some(100.0));
}

#[tokio::test]
async fn a_batch_without_changes_is_done() {
    let empty = json!({"Records": []});
    let done = handled(Changes::default(), TestTopic::default(), empty).await;
    assert_eq!(done.response, failures(&[]));
}
