//! What outlives a process: the file, the clock, and what the audit reads of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use postrider_adapter_local::SqliteStore;
use postrider_domain::ids::DeliveryId;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use super::Service;
use crate::audit::{EVENT_EXPIRED, Row};
use crate::clock::ProcessClock;

/// A file system in memory: a sync takes no time there.
const MEMORY: &str = "/dev/shm";

const PENDING_EMAIL: &str = "SELECT count(*) FROM letters WHERE due_at IS NOT NULL";

/// The id of a delivery, and its row before and after a change.
pub(super) type RowChange = (String, Option<Row>, Option<Row>);

pub(crate) struct Machine {
    folder: TempDir,
    clock: Arc<ProcessClock>,
    /// Carries out the calls of the store, which has threads of its own. One call at a time, so that the order is the seed's.
    runtime: Mutex<Runtime>,
    service: Mutex<Option<Service>>,
    ended: Notify,
    /// Until when it is switched off.
    off_until_ms: AtomicI64,
    store: Mutex<Weak<SqliteStore>>,
    rows: Mutex<BTreeMap<String, Row>>,
    /// The audit's own connection.
    reader: Mutex<Option<Connection>>,
}

impl Machine {
    pub(crate) fn new(clock: Arc<ProcessClock>) -> Self {
        let folder = if Path::new(MEMORY).is_dir() {
            tempfile::tempdir_in(MEMORY)
        } else {
            tempfile::tempdir()
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        Self {
            folder: folder.unwrap(),
            clock,
            runtime: Mutex::new(runtime.unwrap()),
            service: Mutex::default(),
            ended: Notify::new(),
            off_until_ms: AtomicI64::new(0),
            store: Mutex::default(),
            rows: Mutex::default(),
            reader: Mutex::default(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) const fn clock(&self) -> &Arc<ProcessClock> {
        &self.clock
    }

    pub(super) fn service(&self) -> Option<Service> {
        self.service.lock().clone()
    }

    pub(super) fn is_running(&self) -> bool {
        self.service.lock().is_some()
    }

    pub(super) fn begin(&self, service: Service) {
        *self.service.lock() = Some(service);
    }

    pub(crate) fn end(&self) {
        let ended = self.service.lock().take();
        drop(ended);
        self.ended.notify_one();
    }

    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    pub(super) fn switch_off(&self, until_ms: i64) {
        self.off_until_ms.store(until_ms, Ordering::Relaxed);
    }

    /// For how long it is switched off.
    pub(super) fn off_for_ms(&self, now_ms: i64) -> i64 {
        (self.off_until_ms.load(Ordering::Relaxed) - now_ms).max(0)
    }

    pub(super) fn opened(&self, store: &Arc<SqliteStore>) {
        *self.store.lock() = Arc::downgrade(store);
        let file = self.folder().join("postrider.db");
        let reader = Connection::open(file).unwrap();
        *self.reader.lock() = Some(reader);
    }

    /// A process that is gone holds no lock. Otherwise its rows would stay held.
    pub(super) fn expect_closed(&self) {
        let left = self.store.lock().strong_count();
        assert_eq!(left, 0, "a dead process still holds its store");
    }

    pub(super) fn carry_out<T>(&self, effect: impl Future<Output = T>) -> T {
        self.runtime.lock().block_on(effect)
    }

    /// A bug on purpose: rows are free although a process attempts them.
    pub(super) fn forget_claims(&self) {
        self.with(|db| {
            let free = "UPDATE webhook_deliveries SET lease_process = NULL, lease_claim = NULL, lease_until = 0 \
                        WHERE lease_process IS NOT NULL";
            db.execute(free, []).unwrap();
        });
    }

    fn with<T>(&self, read: impl FnOnce(&Connection) -> T) -> T {
        read(self.reader.lock().as_ref().expect("it has begun"))
    }

    fn rows(&self) -> BTreeMap<String, Row> {
        let query = "SELECT e.event_id, d.webhook_id, d.status, d.attempts_total, d.version, d.created_at, \
                     d.last_attempted_at, d.next_retry_at, d.dead_cause \
                     FROM webhook_deliveries AS d JOIN events AS e ON e.id = d.event";
        self.with(|db| {
            let mut statement = db.prepare_cached(query).unwrap();
            let rows = statement.query_map([], |row| {
                let (status, attempts): (String, i64) = (row.get(2)?, row.get(3)?);
                let version: i64 = row.get(4)?;
                let (created_ms, attempted_ms): (i64, Option<i64>) = (row.get(5)?, row.get(6)?);
                let (due_ms, cause): (Option<i64>, Option<String>) = (row.get(7)?, row.get(8)?);
                let found = Row {
                    status: status.parse().unwrap(),
                    has_lane: true,
                    in_backlog: false,
                    attempts: usize::try_from(attempts).unwrap(),
                    version: version.cast_unsigned(),
                    created_ms,
                    touched_ms: created_ms.max(attempted_ms.unwrap_or(created_ms)),
                    due_ms: due_ms.unwrap_or_default(),
                    has_lost_event: cause.as_deref() == Some(EVENT_EXPIRED),
                };
                Ok((
                    id(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?),
                    found,
                ))
            });
            rows.unwrap().map(Result::unwrap).collect()
        })
    }

    /// The rows that have changed since the last call.
    pub(super) fn take_changes(&self) -> Vec<RowChange> {
        let after = self.rows();
        let before = std::mem::replace(&mut *self.rows.lock(), after.clone());
        let ids: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let change = |id: &&String| (before.get(*id).copied(), after.get(*id).copied());
        let changed = ids.into_iter().filter_map(|id| {
            let (before, after) = change(&id);
            (before != after).then(|| (id.clone(), before, after))
        });
        changed.collect()
    }

    /// The deliveries that a process holds.
    pub(crate) fn held(&self) -> Vec<String> {
        self.ids("WHERE d.lease_process IS NOT NULL")
    }

    fn ids(&self, condition: &str) -> Vec<String> {
        let query = format!(
            "SELECT e.event_id, d.webhook_id FROM webhook_deliveries AS d JOIN events AS e ON e.id = d.event {condition}"
        );
        self.with(|db| {
            let mut statement = db.prepare_cached(&query).unwrap();
            let ids = statement.query_map([], |row| {
                Ok(id(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?))
            });
            ids.unwrap().map(Result::unwrap).collect()
        })
    }

    fn number(&self, query: &str) -> usize {
        let number: i64 = self.with(|db| db.query_row(query, [], |row| row.get(0)).unwrap());
        usize::try_from(number).unwrap()
    }

    /// Open rows, but for those of a webhook that is stopped, and e-mails that are not sent.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let open = "WHERE d.status IN ('pending', 'failed') AND NOT EXISTS (SELECT 1 FROM webhook_configs AS w \
                    WHERE w.tenant = d.tenant AND w.id = d.webhook_id AND w.status <> 'active')";
        let mut unfinished = self.ids(open);
        let emails = self.number(PENDING_EMAIL);
        if emails > 0 {
            unfinished.push(format!("{emails} e-mails"));
        }
        unfinished
    }

    pub(super) fn has_pending_email(&self) -> bool {
        self.number(PENDING_EMAIL) > 0
    }

    /// All rows as they are stored.
    pub(crate) fn stored(&self) -> BTreeMap<String, Row> {
        self.rows()
    }

    /// What is stored of events and deliveries, by table.
    pub(crate) fn left(&self) -> Vec<String> {
        let tables = ["events", "webhook_deliveries", "attempts"];
        let counts =
            tables.map(|table| (table, self.number(&format!("SELECT count(*) FROM {table}"))));
        let left = counts.into_iter().filter(|(_, count)| *count > 0);
        left.map(|(table, count)| format!("{count} in {table}"))
            .collect()
    }

    /// The sums of counted and of stored attempts.
    pub(crate) fn attempts(&self) -> (usize, usize) {
        (
            self.number("SELECT coalesce(sum(attempts), 0) FROM stats"),
            self.number("SELECT coalesce(sum(attempts_total), 0) FROM webhook_deliveries"),
        )
    }

    /// The data of every stored notification that a webhook failed.
    pub(crate) fn failed_webhooks(&self) -> Vec<Value> {
        self.notified("webhook.failed")
    }

    /// The data of every stored notification that a delivery is dead.
    pub(crate) fn dead_deliveries(&self) -> Vec<Value> {
        self.notified("delivery.dead")
    }

    fn notified(&self, kind: &str) -> Vec<Value> {
        self.with(|db| {
            let mut statement = db
                .prepare_cached("SELECT event FROM outbox WHERE kind = ?1")
                .unwrap();
            let events = statement.query_map([kind], |row| row.get::<_, String>(0));
            let data = |event: rusqlite::Result<String>| {
                let event: Value = serde_json::from_str(&event.unwrap()).unwrap();
                event["data"].clone()
            };
            events.unwrap().map(data).collect()
        })
    }
}

fn id(event: &str, webhook: &str) -> String {
    let id = DeliveryId {
        event: event.parse().unwrap(),
        webhook: webhook.parse().unwrap(),
    };
    id.to_string()
}
