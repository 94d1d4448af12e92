//! Batches of first records as Lambda delivers them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation panics with its location"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::history::{Cursor, Page};
use postrider_ports::limiters::Stored;
use postrider_ports::watch::{AcceptedRow, PeriodSweep, SweptRange, Watch};
use postrider_ports::{Error, Result};
use postrider_testkit::builders::{NOW, event, row, webhook_id};
use postrider_testkit::clock::SteppedClock;
use postrider_watcher::WatchFunction;
use serde_json::{Value, json};

/// The rows of a table, which are open until they are delivered.
#[derive(Default)]
struct Rows {
    delivered: Mutex<BTreeSet<DeliveryId>>,
    read: Mutex<usize>,
    given: Mutex<Vec<DeliveryId>>,
    is_down: Mutex<bool>,
}

#[async_trait]
impl Watch for Rows {
    async fn open_without_lane(&self, rows: Vec<AcceptedRow>) -> Result<Vec<Delivery>> {
        if *self.is_down.lock() {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        *self.read.lock() += rows.len();
        let open = |row: AcceptedRow| {
            let tenant = TenantId::default();
            let mut stored = builders_row(&tenant, row.created_at);
            stored.id = row.id;
            (!self.delivered.lock().contains(&row.id)).then_some(stored)
        };
        Ok(rows.into_iter().filter_map(open).collect())
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
        Err(Error::Broken("the watcher sweeps nothing".to_owned()))
    }

    async fn sweep(&self) -> Result<Option<PeriodSweep>> {
        Err(Error::Broken("the watcher sweeps nothing".to_owned()))
    }

    async fn begin_sweep(&self, _: &PeriodSweep) -> Result<()> {
        Err(Error::Broken("the watcher sweeps nothing".to_owned()))
    }

    async fn store_sweep(&self, _: &PeriodSweep) -> Result<Stored> {
        Err(Error::Broken("the watcher sweeps nothing".to_owned()))
    }
}

fn builders_row(tenant: &TenantId, at: Timestamp) -> Delivery {
    row(&event(tenant, 1, at), webhook_id(1))
}

struct Stage {
    rows: Arc<Rows>,
    clock: Arc<SteppedClock>,
    function: WatchFunction,
}

impl Stage {
    fn set() -> Self {
        let (rows, clock) = (Arc::new(Rows::default()), Arc::new(SteppedClock::at(NOW)));
        let function = WatchFunction::new(
            Arc::clone(&rows) as _,
            Arc::clone(&clock) as _,
            "test".to_owned(),
        );
        Self {
            rows,
            clock,
            function,
        }
    }

