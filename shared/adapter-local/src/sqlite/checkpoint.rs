//! Bringing the log into the file, beside the writer.
//!
//! SQLite would do it in a commit, and whoever waits for that commit would wait for thousands of pages to be copied and
//! synced. A thread with a connection of its own copies them while the writer goes on. It never quite catches up with a
//! busy writer, and only a log that was copied to its end can be begun anew; so when the log is long and little of it is
//! left, the writer itself copies that little between two commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;

/// So many pages (4 MB) are worth a sync of the file.
const WORTH_COPYING: i64 = 1_000;
/// A log of so many pages (16 MB) shall be begun anew.
const LONG: i64 = 4_000;
/// So many pages are copied in less time than a sync takes.
const LITTLE: i64 = 250;
/// Should the thread fail to keep up, commits copy again: the log does not outgrow 80 MB.
pub(super) const BACKSTOP: i64 = 20_000;
const CACHE_KIB: i64 = 64;

/// How much of the log there is, and how much of that is in the file.
struct Log {
    pages: i64,
    copied: i64,
}

/// The thread that copies, as the writer sees it.
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
        match look(writer, "NOOP") {
            Ok(log) if log.pages - log.copied >= WORTH_COPYING => self.wake(),
            Ok(log) if log.pages >= LONG && log.pages - log.copied <= LITTLE => {
                report(look(writer, "PASSIVE"));
            }
            Ok(log) if log.pages >= LONG => self.wake(),
            looked => report(looked),
        }
    }

    fn wake(&self) {
        self.copying.store(true, Ordering::Release);
        let sent = self.wake.as_ref().map(|wake| wake.try_send(()));
        if let Some(Err(TrySendError::Disconnected(()))) = sent {
            tracing::warn!("store.checkpointer_gone");
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
        report(look(db, "PASSIVE"));
        copying.store(false, Ordering::Release);
    }
}

fn look(db: &Connection, mode: &str) -> rusqlite::Result<Log> {
    db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?
        .query_row([], |row| {
            Ok(Log {
                pages: row.get(1)?,
                copied: row.get(2)?,
            })
        })
}

fn report(looked: rusqlite::Result<Log>) {
    if let Err(error) = looked {
        tracing::warn!(%error, "store.checkpoint_failed");
    }
}
