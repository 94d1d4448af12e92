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

/// This many pages (32 MB) are worth a sync of the file. Busy pages are in the log many times and are copied once, so a
/// longer log is copied in fewer writes; and each sync of the file delays the commits meanwhile.
const WORTH_COPYING: i64 = 8_000;
/// A log of this many pages (64 MB) should be restarted.
const LONG: i64 = 16_000;
/// Copying this many pages takes less time than a sync.
const LITTLE: i64 = 250;
/// If the thread cannot keep up, commits copy again, so the log stays below 160 MB.
pub(super) const BACKSTOP: i64 = 40_000;
const CACHE_KIB: i64 = 64;

/// The length of the log, and how much of it is already in the file.
struct Log {
    pages: i64,
    copied: i64,
}

/// The writer's handle to the copying thread.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    copying: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(file: &Path) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(file, flags)?;
        super::settle(&db, CACHE_KIB)?;
        let (wake, woken) = sync_channel(1);
        let copying = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&copying);
        let thread = std::thread::Builder::new()
            .name("postrider-checkpoint".into())
            .spawn(move || copy(&db, &woken, &flag))
            .map_err(|error| Fault::io("cannot start the checkpointer of", file, &error))?;
        Ok(Self {
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
        match checkpoint(writer, "NOOP") {
            Ok(log) if log.pages - log.copied >= WORTH_COPYING => self.wake(),
            Ok(log) if log.pages >= LONG && log.pages - log.copied <= LITTLE => {
                report(checkpoint(writer, "PASSIVE"));
            }
            Ok(log) if log.pages >= LONG => self.wake(),
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

fn copy(db: &Connection, woken: &Receiver<()>, copying: &AtomicBool) {
    while woken.recv().is_ok() {
        report(checkpoint(db, "PASSIVE"));
        copying.store(false, Ordering::Release);
    }
}

fn checkpoint(db: &Connection, mode: &str) -> rusqlite::Result<Log> {
    db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?
        .query_row([], |row| {
            Ok(Log {
                pages: row.get(1)?,
                copied: row.get(2)?,
            })
        })
}

fn report(result: rusqlite::Result<Log>) {
    if let Err(error) = result {
        tracing::warn!(event = "store.checkpoint_failed", %error, "the write-ahead log could not be checkpointed, trying again");
    }
}
