//! Restores a backup into an empty data directory.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::configs::Webhooks;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use zeroize::Zeroizing;

use super::take::copy_pages;
use super::{BackupContents, CopyProgress, DROP_TABLES, FILES, contents};
use crate::SqliteStore;
use crate::sqlite::{
    DATABASE_FILE, Fault, SqliteOptions, create_private, make_private_directory, private, settle,
    sync_name,
};

/// Everything is prepared here, so that an interrupted restore leaves nothing that a gateway would serve.
const DRAFT: &str = "restoring";
const CACHE_KIB: i64 = 1024;
/// The suffixes of SQLite's files next to a database.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What happens to deliveries that were open when the backup was taken. The old gateway may have sent them since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenDeliveries {
    /// Every webhook is paused until an operator resumes it.
    Hold,
    /// They are sent when the gateway starts, some of them for a second time.
    Send,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    pub paused_webhooks: u64,
}

/// Checks the backup `file` and restores it into `dir`. Open deliveries are marked with where they come from. Blocks the
/// thread while it copies.
///
/// # Errors
/// If the directory already holds a gateway's data, or the backup is damaged or too new. Then nothing was restored.
pub async fn restore(
    file: &Path,
    dir: &Path,
    open_deliveries: OpenDeliveries,
    now: Timestamp,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> Result<Restored> {
    let _lock = SqliteStore::lock_for_serving(dir)?;
    let draft = dir.join(DRAFT);
    forget_interrupted(dir, &draft)?;
    refuse_to_overwrite(dir)?;
    let restored = prepare(file, &draft, open_deliveries, now, progress).await;
    let restored = restored.and_then(|restored| {
        move_into_place(&draft, dir).map_err(|error| Fault::io("cannot write", dir, &error))?;
        Ok(restored)
    });
    // Only drafts are left in it, whether it worked or not.
    let _ = fs::remove_dir_all(&draft);
    restored
}

/// A restore that was interrupted has moved files into place, but not the database. They are moved again.
fn forget_interrupted(dir: &Path, draft: &Path) -> Result<()> {
    if !draft.exists() || dir.join(DATABASE_FILE).exists() {
        return Ok(());
    }
    for path in FILES.map(|name| dir.join(name)) {
        if path.exists() {
            fs::remove_file(&path).map_err(|error| Fault::io("cannot remove", &path, &error))?;
        }
    }
    Ok(())
}

/// A log that was left behind would be replayed over the restored database.
fn refuse_to_overwrite(dir: &Path) -> Result<()> {
    let logs = LOGS.map(|suffix| format!("{DATABASE_FILE}{suffix}"));
    let taken = [DATABASE_FILE].into_iter().chain(FILES);
    let mut taken = taken
        .chain(logs.iter().map(String::as_str))
        .map(|name| dir.join(name))
        .filter(|path| path.exists());
    match taken.next() {
        Some(path) => Err(Error::Broken(format!(
            "{} already exists; restore into an empty directory, named with --data",
            path.display()
        ))),
        None => Ok(()),
    }
}

async fn prepare(
    file: &Path,
    draft: &Path,
    open_deliveries: OpenDeliveries,
    now: Timestamp,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> Result<Restored> {
    let _ = fs::remove_dir_all(draft);
    make_private_directory(draft).map_err(|error| Fault::io("cannot create", draft, &error))?;
    copy(file, draft, open_deliveries, progress)?;
    // Brings the database to this version's schema, and checks the key.
    let store = SqliteStore::open(draft, SqliteOptions::default())?;
    let restored = match open_deliveries {
        OpenDeliveries::Hold => pause_webhooks(&store, draft, now).await?,
        OpenDeliveries::Send => Restored { paused_webhooks: 0 },
    };
    drop(store);
    finish_log(draft)?;
    Ok(restored)
}

/// Copies the log into the database file, which is then complete without it. Closing a store does that too, but does not
/// tell when it fails.
fn finish_log(draft: &Path) -> std::result::Result<(), Fault> {
    let path = draft.join(DATABASE_FILE);
    let db = connect(&path)?;
    let busy: i64 = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    db.close().map_err(|(_, error)| error)?;
    let log = draft.join(format!("{DATABASE_FILE}-wal"));
    if busy != 0 || fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(Fault::Port(Error::Unavailable(format!(
            "{} could not be completed",
            path.display()
        ))));
    }
    File::open(&path)
        .and_then(|file| file.sync_all())
        .map_err(|error| Fault::io("cannot write", &path, &error))
}

fn copy(
    file: &Path,
    draft: &Path,
    open_deliveries: OpenDeliveries,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> std::result::Result<(), Fault> {
    let backup = contents::open(file)?;
    let held = BackupContents::read(&backup, file)?;
    let path = draft.join(DATABASE_FILE);
    create_private(&path).map_err(|error| Fault::io("cannot create", &path, &error))?;
    let mut db = connect(&path)?;
    copy_pages(&backup, &mut db, progress)?;
    for (name, contents) in contents::files(&backup)? {
        let path = draft.join(name);
        write_private(&path, &Zeroizing::new(contents))
            .map_err(|error| Fault::io("cannot write", &path, &error))?;
    }
    let tx = db.transaction()?;
    tx.execute_batch(DROP_TABLES)?;
    tx.execute(
        "UPDATE webhook_deliveries SET error_detail = ?1 || coalesce(' Before: ' || error_detail, '') \
         WHERE status IN ('pending', 'failed')",
        [format!(
            "Restored from the backup of {}; it may have been sent after that.",
            held.taken_at
        )],
    )?;
    match open_deliveries {
        // An e-mail that was due may have been sent, too.
        OpenDeliveries::Hold => tx.execute("UPDATE letters SET due_at = NULL", [])?,
        OpenDeliveries::Send => 0,
    };
    Ok(tx.commit()?)
}

fn connect(path: &Path) -> std::result::Result<Connection, Fault> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    settle(&db, CACHE_KIB)?;
    Ok(db)
}

/// Failed webhooks as well: a probe would send one of their deliveries.
async fn pause_webhooks(store: &SqliteStore, draft: &Path, now: Timestamp) -> Result<Restored> {
    let mut restored = Restored { paused_webhooks: 0 };
    for (tenant, webhook) in webhooks_to_pause(&draft.join(DATABASE_FILE))? {
        store
            .set_webhook_status(&tenant, webhook, WebhookStatus::Paused, now)
            .await?;
        restored.paused_webhooks += 1;
    }
    Ok(restored)
}

fn webhooks_to_pause(path: &Path) -> std::result::Result<Vec<(TenantId, WebhookId)>, Fault> {
    let db = connect(path)?;
    let mut statement =
        db.prepare("SELECT tenant, id FROM webhook_configs WHERE status IN ('active', 'failed')")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut webhooks = Vec::new();
    for row in rows {
        let (tenant, id) = row?;
        let unreadable = |_| Fault::Unreadable(format!("webhook {id} of tenant {tenant}"));
        let tenant = tenant.parse::<TenantId>().map_err(unreadable)?;
        let unreadable = |_| Fault::Unreadable(format!("webhook {id} of tenant {tenant}"));
        webhooks.push((tenant.clone(), id.parse().map_err(unreadable)?));
    }
    Ok(webhooks)
}

fn write_private(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    let mut file = options.open(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

/// The database comes last: without it, a gateway finds an empty directory.
fn move_into_place(draft: &Path, dir: &Path) -> std::io::Result<()> {
    let names: Vec<PathBuf> = FILES
        .iter()
        .chain(&[DATABASE_FILE])
        .map(PathBuf::from)
        .filter(|name| draft.join(name).exists())
        .collect();
    for name in names {
        fs::rename(draft.join(&name), dir.join(&name))?;
        sync_name(&dir.join(&name))?;
    }
    Ok(())
}
