//! Takes a backup.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use postrider_domain::time::Timestamp;
use postrider_ports::{Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, params};

use super::last::{self, LastBackup};
use super::{BackupContents, FILES, TABLES};
use crate::sqlite::{DATABASE_FILE, Fault, check_key, create_private, settle, sync_name};

/// How much is copied at a time: enough to be fast, little enough to show progress.
const STEP_BYTES: i32 = 16 * 1024 * 1024;
const CACHE_KIB: i64 = 1024;

/// Between the name of a backup and the process that writes it, while it does.
pub const DRAFT: &str = ".part";

/// How far a copy is, in pages of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    pub done: u64,
    pub total: u64,
}

/// Copies the database in `dir`, as it is now, and its key to `file`. The gateway may be running. Blocks until the copy was
/// checked and is on disk; until then it has another name. `progress` may stop it.
///
/// # Errors
/// If `file` exists, the directory holds no usable database, or the copy cannot be written.
pub fn back_up(
    dir: &Path,
    file: &Path,
    now: Timestamp,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> Result<BackupContents> {
    if file.exists() {
        return Err(Error::Broken(format!(
            "{} already exists; a backup never overwrites a file",
            file.display()
        )));
    }
    let draft = PathBuf::from(format!("{}{DRAFT}{}", file.display(), std::process::id()));
    let made = copy(dir, &draft, now, progress).and_then(|contents| {
        publish(&draft, file).map_err(|error| Fault::io("cannot write", file, &error))?;
        Ok(contents)
    });
    if made.is_err() {
        // What went wrong matters more than a draft that stays behind.
        let _ = fs::remove_file(&draft);
    }
    let contents = made?;
    let last = LastBackup {
        taken_at: now,
        file: std::path::absolute(file).unwrap_or_else(|_| file.to_owned()),
        bytes: contents.bytes,
    };
    if let Err(error) = last::record(dir, &last) {
        tracing::warn!(event = "backup.not_noted", reason = %error, "a backup was taken, but the data directory does not say so");
    }
    Ok(contents)
}

fn copy(
    dir: &Path,
    draft: &Path,
    now: Timestamp,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> std::result::Result<BackupContents, Fault> {
    let source = open_source(dir)?;
    // The transaction keeps one snapshot from the first page to the last. Without it the copy would begin again with
    // every commit of the gateway.
    let snapshot = source.unchecked_transaction()?;
    check_key(dir, &snapshot)?;
    let _ = fs::remove_file(draft);
    create_private(draft).map_err(|error| Fault::io("cannot create", draft, &error))?;
    let mut copy = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    settle(&copy, CACHE_KIB)?;
    copy_pages(&source, &mut copy, progress)?;
    drop(snapshot);
    // The copy says that it has a log, as the source does. A backup is one file.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    add_files(dir, &mut copy, now)?;
    let contents = BackupContents::read(&copy, draft)?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(contents)
}

fn open_source(dir: &Path) -> std::result::Result<Connection, Fault> {
    let database = dir.join(DATABASE_FILE);
    if !database.exists() {
        return Err(Fault::Port(Error::Broken(format!(
            "{} holds no database; name the data directory of the gateway with --data",
            dir.display()
        ))));
    }
    // Readers of a log need to write to its index, so the connection is not a read-only one.
    let source = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    settle(&source, CACHE_KIB)?;
    Ok(source)
}

pub(super) fn copy_pages(
    source: &Connection,
    copy: &mut Connection,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> std::result::Result<(), Fault> {
    let page_size: i32 = source.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let backup = Backup::new(source, copy)?;
    loop {
        let step = backup.step(STEP_BYTES / page_size)?;
        let at = backup.progress();
        let (total, left) = (at.pagecount.max(0), at.remaining.max(0));
        let reported = progress(CopyProgress {
            done: u64::from((total - left).unsigned_abs()),
            total: u64::from(total.unsigned_abs()),
        });
        if reported.is_break() {
            return Err(Fault::Port(Error::Unavailable(
                "the copy was stopped".to_owned(),
            )));
        }
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            StepResult::Busy | StepResult::Locked => {
                return Err(Fault::Port(Error::Unavailable(
                    "the database is locked by another program; try again".to_owned(),
                )));
            }
            _ => {
                return Err(Fault::Unreadable(
                    "SQLite returned an unknown result of a backup".to_owned(),
                ));
            }
        }
    }
}

fn add_files(dir: &Path, copy: &mut Connection, now: Timestamp) -> std::result::Result<(), Fault> {
    let tx = copy.transaction()?;
    tx.execute_batch(TABLES)?;
    tx.execute(
        "INSERT INTO postrider_backup VALUES (?1, ?2)",
        params![now.as_millis(), env!("CARGO_PKG_VERSION")],
    )?;
    for name in FILES {
        let path = dir.join(name);
        if path.exists() {
            let contents = zeroize::Zeroizing::new(
                fs::read(&path).map_err(|error| Fault::io("cannot read", &path, &error))?,
            );
            tx.execute(
                "INSERT INTO postrider_backup_files VALUES (?1, ?2)",
                params![name, *contents],
            )?;
        }
    }
    Ok(tx.commit()?)
}

/// Gives the finished copy its name. A link, unlike a rename, does not replace a file that appeared meanwhile.
fn publish(draft: &Path, file: &Path) -> std::io::Result<()> {
    File::open(draft)?.sync_all()?;
    match fs::hard_link(draft, file) {
        Ok(()) => fs::remove_file(draft)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
        // A file system without links.
        Err(_) => fs::rename(draft, file)?,
    }
    sync_name(file)
}
