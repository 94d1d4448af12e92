//! Kills the gateway under load repeatedly and checks against its own list that nothing acknowledged is lost.

mod auditor;
#[cfg(target_os = "linux")]
pub mod mixed;
pub mod power_loss;
mod publishers;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use postrider_domain::ids::DeliveryId;
use serde_json::{Value, json};

use crate::chaos::auditor::Auditor;
use crate::chaos::publishers::Publishers;
use crate::command::{PATIENCE, Serve};

/// The result of the crash loop.
#[derive(Debug, Default)]
pub struct Report {
    /// How often the gateway was killed.
    pub kills: usize,
    /// How many deliveries were acknowledged.
    pub acknowledged: usize,
    /// How many of those never arrived.
    pub lost: usize,
    /// How many requests arrived beyond the first of each delivery.
    pub duplicates: usize,
    /// How many attempts were in flight at the kills, according to the store.
    pub in_flight: usize,
    /// How many of the duplicates are of deliveries that were not in flight at a kill.
    pub unexplained: usize,
}

const SETTINGS: [(&str, &str); 2] = [
    ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32"),
    ("POSTRIDER_POLL_INTERVAL_MS", "200"),
];

/// How many of the last deliveries are read by id: they were closest to a kill.
const SETTLED: usize = 100;

/// Runs the loop: starts the gateway, publishes, kills it after a varying time, and finally starts it once more to deliver
/// the rest.
///
/// # Panics
/// When the gateway does not start, or does not finish its work within a minute of the last start.
pub async fn run(kills: usize) -> Report {
    let data = tempfile::tempdir().unwrap();
    let mut auditor = Auditor::start().await;
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let mut report = Report {
        kills,
        ..Report::default()
    };
    let mut webhook = None;
    let mut held = Vec::new();
    for round in 0..kills {
        let mut gateway = Serve::start_in(data.path(), &SETTINGS).await;
        if webhook.is_none() {
            webhook = Some(gateway.webhook(&auditor.url(), &retry()).await);
        }
        let publishers = Publishers::start(
            &gateway.url,
            webhook.as_deref().unwrap(),
            (round, 0),
            &acknowledged,
        );
        let life = Duration::from_millis(50 + 37 * (round as u64 % 11));
        let _ = tokio::time::timeout(life, std::future::pending::<()>()).await;
        gateway.kill().await;
        publishers.stop().await;
        held.extend(in_flight(data.path()));
        auditor.count();
    }
    let last = Serve::start_in(data.path(), &SETTINGS).await;
    let acknowledged = acknowledged.lock().clone();
    let all_arrived = auditor.saw_all(&acknowledged);
    // Count what is missing after the wait.
    let _ = tokio::time::timeout(PATIENCE, all_arrived).await;
    for delivery in acknowledged.iter().rev().take(SETTLED) {
        last.settled(delivery).await;
    }
    auditor.count();
    report.acknowledged = acknowledged.len();
    report.lost = auditor.missing(&acknowledged);
    report.duplicates = auditor.duplicates();
    report.in_flight = held.len();
    report.unexplained = auditor.unexplained(&held);
    report
}

/// No delivery dies during a test.
fn retry() -> Value {
    json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 100})
}

/// The deliveries that were held when the process died. Reads a copy: closing the database would copy the log into it, and
/// the gateway has to start on the log that the kill left.
fn in_flight(data: &Path) -> Vec<String> {
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("postrider.db");
    for suffix in ["", "-wal"] {
        let from = data.join(format!("postrider.db{suffix}"));
        let to = copy.path().join(format!("postrider.db{suffix}"));
        std::fs::copy(from, to).unwrap();
    }
    let database = rusqlite::Connection::open(file).unwrap();
    let held = "SELECT e.event_id, d.webhook_id FROM webhook_deliveries AS d \
                JOIN events AS e ON e.id = d.event WHERE d.lease_process IS NOT NULL";
    let mut held = database.prepare(held).unwrap();
    let rows = held.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let id = |row: rusqlite::Result<(String, String)>| {
        let (event, webhook) = row.unwrap();
        let (event, webhook) = (event.parse().unwrap(), webhook.parse().unwrap());
        DeliveryId { event, webhook }.to_string()
    };
    rows.unwrap().map(id).collect()
}
