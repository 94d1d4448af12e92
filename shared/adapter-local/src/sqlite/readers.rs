//! Read-only connections, separate from the writer: a long list blocks neither a commit nor the runtime.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;

/// A few are enough: a read takes microseconds, and each connection has its own page cache.
const READERS: usize = 3;
const CACHE_KIB: i64 = 1024;

pub(super) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    slots: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(file: &Path) -> std::result::Result<Self, Fault> {
        let idle = (0..READERS)
            .map(|_| connect(file))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(Self {
            idle: Arc::new(Mutex::new(idle)),
            slots: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Runs `query` on a blocking thread. Everything it reads comes from one snapshot.
    pub(super) async fn read<T, F>(&self, query: F) -> Result<T>
    where
        F: FnOnce(&Connection) -> std::result::Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        let stopped = || Error::Unavailable("the store is closing".to_owned());
        let slot = Arc::clone(&self.slots)
            .acquire_owned()
            .await
            .map_err(|_| stopped())?;
        let idle = Arc::clone(&self.idle);
        let reading = tokio::task::spawn_blocking(move || {
            let db = idle.lock().pop().ok_or_else(stopped)?;
            // Returned however the query ends; otherwise a panic would leak the connection.
            let borrowed = Borrowed {
                db: Some(db),
                idle,
                _slot: slot,
            };
            Ok(borrowed.on_snapshot(query)?)
        });
        reading
            .await
            .map_err(|_| Error::Broken("a read panicked".to_owned()))?
    }
}

fn connect(file: &Path) -> std::result::Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags)?;
    super::settle(&db, CACHE_KIB)?;
    Ok(db)
}

struct Borrowed {
    db: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
    _slot: OwnedSemaphorePermit,
}

impl Borrowed {
    fn on_snapshot<T>(
        &self,
        query: impl FnOnce(&Connection) -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        let gone = || Fault::Unreadable("the connection is gone".to_owned());
        let db = self.db.as_ref().ok_or_else(gone)?;
        db.prepare_cached("BEGIN")?.execute([])?;
        query(db)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        // Nothing was written, so it does not matter how the transaction ends, only that it does.
        let ended = db.is_autocommit() || db.execute_batch("ROLLBACK").is_ok();
        if ended {
            self.idle.lock().push(db);
        }
    }
}
