//! Brings a database file to this version's schema.

use postrider_ports::Error;
use rusqlite::Connection;

use super::fault::Fault;

/// Each entry brings the schema from its index to the next version. Entries are never changed, only added.
const STEPS: [&str; 17] = [
    include_str!("schema.sql"),
    include_str!("sources.sql"),
    include_str!("refused.sql"),
    include_str!("mail.sql"),
    include_str!("pace.sql"),
    include_str!("again.sql"),
    include_str!("typed_failures.sql"),
    include_str!("flow.sql"),
    include_str!("turns.sql"),
    include_str!("free_rows.sql"),
    include_str!("sessions.sql"),
    include_str!("lean.sql"),
    include_str!("tenant_records.sql"),
    include_str!("portal_links.sql"),
    include_str!("catalogue.sql"),
    include_str!("usage.sql"),
    include_str!("erasures.sql"),
];

/// The schema version that this program writes.
fn latest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Whether the file already has the current schema, so that opening it writes nothing.
///
/// # Errors
/// If the file was written by a newer version, or is not a Postrider database.
pub(crate) fn is_current(db: &Connection) -> Result<bool, Fault> {
    let found = version(db)?;
    if found > latest() {
        return Err(unusable(format!(
            "the database was written by a newer version of Postrider (schema {found}; this version supports up to {}); \
             update the program",
            latest()
        )));
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if found <= 0 && tables > 0 {
        return Err(unusable(
            "the file is an SQLite database, but not one that Postrider created".to_owned(),
        ));
    }
    Ok(found == latest())
}

/// Runs the missing steps, in the caller's write transaction.
pub(super) fn bring_up_to_date(db: &Connection) -> Result<(), Fault> {
    let done = usize::try_from(version(db)?).unwrap_or(0);
    for step in STEPS.iter().skip(done) {
        db.execute_batch(step)?;
    }
    db.pragma_update(None, "user_version", latest())?;
    Ok(())
}

fn version(db: &Connection) -> Result<i64, Fault> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn unusable(why: String) -> Fault {
    Fault::Port(Error::Broken(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_gets_the_schema_once() {
        let db = Connection::open_in_memory().unwrap();
        assert!(!is_current(&db).unwrap());
        bring_up_to_date(&db).unwrap();
        assert!(is_current(&db).unwrap());
        bring_up_to_date(&db).unwrap();
    }

    #[test]
    fn an_older_file_keeps_what_it_holds() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(STEPS[0]).unwrap();
        db.pragma_update(None, "user_version", 1).unwrap();
        db.execute("INSERT INTO tenants VALUES ('default', 7)", [])
            .unwrap();
        assert!(!is_current(&db).unwrap());
        bring_up_to_date(&db).unwrap();
        assert!(is_current(&db).unwrap());
        let version = "SELECT config_version FROM tenants";
        let version: i64 = db.query_row(version, [], |row| row.get(0)).unwrap();
        assert_eq!(version, 7);
        db.prepare("SELECT * FROM sources").unwrap();
        db.prepare("SELECT * FROM refused").unwrap();
    }

    /// Earlier versions marked the rows of stopped webhooks, and freed them when the webhook was resumed.
    #[test]
    fn rows_that_an_older_version_had_parked_are_due() {
        let db = Connection::open_in_memory().unwrap();
        for step in &STEPS[..7] {
            db.execute_batch(step).unwrap();
        }
        db.pragma_update(None, "user_version", 7).unwrap();
        let event = "INSERT INTO events VALUES (1, 'evt_1', 'default', 't', NULL, 'text/plain', 'api', x'00', 5, x'00')";
        db.execute(event, []).unwrap();
        let parked = "INSERT INTO webhook_deliveries (webhook_id, target_url, signature, status, attempt_count, \
                      next_retry_at, created_at, tenant, event, event_id, event_type, attempts_total, max_attempts, \
                      generation, paced, parked, version, lease_until) \
                      VALUES ('wh_1', '', '', 'pending', 0, 5, 5, 'default', 1, 'evt_1', 't', 0, 5, 0, 0, 1, 1, 0)";
        db.execute(parked, []).unwrap();
        bring_up_to_date(&db).unwrap();
        let due = "SELECT count(*) FROM webhook_deliveries WHERE wake_at = 5";
        let due: i64 = db.query_row(due, [], |row| row.get(0)).unwrap();
        assert_eq!(due, 1);
    }

    /// A file of the version before the columns `parked` and `paced` were dropped.
    fn before_free_rows() -> Connection {
        let db = Connection::open_in_memory().unwrap();
        for step in &STEPS[..9] {
            db.execute_batch(step).unwrap();
        }
        db.pragma_update(None, "user_version", 9).unwrap();
        db
    }

    /// Inserts rows, `n` from 1, of the given status, attempts, due time and holder.
    fn insert(db: &Connection, count: u32, row: [&str; 5]) {
        let [webhook, status, attempts, due_at, holder] = row;
        let counted = format!(
            "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {count})"
        );
        let last = "(SELECT coalesce(max(id), 0) FROM events)";
        let event = format!(
            "{counted} INSERT INTO events SELECT {last} + n, 'evt_' || ({last} + n), 'default', 't', NULL, \
             'text/plain', 'api', x'00', 5, x'00' FROM counted"
        );
        let rows = format!(
            "INSERT INTO webhook_deliveries (webhook_id, target_url, signature, status, attempt_count, next_retry_at, \
             created_at, tenant, event, event_id, event_type, attempts_total, max_attempts, generation, paced, parked, \
             version, lease_process, lease_until, last_status) SELECT '{webhook}', '', '', '{status}', {attempts}, \
             {due_at}, 5, 'default', id, event_id, 't', {attempts}, 5, 0, 0, 0, 1, {holder}, 0, 503 FROM events \
             WHERE id NOT IN (SELECT event FROM webhook_deliveries)"
        );
        db.execute(&event, []).unwrap();
        assert_eq!(db.execute(&rows, []), Ok(count as usize));
    }

    fn count(db: &Connection, what: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {what}");
        db.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn dropping_columns_keeps_rows_of_every_state() {
        let db = before_free_rows();
        for row in [
            ["wh_1", "pending", "0", "7", "NULL"],
            ["wh_1", "failed", "2", "8", "NULL"],
            ["wh_1", "pending", "0", "9", "'p'"],
            ["wh_1", "delivered", "1", "NULL", "NULL"],
            ["wh_1", "dead", "5", "NULL", "NULL"],
        ] {
            insert(&db, 1, row);
        }
        db.execute(
            "INSERT INTO attempts (delivery, version, number, at, total_ms) VALUES (2, 1, 1, 5, 5)",
            [],
        )
        .unwrap();
        bring_up_to_date(&db).unwrap();
        let all = "SELECT status, attempts_total, next_retry_at, lease_process, last_status, wake_at \
                   FROM webhook_deliveries ORDER BY id";
        let mut statement = db.prepare(all).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, Option<i64>>(2)?,
                row.get::<_, Option<String>>(3)?,
                row.get::<_, i64>(4)?,
                row.get::<_, Option<i64>>(5)?,
            ))
        });
        let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
        let row = |status: &str, attempts, due_at, holder: Option<&str>, wake_at| {
            let holder = holder.map(str::to_owned);
            (status.to_owned(), attempts, due_at, holder, 503, wake_at)
        };
        assert_eq!(
            rows,
            [
                row("pending", 0, Some(7), None, Some(7)),
                row("failed", 2, Some(8), None, Some(8)),
                row("pending", 0, Some(9), Some("p"), None),
                row("delivered", 1, None, None, None),
                row("dead", 5, None, None, None),
            ]
        );
        assert_eq!(count(&db, "attempts"), 1);
        assert_eq!(count(&db, "webhook_deliveries_with_payload"), 5);
        assert_eq!(
            count(
                &db,
                "pragma_table_info('webhook_deliveries') WHERE name IN ('parked', 'paced')"
            ),
            0
        );
        let found: String = db
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(found, "ok");
    }

    #[test]
    fn deleted_webhooks_with_open_rows_are_found_once() {
        let db = before_free_rows();
        let config = "INSERT INTO webhook_configs (tenant, id, status, failure_count, generation, created_at, updated_at, \
                      settings, sealed) VALUES ('default', 'wh_1', 'active', 0, 0, 5, 5, '{}', x'00')";
        db.execute(config, []).unwrap();
        for webhook in ["wh_1", "wh_2", "wh_3"] {
            insert(&db, 2, [webhook, "pending", "0", "7", "NULL"]);
        }
        insert(&db, 1, ["wh_4", "dead", "5", "NULL", "NULL"]);
        bring_up_to_date(&db).unwrap();
        assert_eq!(count(&db, "deleted_webhooks"), 2);
        let is_there = "deleted_webhooks WHERE webhook_id IN ('wh_2', 'wh_3')";
        assert_eq!(count(&db, is_there), 2);
    }

    /// A file of the version before notifications were stored without AUTOINCREMENT, with this many notifications.
    fn before_lean(notifications: u32) -> Connection {
        let db = Connection::open_in_memory().unwrap();
        for step in &STEPS[..11] {
            db.execute_batch(step).unwrap();
        }
        db.pragma_update(None, "user_version", 11).unwrap();
        for _ in 0..notifications {
            let add =
                "INSERT INTO outbox (tenant, kind, at, event) VALUES ('default', 'k', 5, '{}')";
            db.execute(add, []).unwrap();
        }
        db
    }

    #[test]
    fn notifications_keep_their_numbers_and_the_next_one_follows() {
        for (kept, deleted) in [(2, "seq = 1"), (0, "seq > 0"), (2, "seq = 3")] {
            let db = before_lean(3);
            let delete = format!("DELETE FROM outbox WHERE {deleted}");
            db.execute(&delete, []).unwrap();
            bring_up_to_date(&db).unwrap();
            let of_tenant = count(&db, "outbox WHERE tenant = 'default'");
            assert_eq!(of_tenant, kept, "{deleted}");
            let add =
                "INSERT INTO outbox (tenant, kind, at, event) VALUES ('default', 'k', 6, '{}')";
            db.execute(add, []).unwrap();
            assert_eq!(db.last_insert_rowid(), 4, "{deleted}");
            let second: i64 = count(&db, "outbox WHERE seq = 2 AND tenant = 'default'");
            assert_eq!(second, i64::from(kept > 0), "{deleted}");
        }
        let db = before_lean(0);
        bring_up_to_date(&db).unwrap();
        assert_eq!(count(&db, "outbox"), 0);
    }

    #[test]
    fn attempts_that_an_older_version_stored_are_still_there() {
        let db = before_free_rows();
        insert(&db, 1, ["wh_1", "delivered", "1", "NULL", "NULL"]);
        let attempt = "INSERT INTO attempts (delivery, version, number, at, status_code, total_ms) \
                       VALUES (1, 1, 1, 5, 200, 7)";
        db.execute(attempt, []).unwrap();
        bring_up_to_date(&db).unwrap();
        let attempts = super::super::apply::attempts(&db, 1).unwrap();
        assert_eq!(attempts.len(), 1);
        assert_eq!(attempts[0].timings.total_ms, 7);
    }

    #[test]
    fn a_file_of_a_hundred_thousand_rows_is_migrated() {
        let db = before_free_rows();
        insert(&db, 50_000, ["wh_1", "pending", "0", "7", "NULL"]);
        insert(&db, 50_000, ["wh_2", "delivered", "1", "NULL", "NULL"]);
        bring_up_to_date(&db).unwrap();
        assert_eq!(count(&db, "webhook_deliveries WHERE wake_at = 7"), 50_000);
        assert_eq!(count(&db, "webhook_deliveries"), 100_000);
    }

    #[test]
    fn a_newer_file_is_rejected() {
        let db = Connection::open_in_memory().unwrap();
        bring_up_to_date(&db).unwrap();
        db.pragma_update(None, "user_version", latest() + 1)
            .unwrap();
        let message = Error::from(is_current(&db).unwrap_err()).to_string();
        assert!(message.contains("newer version of Postrider"), "{message}");
    }

    #[test]
    fn the_database_of_another_program_is_rejected() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE cats (name TEXT)").unwrap();
        assert!(is_current(&db).is_err());
    }
}
