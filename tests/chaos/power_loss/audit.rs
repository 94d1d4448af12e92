//! Whether a directory that a power loss left still holds everything acknowledged.

use std::collections::BTreeSet;
use std::path::Path;

use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::ids::DeliveryId;
use rusqlite::Connection;

use super::acknowledgements::Acknowledged;

pub(super) enum Verdict {
    Sound,
    /// Something acknowledged is missing.
    Lost(String),
    /// A gateway does not start on it, or the database is damaged.
    Unusable(String),
}

/// Opens the directory as a gateway does, and looks for what was acknowledged.
pub(super) fn audit(data: &Path, acknowledged: &Acknowledged) -> Verdict {
    // Kept open: the last connection to close would copy the log.
    let _store = match SqliteStore::open(data, SqliteOptions::default()) {
        Ok(store) => store,
        Err(error) => return Verdict::Unusable(error.to_string()),
    };
    let database = Connection::open(data.join("postrider.db")).unwrap();
    match missing(&database, acknowledged) {
        Ok(None) => Verdict::Sound,
        Ok(Some(what)) => Verdict::Lost(what),
        Err(error) => Verdict::Unusable(error.to_string()),
    }
}

fn missing(database: &Connection, acknowledged: &Acknowledged) -> rusqlite::Result<Option<String>> {
    let check: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if check != "ok" {
        return Ok(Some(check));
    }
    let webhooks = texts(database, "SELECT id, '' FROM webhook_configs")?;
    let webhooks: BTreeSet<String> = webhooks.into_iter().map(|(id, _)| id).collect();
    if let Some(id) = acknowledged.webhooks.difference(&webhooks).next() {
        return Ok(Some(format!("webhook {id} is gone")));
    }
    let rows = texts(
        database,
        "SELECT e.event_id, d.webhook_id FROM webhook_deliveries AS d JOIN events AS e ON e.id = d.event",
    )?;
    let rows: BTreeSet<DeliveryId> = rows.into_iter().map(|row| delivery(&row)).collect();
    let gone = acknowledged.deliveries.difference(&rows).count();
    Ok((gone > 0).then(|| {
        let all = acknowledged.deliveries.len();
        format!("{gone} of {all} deliveries are gone")
    }))
}

fn texts(database: &Connection, query: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = database.prepare(query)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn delivery((event, webhook): &(String, String)) -> DeliveryId {
    DeliveryId {
        event: event.parse().unwrap(),
        webhook: webhook.parse().unwrap(),
    }
}