    async fn handle(&self, records: Vec<Value>) -> std::result::Result<Value, String> {
        let event = LambdaEvent::new(json!({ "Records": records }), Context::default());
        let handled = self.function.handle(event).await;
        handled.map_err(|error| error.to_string())
    }
}

fn id(n: u32) -> DeliveryId {
    row(&event(&TenantId::default(), n, NOW), webhook_id(1)).id
}

/// The record of a row that was accepted at `at`.
fn accepted(n: u32, at: Timestamp) -> Value {
    let mut record: Value =
        serde_json::from_str(include_str!("../../../infra/events/watcher.json")).unwrap();
    let mut record = record["Records"][0].take();
    let key = id(n);
    for image in ["Keys", "NewImage"] {
        record["dynamodb"][image]["pk"]["S"] = json!(format!("default#{}", key.event));
        record["dynamodb"][image]["sk"]["S"] = json!(format!("delivery#{}", key.webhook));
    }
    record["dynamodb"]["NewImage"]["created_at"]["N"] = json!(at.as_millis().to_string());
    record
}

fn ago(seconds: u64) -> Timestamp {
    NOW.minus(Millis::from_seconds(seconds))
}

#[tokio::test]
async fn a_row_that_is_still_open_gets_a_lane_and_one_that_is_delivered_does_not() {
    let stage = Stage::set();
    stage.rows.delivered.lock().insert(id(1));
    let records = vec![accepted(1, ago(60)), accepted(2, ago(60))];
    let answer = stage.handle(records).await;
    assert_eq!(answer, Ok(json!({"rows": 2, "recovered": 1})));
    assert_eq!(*stage.rows.given.lock(), [id(2)]);
}

#[tokio::test]
async fn what_is_not_a_fresh_row_without_a_lane_is_not_read() {
    let stage = Stage::set();
    let change = |path: &str, value: Value| {
        let mut record = accepted(1, ago(60));
        record["dynamodb"]["NewImage"][path] = value;
        record
    };
    let mut event = accepted(1, ago(60));
    event["dynamodb"]["NewImage"]["sk"]["S"] = json!("event");
    let mut removed = accepted(1, ago(60));
    removed["dynamodb"]
        .as_object_mut()
        .unwrap()
        .remove("NewImage");
    let records = vec![
        change("lane", json!({"S": "queued#03"})),
        change("version", json!({"N": "1"})),
        change("status", json!({"S": "delivered"})),
        event,
        removed,
    ];
    let answer = stage.handle(records).await;
    assert_eq!(answer, Ok(json!({"rows": 0, "recovered": 0})));
    assert_eq!(*stage.rows.read.lock(), 0);
}

#[tokio::test]
async fn an_unreadable_record_holds_up_no_other() {
    let stage = Stage::set();
    let mut nameless = accepted(1, ago(60));
    nameless["dynamodb"]["NewImage"]["sk"]["S"] = json!("delivery#nonsense");
    let records = vec![json!({"nonsense": true}), nameless, accepted(2, ago(60))];
    stage.handle(records).await.unwrap();
    assert_eq!(*stage.rows.given.lock(), [id(2)]);
}

#[tokio::test]
async fn a_batch_that_cannot_be_checked_comes_again_whole() {
    let stage = Stage::set();
    *stage.rows.is_down.lock() = true;
    let records = vec![accepted(1, ago(60)), accepted(2, ago(60))];
    assert!(stage.handle(records.clone()).await.is_err());
    *stage.rows.is_down.lock() = false;
    let answer = stage.handle(records).await;
    assert_eq!(answer, Ok(json!({"rows": 2, "recovered": 2})));
}

#[tokio::test]
async fn many_rows_that_were_accepted_just_now_are_waited_for() {
    let stage = Stage::set();
    let records = (1..=10).map(|n| accepted(n, ago(60 - u64::from(n) * 5)));
    let handling = stage.handle(records.collect());
    let wait = async {
        // The youngest is ten seconds old.
        let until = NOW.plus(Millis::from_seconds(10));
        stage.clock.wait_for_sleeper(until).await;
        stage.rows.delivered.lock().extend([id(9), id(10)]);
        stage.clock.set(until);
    };
    let (answer, ()) = tokio::join!(handling, wait);
    assert_eq!(answer, Ok(json!({"rows": 10, "recovered": 8})));
    assert_eq!(*stage.rows.read.lock(), 12, "the young ones twice");
}

#[tokio::test]
async fn a_few_young_rows_are_not_waited_for() {
    let stage = Stage::set();
    let old = (1..=10).map(|n| accepted(n, ago(60)));
    stage.rows.delivered.lock().extend((1..=10).map(id));
    let records = old.chain([accepted(11, ago(1))]);
    let answer = stage.handle(records.collect()).await;
    assert_eq!(answer, Ok(json!({"rows": 11, "recovered": 1})));
}

/// A clock that ran ahead dated it.
#[tokio::test]
async fn a_row_from_the_future_is_waited_for_no_longer_than_others() {
    let stage = Stage::set();
    let records = vec![accepted(1, NOW.plus(Millis::from_seconds(86_400)))];
    let until = stage.clock.now().plus(Millis::from_seconds(20));
    let wait = async {
        stage.clock.wait_for_sleeper(until).await;
        stage.clock.set(until);
    };
    let (answer, ()) = tokio::join!(stage.handle(records), wait);
    assert_eq!(answer, Ok(json!({"rows": 1, "recovered": 1})));
}
