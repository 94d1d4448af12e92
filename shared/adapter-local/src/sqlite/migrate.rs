//! Brings a database file to the schema this program knows.

use postrider_ports::Error;
use rusqlite::Connection;

use super::fault::Fault;

/// Each entry brings the schema from its index to the next version. Entries are never changed, only added.
const STEPS: [&str; 6] = [
    include_str!("schema.sql"),
    include_str!("sources.sql"),
    include_str!("refused.sql"),
    include_str!("mail.sql"),
    include_str!("pace.sql"),
    include_str!("again.sql"),
];

/// The version of the schema that this program writes.
fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Whether the file has the schema already, so that opening it need write nothing.
///
/// # Errors
/// A file of a newer program, and one that is not ours.
pub(super) fn is_current(db: &Connection) -> Result<bool, Fault> {
    let found = version(db)?;
    if found > known() {
        return Err(refused(format!(
            "the database was written by a newer version of Postrider (schema {found}, this one knows {}); \
             update the program",
            known()
        )));
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if found <= 0 && tables > 0 {
        return Err(refused(
            "the file is a database, but not one of Postrider's".to_owned(),
        ));
    }
    Ok(found == known())
}

/// Takes the steps that the file lacks. In a write transaction of the caller's.
pub(super) fn bring_up_to_date(db: &Connection) -> Result<(), Fault> {
    let done = usize::try_from(version(db)?).unwrap_or(0);
    for step in STEPS.iter().skip(done) {
        db.execute_batch(step)?;
    }
    db.pragma_update(None, "user_version", known())?;
    Ok(())
}

fn version(db: &Connection) -> Result<i64, Fault> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn refused(why: String) -> Fault {
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
        let kept = "SELECT config_version FROM tenants";
        let kept: i64 = db.query_row(kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 7);
        db.prepare("SELECT * FROM sources").unwrap();
        db.prepare("SELECT * FROM refused").unwrap();
    }

    #[test]
    fn a_newer_file_is_refused() {
        let db = Connection::open_in_memory().unwrap();
        bring_up_to_date(&db).unwrap();
        db.pragma_update(None, "user_version", known() + 1).unwrap();
        let refusal = Error::from(is_current(&db).unwrap_err()).to_string();
        assert!(refusal.contains("newer version of Postrider"), "{refusal}");
    }

    #[test]
    fn somebody_elses_database_is_refused() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE cats (name TEXT)").unwrap();
        assert!(is_current(&db).is_err());
    }
}
