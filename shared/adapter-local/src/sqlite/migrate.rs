//! Brings a database file to this version's schema.

use postrider_ports::Error;
use rusqlite::Connection;

use super::fault::Fault;

/// Each entry brings the schema from its index to the next version. Entries are never changed, only added.
const STEPS: [&str; 10] = [
    include_str!("schema.sql"),
    include_str!("sources.sql"),
    include_str!("refused.sql"),
    include_str!("mail.sql"),
    include_str!("pace.sql"),
    include_str!("again.sql"),
    include_str!("typed_failures.sql"),
    include_str!("flow.sql"),
    include_str!("turns.sql"),
    include_str!("sessions.sql"),
];

/// The schema version that this program writes.
fn latest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Whether the file already has the current schema, so that opening it writes nothing.
///
/// # Errors
/// If the file was written by a newer version, or is not a Postrider database.
pub(super) fn is_current(db: &Connection) -> Result<bool, Fault> {
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
