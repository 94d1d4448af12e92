//! Batches of changes as Lambda delivers them. What follows from a change is tested with the store; here each change
//! causes one notification.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_adapter_aws::dynamodb::Record;
use postrider_domain::key_stats::KeyStat;
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_domain::time::Timestamp;
use postrider_ports::notifications::Topic;
use postrider_ports::{Error, Result};
use postrider_publisher::{Follows, Publisher};
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

async fn handled(
    changes: Changes,
    topic: TestTopic,
    event: Value,
) -> (Value, Vec<Record>, Vec<String>) {
    let (changes, topic) = (Arc::new(changes), Arc::new(topic));
    let clock = Arc::new(SteppedClock::at(Timestamp::ZERO));
    let publisher = Publisher::new(changes.clone(), topic.clone(), clock, "test".to_owned());
    let event = LambdaEvent::new(event, Context::default());
    let response = publisher.handle(event).await.unwrap();
    let (seen, published) = (changes.seen.lock().clone(), topic.published.lock().clone());
    (serde_json::to_value(response).unwrap(), seen, published)
}

fn failures(sequences: &[&str]) -> Value {
    let failures = sequences
        .iter()
        .map(|sequence| json!({"itemIdentifier": sequence}));
    json!({"batchItemFailures": failures.collect::<Vec<_>>()})
}

#[tokio::test]
async fn an_unreadable_change_fails_alone() {
    let (response, seen, published) =
        handled(Changes::default(), TestTopic::default(), recorded()).await;
    assert_eq!(response, failures(&[UNREADABLE_SEQUENCE]));
    assert_eq!(published, [ROW, STATE, REMOVED]);
    let images: Vec<_> = seen
        .iter()
        .map(|record| (record.before.is_some(), record.after.is_some()))
        .collect();
    assert_eq!(images, [(true, true), (true, true), (true, false)]);
    assert_eq!(seen[0].at, Timestamp::from_millis(1_794_816_000_000));
}

#[tokio::test]
async fn images_arrive_with_every_kind_of_value() {
    let (_, seen, _) = handled(Changes::default(), TestTopic::default(), recorded()).await;
    let after = seen[0].after.as_ref().unwrap();
    assert_eq!(after["status"].as_s().unwrap(), "delivered");
    assert_eq!(after["version"].as_n().unwrap(), "3");
    assert_eq!(after["a1"].as_b().unwrap().as_ref()[1], 0xc8);
    assert!(seen[1].after.as_ref().unwrap()["reason"].is_null());
}

#[tokio::test]
async fn a_change_that_could_not_be_followed_is_retried_and_not_published() {
    let changes = Changes {
        failing: Some(ROW),
        ..Changes::default()
    };
    let (response, _, published) = handled(changes, TestTopic::default(), recorded()).await;
    let expected = ["4421584500000000017450439091", UNREADABLE_SEQUENCE];
    assert_eq!(response, failures(&expected));
    assert_eq!(published, [STATE, REMOVED]);
}

#[tokio::test]
async fn a_change_that_could_not_be_published_is_retried() {
    let topic = TestTopic {
        rejected: Some(REMOVED),
        ..TestTopic::default()
    };
    let (response, _, published) = handled(Changes::default(), topic, recorded()).await;
    let expected = [UNREADABLE_SEQUENCE, "4421584500000000017450439094"];
    assert_eq!(response, failures(&expected));
    assert_eq!(published, [ROW, STATE]);
}

#[tokio::test]
async fn the_sample_event_is_a_delivery_that_was_delivered() {
    let sample =
        serde_json::from_str(include_str!("../../../infra/events/publisher.json")).unwrap();
    let (response, seen, published) =
        handled(Changes::default(), TestTopic::default(), sample).await;
    assert_eq!(response, failures(&[]));
    assert_eq!(published, [ROW]);
    let finished = seen[0].finished().unwrap();
    assert_eq!(finished.observed(KeyStat::SuccessRate), Some(100.0));
}

#[tokio::test]
async fn a_batch_without_changes_is_done() {
    let empty = json!({"Records": []});
    let (response, _, _) = handled(Changes::default(), TestTopic::default(), empty).await;
    assert_eq!(response, failures(&[]));
}
