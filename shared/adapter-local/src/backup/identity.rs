//! Tells databases apart.

use std::path::Path;

use postrider_ports::Result;
use rusqlite::{Connection, OpenFlags};

use crate::sqlite::{DATABASE_FILE, Fault, settle};

/// Eight digits that the database in `dir`, and what is restored from it, has to itself: backups of several gateways may
/// share a directory.
///
/// # Errors
/// If there is no usable database.
pub fn identity(dir: &Path) -> Result<String> {
    Ok(read(dir)?)
}

fn read(dir: &Path) -> std::result::Result<String, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let db = Connection::open_with_flags(dir.join(DATABASE_FILE), flags)?;
    settle(&db, 64)?;
    // Sealed values begin with a random nonce.
    Ok(db.query_row(
        "SELECT lower(hex(substr(sealed, 1, 4))) FROM vault",
        [],
        |row| row.get(0),
    )?)
}
