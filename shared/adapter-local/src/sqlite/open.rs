//! Opens the directory and the database in it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::checkpoint::{self, Checkpointer};
use super::fault::Fault;
use super::locks::Owners;
use super::readers::Readers;
use super::vault;
use super::writer::Writer;
use super::{SqliteStore, drains, erase, migrate, notifications};

pub(crate) const FILE: &str = "postrider.db";
/// A commit is short; a caller that waits longer than this gets an error.
const BUSY: Duration = Duration::from_secs(2);
const CACHE_KIB: i64 = 8 * 1024;
/// The page size of a new file. A commit writes whole pages, and one that stores a single event changes a little in each of
/// about ten: small pages write a third of the bytes that SQLite's usual 4 KiB do.
const PAGE_BYTES: i64 = 1024;
/// The log is truncated to this size after it grew, in bytes.
const LOG_LIMIT: i64 = 64 * 1024 * 1024;
const STATEMENTS: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
pub struct SqliteOptions {
    /// Limits the file to this many pages; see [`SqliteStore::limit_pages`].
    pub max_pages: Option<u32>,
    /// How long the result of a successful delivery may wait for a commit that it can join. If the process ends meanwhile, the
    /// delivery is sent again.
    pub patience: Duration,
}

pub(super) fn open(dir: &Path, options: SqliteOptions) -> Result<SqliteStore, Fault> {
    make_directory(dir)?;
    let file = dir.join(FILE);
    create_private(&file).map_err(|error| Fault::io("cannot create", &file, &error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(&file, flags)?;
    settle(&db, CACHE_KIB)?;
    let is_current = migrate::is_current(&db)?;
    // Changes nothing for a file that has pages already.
    db.pragma_update(None, "page_size", PAGE_BYTES)?;
    // Nothing changes for a file that has a log already. One that was restored from a backup has none.
    db.pragma_update(None, "journal_mode", "WAL")?;
    let vault = if is_current {
        vault::open(dir, &db)?
    } else {
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        migrate::bring_up_to_date(&tx)?;
        let vault = vault::open(dir, &tx)?;
        tx.commit()?;
        vault
    };
    // In WAL mode, only FULL guarantees that a commit is on disk when it returns.
    db.pragma_update(None, "synchronous", "FULL")?;
    checkpoint::set_backstop(&db)?;
    db.pragma_update(None, erase::SECURE_DELETE, erase::AS_USUAL)?;
    db.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
    if let Some(pages) = options.max_pages {
        db.pragma_update(None, "max_page_count", pages)?;
    }
    let readers = Readers::open(&file)?;
    let owners = Arc::new(Owners::enter(dir)?);
    let newest = notifications::newest(&db)?;
    let checkpointer = Checkpointer::start(&file)?;
    let writer = Writer::start(
        db,
        checkpointer,
        Arc::clone(&owners),
        newest,
        options.patience,
    )
    .map_err(|error| Fault::io("cannot start the writer of", &file, &error))?;
    Ok(SqliteStore {
        writer,
        readers,
        vault: Arc::new(vault),
        owners,
        expiry: Arc::default(),
        flows: drains::Flows::default(),
        file,
    })
}

/// Settings that every connection needs.
pub(crate) fn settle(db: &Connection, cache_kib: i64) -> Result<(), Fault> {
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "cache_size", -cache_kib)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // On macOS, a plain sync leaves the data in the disk's cache. Elsewhere this changes nothing.
    db.pragma_update(None, "fullfsync", true)?;
    Ok(())
}

/// Creates the directory for its owner only. If it is already a Postrider directory, or empty, access by others is
/// removed; a directory with other contents keeps its permissions, and Postrider's files in it are private anyway.
pub(super) fn make_directory(dir: &Path) -> Result<(), Fault> {
    let usable = if dir.is_dir() {
        close_if_ours(dir)
    } else {
        make_private_directory(dir)
    };
    usable.map_err(|error| Fault::io("cannot use", dir, &error))
}

fn close_if_ours(dir: &Path) -> std::io::Result<()> {
    let ours = dir.join(FILE).exists() || fs::read_dir(dir)?.next().is_none();
    if ours { set_private(dir) } else { Ok(()) }
}

#[cfg(unix)]
fn set_private(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn set_private(_dir: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Creates a directory that only its owner can enter, and its parents. They are on disk when this returns: a power loss
/// would otherwise take a new directory away, with everything that was synced in it.
pub fn make_private_directory(dir: &Path) -> std::io::Result<()> {
    let missing = |ancestor: &&Path| !ancestor.as_os_str().is_empty() && !ancestor.exists();
    let missing: Vec<&Path> = dir.ancestors().take_while(missing).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    missing.into_iter().try_for_each(sync_name)
}

/// Makes the name of a new file or directory durable, which a sync of the file itself does not.
pub fn sync_name(path: &Path) -> std::io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Files created with these options can be read by their owner only.
pub(crate) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

/// SQLite gives its log the permissions of the database file, so the file is created first.
pub(crate) fn create_private(file: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    private(&mut options);
    options.open(file).map(drop)
}

/// Random bytes for keys and process ids.
#[expect(
    clippy::disallowed_methods,
    reason = "the edge: a key or a process id is drawn when a store is opened"
)]
pub(super) fn random(bytes: &mut [u8]) -> std::io::Result<()> {
    // Not from aws-lc: it first collects entropy of its own, which takes longer than the rest of the start.
    getrandom::fill(bytes).map_err(|error| std::io::Error::other(error.to_string()))
}
