//! Connections that only read, apart from the writer: a long list does not hold up a commit, nor the runtime.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;

/// A few are enough: a read takes microseconds, and each connection keeps pages of its own in memory.
const READERS: usize = 3;
const CACHE_KIB: i64 = 1024;

/// The reading connections.
pub(super) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(file: &Path) -> std::result::Result<Self, Fault> {
        let idle = (0..READERS)
            .map(|_| connect(file))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(Self {
            idle: Arc::new(Mutex::new(idle)),
            places: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Carries `look` out on a thread where waiting for the disk disturbs nobody. All it reads is of one instant.
    pub(super) async fn read<T, F>(&self, look: F) -> Result<T>
    where
        F: FnOnce(&Connection) -> std::result::Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        let stopped = || Error::Unavailable("the store is closing".to_owned());
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|_| stopped())?;
        let idle = Arc::clone(&self.idle);
        let reading = tokio::task::spawn_blocking(move || {
            let db = idle.lock().pop().ok_or_else(stopped)?;
            // Given back however the look ends, or a mistake in one would use the connections up.
            let borrowed = Borrowed {
                db: Some(db),
                idle,
                _place: place,
            };
            Ok(borrowed.at_one_instant(look)?)
        });
        reading
            .await
            .map_err(|_| Error::Broken("a read was broken off".to_owned()))?
    }
}

fn connect(file: &Path) -> std::result::Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags)?;
    super::settle(&db, CACHE_KIB)?;
    Ok(db)
}

/// A connection in use.
struct Borrowed {
    db: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
    _place: OwnedSemaphorePermit,
}

impl Borrowed {
    fn at_one_instant<T>(
        &self,
        look: impl FnOnce(&Connection) -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        let gone = || Fault::Unreadable("the connection is gone".to_owned());
        let db = self.db.as_ref().ok_or_else(gone)?;
        db.prepare_cached("BEGIN")?.execute([])?;
        look(db)
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
