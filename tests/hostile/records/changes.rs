//! Changes of the table, as the publisher gets them.

use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::LambdaEvent;
use parking_lot::Mutex;
use postrider_adapter_aws::dynamodb::Record;
use postrider_adapter_aws::unreadable::UnreadableChange;
use postrider_domain::ids::TenantId;
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_domain::time::Timestamp;
use postrider_ports::notifications::Topic;
use postrider_ports::{Error, Result};
use postrider_publisher::{Follows, Publisher, SetsAside};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::clock::{HurriedClock, context};
use super::{Event, Trouble, sorted};
use crate::hostile::Outcome;

const SAMPLES: [&str; 3] = [
    include_str!("../../../infra/events/publisher.json"),
    include_str!("../../../functions/publisher/tests/events/batch.json"),
    include_str!("../../../functions/publisher/tests/events/failed.json"),
];

/// Every port of the publisher.
#[derive(Default)]
struct Taken {
    is_down: bool,
    failing: u8,
    followed: Mutex<usize>,
    failed: Mutex<usize>,
    settled: Mutex<usize>,
    published: Mutex<usize>,
    set_aside: Mutex<Vec<UnreadableChange>>,
}

#[async_trait]
impl Follows for Taken {
    async fn follow(&self, records: Vec<Record>, _: Timestamp) -> Vec<Result<Vec<Notification>>> {
        let follow = |(n, record): (usize, Record)| {
            if self.failing >> (n % 8) & 1 == 1 {
                *self.failed.lock() += 1;
                return Err(Error::Unavailable("throttled".to_owned()));
            }
            *self.followed.lock() += 1;
            assert!(record.check().is_ok(), "it was to be set aside: {record:?}");
            Ok(vec![Notification {
                id: record.id,
                kind: NotificationKind::DeliveryDelivered,
                tenant: TenantId::default(),
                at: record.at,
                data: json!({}),
            }])
        };
        records.into_iter().enumerate().map(follow).collect()
    }

    async fn settle(&self, records: &[Record], _: Timestamp) {
        *self.settled.lock() += records.len();
    }
}

#[async_trait]
impl Topic for Taken {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        *self.published.lock() += notifications.len();
        notifications.iter().map(|_| Ok(())).collect()
    }
}

#[async_trait]
impl SetsAside for Taken {
    async fn set_aside(&self, changes: &[UnreadableChange]) -> Result<()> {
        if self.is_down {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        self.set_aside.lock().extend(changes.iter().cloned());
        Ok(())
    }
}

/// The changes in an event, if it is clear which they are.
fn changes(event: &Value) -> Option<Vec<Value>> {
    let delivered = |event: &Value| super::records(event).cloned();
    delivered(event).or_else(|| {
        let payload = event.as_object()?.get("payload")?.as_str()?;
        delivered(&serde_json::from_str(payload).ok()?)
    })
}

fn sequence(change: &Value) -> &str {
    let sequence = change.pointer("/dynamodb/SequenceNumber");
    sequence.and_then(Value::as_str).unwrap_or_default()
}

/// # Panics
/// When a change is neither followed, nor set aside, nor reported.
pub(super) fn hand(event: &Event<'_>, trouble: Trouble) -> Outcome {
    let Some(event) = event.json(&SAMPLES) else {
        return Outcome::Nothing;
    };
    let about = format!("{trouble:?} {event}");
    let changes = changes(&event);
    let taken = Arc::new(Taken {
        is_down: trouble.is_down,
        failing: trouble.failing,
        ..Taken::default()
    });
    let publisher = Publisher::new(
        Arc::clone(&taken) as _,
        Arc::clone(&taken) as _,
        Arc::clone(&taken) as _,
        Arc::new(HurriedClock::default()),
        "test".to_owned(),
    );
    let runtime = Builder::new_current_thread().build().unwrap();
    let event = LambdaEvent::new(event, context());
    let handled = runtime.block_on(publisher.handle(event));
    let count = |number: &Mutex<usize>| *number.lock();
    let (followed, failed) = (count(&taken.followed), count(&taken.failed));
    let set_aside = taken.set_aside.lock();
    let Ok(response) = handled else {
        // Lambda delivers the whole batch again.
        let is_untouched = followed + failed + count(&taken.settled) + set_aside.len() == 0;
        assert!(is_untouched, "done in part: {about}");
        return Outcome::Rejected;
    };
    assert_eq!(count(&taken.published), followed, "published: {about}");
    let reported = response.batch_item_failures.iter();
    let reported =
        sorted(reported.map(|failure| failure.item_identifier.clone().unwrap_or_default()));
    let unreadable = reported.len() - failed;
    assert!(
        trouble.is_down || unreadable == 0,
        "it could be set aside: {about}"
    );
    if let Some(changes) = changes {
        let handled = followed + set_aside.len() + reported.len();
        assert_eq!(handled, changes.len(), "some are lost: {about}");
        let settled = changes.iter().map(sequence);
        let settled = settled
            .take_while(|it| !reported.iter().any(|one| one == it))
            .count();
        assert!(count(&taken.settled) <= settled, "they come again: {about}");
        let sequences = sorted(changes.iter().map(sequence));
        let is_known = |change: &UnreadableChange| {
            sequences
                .binary_search(&change.sequence_number.as_str())
                .is_ok()
        };
        assert!(set_aside.iter().all(is_known), "{about}");
    }
    if reported.is_empty() && set_aside.is_empty() {
        Outcome::Accepted
    } else {
        Outcome::Rejected
    }
}
