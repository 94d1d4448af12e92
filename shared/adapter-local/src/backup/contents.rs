//! What a backup holds.

use std::fs;
use std::path::{Path, PathBuf};

use postrider_domain::time::Timestamp;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::Serialize;

use crate::sqlite::{Fault, is_current, settle};

const CACHE_KIB: i64 = 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupContents {
    pub taken_at: Timestamp,
    /// Of Postrider, which took it.
    pub version: String,
    pub bytes: u64,
    pub tenants: u64,
    pub webhooks: u64,
    pub sources: u64,
    pub keys: u64,
    pub events: u64,
    pub deliveries: u64,
    /// Pending, or failed and to be retried.
    pub open_deliveries: u64,
}

impl BackupContents {
    /// Checks the whole file and says what it holds.
    ///
    /// # Errors
    /// If it is not a backup, or is damaged.
    pub fn of(file: &Path) -> Result<Self> {
        Ok(Self::read(&open(file)?, file)?)
    }

    pub(super) fn read(db: &Connection, file: &Path) -> std::result::Result<Self, Fault> {
        check(db, file)?;
        let (taken_at, version) = header(db, file)?;
        // A backup of a newer version is refused before it is counted: its tables may have other names.
        is_current(db)?;
        let bytes = fs::metadata(file).map_err(|error| Fault::io("cannot read", file, &error))?;
        let count = |sql: &str| -> std::result::Result<u64, Fault> {
            let count: i64 = db.query_row(sql, [], |row| row.get(0))?;
            Ok(count.unsigned_abs())
        };
        Ok(Self {
            taken_at,
            version,
            bytes: bytes.len(),
            tenants: count("SELECT count(*) FROM tenants")?,
            webhooks: count("SELECT count(*) FROM webhook_configs")?,
            sources: count("SELECT count(*) FROM sources")?,
            keys: count("SELECT count(*) FROM api_keys")?,
            events: count("SELECT count(*) FROM events")?,
            deliveries: count("SELECT count(*) FROM webhook_deliveries")?,
            open_deliveries: count(
                "SELECT count(*) FROM webhook_deliveries WHERE status IN ('pending', 'failed')",
            )?,
        })
    }
}

pub(super) fn open(file: &Path) -> std::result::Result<Connection, Fault> {
    if !file.is_file() {
        return Err(Fault::Port(Error::Broken(format!(
            "{} does not exist",
            file.display()
        ))));
    }
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // The first statement reads the schema.
    settle(&db, CACHE_KIB).map_err(|error| damaged(file, &error.to_string()))?;
    Ok(db)
}

fn damaged(file: &Path, what: &str) -> Fault {
    Fault::Port(Error::Broken(format!(
        "{} is not a backup, or is damaged: {what}",
        file.display()
    )))
}

fn check(db: &Connection, file: &Path) -> std::result::Result<(), Fault> {
    let damaged = |what: &str| damaged(file, what);
    let result = db.query_row("PRAGMA integrity_check(1)", [], |row| {
        row.get::<_, String>(0)
    });
    match result {
        Ok(fine) if fine == "ok" => {}
        Ok(fault) => return Err(damaged(&fault)),
        Err(error) => return Err(damaged(&error.to_string())),
    }
    let orphan = db
        .query_row("PRAGMA foreign_key_check", [], |row| {
            row.get::<_, String>(0)
        })
        .optional()?;
    match orphan {
        Some(table) => Err(damaged(&format!("rows are missing that {table} refers to"))),
        None => Ok(()),
    }
}

fn header(db: &Connection, file: &Path) -> std::result::Result<(Timestamp, String), Fault> {
    let found = db.query_row(
        "SELECT taken_at, version FROM postrider_backup",
        [],
        |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)),
    );
    let (taken_at, version) = found.map_err(|_| {
        Fault::Port(Error::Broken(format!(
            "{} is not a backup that `postrider backup` made",
            file.display()
        )))
    })?;
    Ok((Timestamp::from_millis(taken_at), version))
}

/// The files of the data directory that the backup holds.
pub(super) fn files(db: &Connection) -> std::result::Result<Vec<(PathBuf, Vec<u8>)>, Fault> {
    let mut statement = db.prepare("SELECT name, contents FROM postrider_backup_files")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
    })?;
    let mut files = Vec::new();
    for row in rows {
        let (name, contents) = row?;
        // A name from the file must not lead out of the directory.
        if super::FILES.contains(&name.as_str()) {
            files.push((PathBuf::from(name), contents));
        }
    }
    Ok(files)
}
