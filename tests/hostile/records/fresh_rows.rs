//! First records of rows, as the watcher gets them.

use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::LambdaEvent;
use parking_lot::Mutex;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::history::{Cursor, Page};
use postrider_ports::limiters::Stored;
use postrider_ports::watch::{AcceptedRow, PeriodSweep, SweptRange, Watch};
use postrider_ports::{Error, Result};
use postrider_testkit::builders::{NOW, event, row, webhook_id};
use postrider_watcher::WatchFunction;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::clock::{HurriedClock, context};
use super::{Event, Trouble};
use crate::hostile::Outcome;

const SAMPLE: &str = include_str!("../../../infra/events/watcher.json");

/// Rows that stay open.
#[derive(Default)]
struct Rows {
    is_down: bool,
    given: Mutex<Vec<DeliveryId>>,
}

fn not_swept<T>() -> Result<T> {
    Err(Error::Broken("the watcher sweeps nothing".to_owned()))
}

#[async_trait]
impl Watch for Rows {
    async fn open_without_lane(&self, rows: Vec<AcceptedRow>) -> Result<Vec<Delivery>> {
        if self.is_down {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        let open = |accepted: AcceptedRow| Delivery {
            id: accepted.id,
            tenant: accepted.tenant,
            created_at: accepted.created_at,
            ..intact()
        };
        Ok(rows.into_iter().map(open).collect())
    }

    async fn give_lanes(&self, rows: Vec<Delivery>, _: Timestamp) -> Result<usize> {
        self.given.lock().extend(rows.iter().map(|row| row.id));
        Ok(rows.len())
    }

    async fn accepted_between(
        &self,
        _: &SweptRange,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page<AcceptedRow>> {
        not_swept()
    }

    async fn sweep(&self) -> Result<Option<PeriodSweep>> {
        not_swept()
    }

    async fn begin_sweep(&self, _: &PeriodSweep) -> Result<()> {
        not_swept()
    }

    async fn store_sweep(&self, _: &PeriodSweep) -> Result<Stored> {
        not_swept()
    }
}

/// The row whose record nothing is wrong with.
fn intact() -> Delivery {
    row(&event(&TenantId::default(), 1, NOW), webhook_id(1))
}

/// Its record.
fn record() -> Value {
    let mut sample: Value = serde_json::from_str(SAMPLE).unwrap();
    let mut record = sample["Records"][0].take();
    let id = intact().id;
    for image in ["Keys", "NewImage"] {
        record["dynamodb"][image]["pk"]["S"] = json!(format!("default#{}", id.event));
        record["dynamodb"][image]["sk"]["S"] = json!(format!("delivery#{}", id.webhook));
    }
    record
}

/// # Panics
/// When a record that cannot be read keeps a row from being watched, or a failure is not reported.
pub(super) fn hand(event: &Event<'_>, trouble: Trouble) -> Outcome {
    let Some(mut event) = event.json(&[SAMPLE]) else {
        return Outcome::Nothing;
    };
    let is_batch = super::records(&event).is_some();
    if is_batch {
        event["Records"].as_array_mut().unwrap().push(record());
    }
    let about = format!("{trouble:?} {event}");
    let rows = Arc::new(Rows {
        is_down: trouble.is_down,
        ..Rows::default()
    });
    let clock = Arc::new(HurriedClock::default());
    let function = WatchFunction::new(Arc::clone(&rows) as _, clock, "test".to_owned());
    let runtime = Builder::new_current_thread().build().unwrap();
    let event = LambdaEvent::new(event, context());
    let handled = runtime.block_on(function.handle(event));
    if is_batch {
        assert_eq!(handled.is_err(), trouble.is_down, "{about}");
    }
    let Ok(handled) = handled else {
        assert!(rows.given.lock().is_empty(), "done in part: {about}");
        return Outcome::Rejected;
    };
    let given = rows.given.lock();
    assert_eq!(handled["recovered"], given.len(), "{about}");
    let is_watched = given.contains(&intact().id);
    assert_eq!(is_watched, is_batch, "the row after it: {about}");
    Outcome::Accepted
}
