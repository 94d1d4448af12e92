//! Copies the write-ahead log into the database file, in parallel with the writer.
//!
//! SQLite would do this as part of a commit, and the caller of that commit would wait until thousands of pages are
//! copied and synced. A thread with its own connection copies them while the writer continues. It never quite catches
//! up with a busy writer, and SQLite restarts the log only once all of it has been copied; so when the log is long and
//! only a little is left, the writer copies the rest itself between two commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;

/// This many bytes are worth a sync of the file. Busy pages are in the log many times and are copied once, so a longer log is
/// copied in fewer writes; and each sync of the file delays the commits meanwhile.
const WORTH_COPYING: i64 = 32_000_000;
/// A log of this many bytes should be restarted.
const LONG: i64 = 64_000_000;
/// Copying this many bytes takes less time than a sync.
const LITTLE: i64 = 1_000_000;
/// If the thread cannot keep up, commits copy again from about this many bytes on.
const BACKSTOP: i64 = 160_000_000;
const CACHE_KIB: i64 = 64;

/// The length of the log in bytes, and how much of it is already in the file.
pub(super) struct Log {
    /// Whether a reader or another checkpoint was in the way.
    pub(super) is_busy: bool,
    length: i64,
    copied: i64,
}

impl Log {
    /// How much of it is not in the file yet.
    pub(super) const fn left(&self) -> i64 {
        self.length - self.copied
    }
}

/// Lets commits copy the log if it becomes too long.
pub(super) fn set_backstop(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "wal_autocheckpoint", BACKSTOP / page_size(db)?)
}

pub(super) fn page_size(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "page_size", |row| row.get(0))
}

/// The writer's handle to the copying thread.
pub(super) struct Checkpointer {
    page_size: i64,
    wake: Option<SyncSender<()>>,
    copying: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(file: &Path) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(file, flags)?;
        super::settle(&db, CACHE_KIB)?;
        let page_size = page_size(&db)?;
        let (wake, woken) = sync_channel(1);
        let copying = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&copying);
        let thread = std::thread::Builder::new()
            .name("postrider-checkpoint".into())
            .spawn(move || copy(&db, page_size, &woken, &flag))
            .map_err(|error| Fault::io("cannot start the checkpointer of", file, &error))?;
        Ok(Self {
            page_size,
            wake: Some(wake),
            copying,
            thread: Some(thread),
        })
    }

    /// Called between two commits. A log that could not be copied this time is copied later.
    pub(super) fn after_commit(&self, writer: &Connection) {
        if self.copying.load(Ordering::Acquire) {
            return;
        }
        match checkpoint(writer, self.page_size, "NOOP") {
            Ok(log) if log.left() >= WORTH_COPYING => self.wake(),
            Ok(log) if log.length >= LONG && log.left() <= LITTLE => {
                report(checkpoint(writer, self.page_size, "PASSIVE"));
            }
            Ok(log) if log.length >= LONG => self.wake(),
            result => report(result),
        }
    }

    fn wake(&self) {
        self.copying.store(true, Ordering::Release);
        let sent = self.wake.as_ref().map(|wake| wake.try_send(()));
        if let Some(Err(TrySendError::Disconnected(()))) = sent {
            tracing::warn!(
                event = "store.checkpointer_gone",
                "the background checkpointer stopped; commits checkpoint instead"
            );
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn copy(db: &Connection, page_size: i64, woken: &Receiver<()>, copying: &AtomicBool) {
    while woken.recv().is_ok() {
        report(checkpoint(db, page_size, "PASSIVE"));
        copying.store(false, Ordering::Release);
    }
}

pub(super) fn checkpoint(db: &Connection, page_size: i64, mode: &str) -> rusqlite::Result<Log> {
    db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?
        .query_row([], |row| {
            Ok(Log {
                is_busy: row.get(0)?,
                length: row.get::<_, i64>(1)? * page_size,
                copied: row.get::<_, i64>(2)? * page_size,
            })
        })
}

fn report(result: rusqlite::Result<Log>) {
    if let Err(error) = result {
        tracing::warn!(event = "store.checkpoint_failed", %error, "the write-ahead log could not be checkpointed, trying again");
    }
}
