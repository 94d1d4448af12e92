//! What a gateway has stored, read from its file.

use std::collections::BTreeMap;
use std::path::Path;

use postrider_domain::ids::DeliveryId;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// A stored delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) webhook: String,
    pub(super) status: String,
    pub(super) attempts: usize,
    /// How many attempts are listed one by one.
    pub(super) listed: usize,
}

/// The counters of a webhook, over all hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) attempts: usize,
    pub(super) delivered: usize,
    pub(super) dead: usize,
}

/// Everything that is audited.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) counters: BTreeMap<String, Counters>,
    /// The type of each notification, and the delivery that it is about.
    pub(super) notifications: Vec<(String, Option<String>)>,
    /// E-mails in the outbox that are done with.
    pub(super) settled_emails: usize,
    pub(super) pending_emails: usize,
    pub(super) orphans: usize,
    pub(super) is_sound: bool,
}

/// What has to happen before a gateway is at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub(super) open: usize,
    pub(super) dead: usize,
    pub(super) emails: usize,
    pub(super) all: usize,
}

fn open(file: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(file, flags).unwrap();
    database
        .busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    database
}

fn count(database: &Connection, query: &str) -> usize {
    let count: i64 = database.query_row(query, [], |row| row.get(0)).unwrap();
    usize::try_from(count).unwrap()
}

fn id(event: &str, webhook: &str) -> String {
    let id = DeliveryId {
        event: event.parse().unwrap(),
        webhook: webhook.parse().unwrap(),
    };
    id.to_string()
}

/// Reads the file of a running gateway.
pub(super) fn unfinished(data: &Path) -> Unfinished {
    let database = open(&data.join("postrider.db"));
    let rows = "SELECT count(*) FROM webhook_deliveries";
    Unfinished {
        open: count(
            &database,
            &format!("{rows} WHERE status IN ('pending', 'failed')"),
        ),
        dead: count(&database, &format!("{rows} WHERE status = 'dead'")),
        emails: count(
            &database,
            "SELECT count(*) FROM letters WHERE due_at IS NOT NULL",
        ),
        all: count(&database, rows),
    }
}

/// Reads a database, or a backup of one.
pub(super) fn read(file: &Path) -> Stored {
    let database = open(file);
    let check: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    Stored {
        rows: rows(&database),
        counters: counters(&database),
        notifications: notifications(&database),
        settled_emails: count(
            &database,
            "SELECT count(*) FROM letters WHERE due_at IS NULL",
        ),
        pending_emails: count(
            &database,
            "SELECT count(*) FROM letters WHERE due_at IS NOT NULL",
        ),
        orphans: orphans(&database),
        is_sound: check == "ok",
    }
}

fn rows(database: &Connection) -> BTreeMap<String, Row> {
    let query = "SELECT e.event_id, d.webhook_id, d.status, d.attempts_total, \
         (SELECT count(*) FROM attempts AS a WHERE a.delivery = d.id) + (d.first_attempt IS NOT NULL) \
         FROM webhook_deliveries AS d JOIN events AS e ON e.id = d.event";
    let mut statement = database.prepare(query).unwrap();
    let rows = statement.query_map([], |row| {
        let (event, webhook): (String, String) = (row.get(0)?, row.get(1)?);
        let (attempts, listed): (i64, i64) = (row.get(3)?, row.get(4)?);
        let found = Row {
            status: row.get(2)?,
            attempts: usize::try_from(attempts).unwrap(),
            listed: usize::try_from(listed).unwrap(),
            webhook: webhook.clone(),
        };
        Ok((id(&event, &webhook), found))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn counters(database: &Connection) -> BTreeMap<String, Counters> {
    let query = "SELECT webhook_id, sum(attempts), sum(delivered), sum(dead) FROM stats GROUP BY webhook_id";
    let mut statement = database.prepare(query).unwrap();
    let counters = statement.query_map([], |row| {
        let number = |index| {
            row.get(index)
                .map(|number: i64| usize::try_from(number).unwrap())
        };
        let counters = Counters {
            attempts: number(1)?,
            delivered: number(2)?,
            dead: number(3)?,
        };
        Ok((row.get(0)?, counters))
    });
    counters.unwrap().map(Result::unwrap).collect()
}

/// A notification is stored as JSON, or only as the facts about a delivered row, its id first.
fn notifications(database: &Connection) -> Vec<(String, Option<String>)> {
    let mut statement = database
        .prepare("SELECT kind, event FROM outbox WHERE tenant <> '' ORDER BY seq")
        .unwrap();
    let all = statement.query_map([], |row| {
        let (kind, event): (String, String) = (row.get(0)?, row.get(1)?);
        let delivery = if event.starts_with('{') {
            let event: Value = serde_json::from_str(&event).unwrap();
            let delivery = event["data"]["webhook_delivery_id"].as_str();
            delivery.map(ToOwned::to_owned)
        } else {
            event.split(' ').next().map(ToOwned::to_owned)
        };
        Ok((kind, delivery))
    });
    all.unwrap().map(Result::unwrap).collect()
}

/// Rows that belong to nothing.
fn orphans(database: &Connection) -> usize {
    let attempts =
        "SELECT count(*) FROM attempts WHERE delivery NOT IN (SELECT id FROM webhook_deliveries)";
    let deliveries =
        "SELECT count(*) FROM webhook_deliveries WHERE event NOT IN (SELECT id FROM events)";
    count(database, attempts) + count(database, deliveries)
}
