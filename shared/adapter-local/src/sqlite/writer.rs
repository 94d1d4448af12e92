//! The single thread that writes: it takes whatever has queued up, commits it together and answers after the commit.
//!
//! A lone caller never waits for others, and many callers share one sync of the disk. Nothing is acknowledged that is
//! not durable: if the commit fails, every caller of the group gets the error, and the next group starts fresh.
//!
//! Each job is all or nothing. Savepoints would ensure that, but each of them copies every page it touches, and jobs
//! rarely fail. So a group first runs without savepoints; only if something in it fails is the whole group rolled back
//! and run again, this time with a savepoint around each part.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use postrider_ports::{Error, Result};
use rusqlite::{CachedStatement, Connection};
use tokio::sync::{mpsc, oneshot, watch};

use super::checkpoint::Checkpointer;
use super::fault::Fault;
use super::locks::Owners;
use super::stats::{self, CountedStats};

/// How many jobs may be queued; further callers wait for a slot.
const QUEUE: usize = 1024;
/// How many jobs one commit may contain: enough to share a sync well, few enough that the first does not wait long for
/// the last.
const GROUP: usize = 256;

/// A write, and the caller waiting for it.
trait Job: Send {
    /// Runs the write. May be called again, in another transaction.
    fn run(&mut self, tx: &mut Tx<'_>);
    fn answer(self: Box<Self>, lost: Option<&Error>);
}

struct Task<F, T> {
    work: F,
    done: Option<Result<T>>,
    caller: oneshot::Sender<Result<T>>,
}

impl<F, T> Job for Task<F, T>
where
    F: FnMut(&mut Tx<'_>) -> std::result::Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) {
        // A bug in one write must not end the thread that all others need.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)));
        self.done = Some(match done {
            Ok(done) => done.map_err(Error::from),
            Err(_) => {
                tx.panicked = true;
                Err(Error::Broken("a write panicked".to_owned()))
            }
        });
    }

    fn answer(self: Box<Self>, lost: Option<&Error>) {
        let answer = match (lost, self.done) {
            (None, Some(done)) | (Some(_), Some(done @ Err(Error::Broken(_)))) => done,
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err(Error::Unavailable("the write did not run".to_owned())),
        };
        // A caller that has gone away does not change what is stored.
        let _ = self.caller.send(answer);
    }
}

/// The handle to the writing thread.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    newest_notification: watch::Receiver<u64>,
}

impl Writer {
    pub(super) fn start(
        db: Connection,
        checkpointer: Checkpointer,
        owners: Arc<Owners>,
        newest: u64,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (notify, newest_notification) = watch::channel(newest);
        let writer = WriterThread {
            checkpointer,
            db,
            owners,
            notify,
        };
        let thread = std::thread::Builder::new()
            .name("postrider-writer".into())
            .spawn(move || writer.run(queue))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            newest_notification,
        })
    }

    /// Runs `work` in a transaction shared with others and returns after the commit. `work` may be called twice, with
    /// the first call rolled back.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        F: FnMut(&mut Tx<'_>) -> std::result::Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        let stopped = || Error::Broken("the store has stopped writing".to_owned());
        let (caller, answer) = oneshot::channel();
        let task = Box::new(Task {
            work,
            done: None,
            caller,
        });
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(task).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Whether the thread is there to write.
    pub(super) fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// The newest notification that this process has committed.
    pub(super) fn newest_notification(&self) -> watch::Receiver<u64> {
        self.newest_notification.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Queued writes still finish; the thread ends when the queue is empty.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the writing thread.
struct WriterThread {
    // Ends before the connection is closed, so that this connection closes last.
    checkpointer: Checkpointer,
    db: Connection,
    owners: Arc<Owners>,
    notify: watch::Sender<u64>,
}

impl WriterThread {
    fn run(self, mut queue: mpsc::Receiver<Box<dyn Job>>) {
        let mut group = Vec::with_capacity(GROUP);
        while let Some(first) = queue.blocking_recv() {
            group.push(first);
            while group.len() < GROUP
                && let Ok(next) = queue.try_recv()
            {
                group.push(next);
            }
            let lost = self.commit(&mut group).map_err(Error::from).err();
            if let Some(error) = &lost {
                tracing::warn!(event = "store.commit_failed", writes = group.len(), %error, "a commit failed; its writes were rejected");
            }
            for job in group.drain(..) {
                job.answer(lost.as_ref());
            }
            self.checkpointer.after_commit(&self.db);
        }
    }

    fn commit(&self, group: &mut [Box<dyn Job>]) -> std::result::Result<(), Fault> {
        match self.commit_with(group, Guard::None)? {
            Ending::Committed => Ok(()),
            Ending::Spoiled => self.commit_with(group, Guard::Savepoints).map(drop),
        }
    }

    fn commit_with(
        &self,
        group: &mut [Box<dyn Job>],
        guard: Guard,
    ) -> std::result::Result<Ending, Fault> {
        // Still open if rolling back failed last time.
        self.roll_back()?;
        self.statement("BEGIN IMMEDIATE")?.execute([])?;
        let mut tx = Tx {
            db: &self.db,
            owners: &self.owners,
            guard,
            spoiled: false,
            panicked: false,
            counted: Vec::new(),
            newest_notification: 0,
        };
        let written = Self::run_all(group, &mut tx);
        let (spoiled, newest_notification) = (tx.spoiled, tx.newest_notification);
        if spoiled || written.is_err() {
            self.roll_back()?;
            return written.map(|()| Ending::Spoiled);
        }
        if let Err(error) = self.statement("COMMIT")?.execute([]) {
            self.roll_back()?;
            return Err(error.into());
        }
        if newest_notification > 0 {
            self.notify
                .send_modify(|newest| *newest = (*newest).max(newest_notification));
        }
        Ok(Ending::Committed)
    }

    fn run_all(group: &mut [Box<dyn Job>], tx: &mut Tx<'_>) -> std::result::Result<(), Fault> {
        for job in group {
            job.run(tx);
            if tx.panicked {
                let why = "another write in the same group panicked";
                return Err(Fault::Port(Error::Unavailable(why.to_owned())));
            }
            if tx.spoiled {
                return Ok(());
            }
            tx.still_open()?;
        }
        stats::add_up(tx.db, &tx.counted)
    }

    /// SQLite rolls back automatically after some errors, but not after others.
    fn roll_back(&self) -> std::result::Result<(), Fault> {
        if !self.db.is_autocommit() {
            self.statement("ROLLBACK")?.execute([])?;
        }
        Ok(())
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.db.prepare_cached(sql)
    }
}

/// How a part of a transaction is made all or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// Not at all: a part that fails spoils the transaction.
    None,
    /// With a savepoint per part.
    Savepoints,
}

enum Ending {
    Committed,
    Spoiled,
}

pub(super) struct Tx<'a> {
    db: &'a Connection,
    pub(super) owners: &'a Owners,
    guard: Guard,
    spoiled: bool,
    panicked: bool,
    /// Added up once before the commit: a busy webhook's counters change once, not hundreds of times.
    counted: Vec<CountedStats>,
    newest_notification: u64,
}

impl<'a> Tx<'a> {
    /// A cached prepared statement.
    pub(super) fn statement(&self, sql: &str) -> std::result::Result<CachedStatement<'a>, Fault> {
        Ok(self.db.prepare_cached(sql)?)
    }

    /// Runs a statement that returns no rows; returns how many rows it changed.
    pub(super) fn execute(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> std::result::Result<usize, Fault> {
        Ok(self.statement(sql)?.execute(params)?)
    }

    /// The connection, for queries shared with readers.
    pub(super) fn db(&self) -> &'a Connection {
        self.db
    }

    /// Runs `work` completely or not at all, whatever happens to the rest of the transaction.
    pub(super) fn whole<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        // Otherwise each statement would commit on its own.
        self.still_open()?;
        if self.guard == Guard::None {
            let done = work(self);
            self.spoiled |= done.is_err();
            return done;
        }
        let (counted, newest_notification) = (self.counted.len(), self.newest_notification);
        self.execute("SAVEPOINT whole", [])?;
        let done = work(self);
        // After some errors SQLite has aborted the whole transaction; then there is no savepoint to roll back to.
        if self.db.is_autocommit() {
            return done;
        }
        if done.is_err() {
            self.counted.truncate(counted);
            self.newest_notification = newest_notification;
            self.execute("ROLLBACK TO whole", [])?;
        }
        self.execute("RELEASE whole", [])?;
        done
    }

    fn still_open(&self) -> std::result::Result<(), Fault> {
        if self.db.is_autocommit() {
            let why = "SQLite aborted the transaction, as it does when the disk is full or failing";
            return Err(Fault::Port(Error::Unavailable(why.to_owned())));
        }
        Ok(())
    }

    pub(super) fn count(&mut self, counted: CountedStats) {
        self.counted.push(counted);
    }

    /// Records the sequence number of a notification that was written.
    pub(super) fn notified(&mut self, seq: i64) {
        self.newest_notification = self.newest_notification.max(seq.unsigned_abs());
    }
}

#[cfg(test)]
mod tests {
    use postrider_domain::ids::TenantId;
    use postrider_ports::Error;
    use postrider_ports::configs::Webhooks;

    use crate::sqlite::{SqliteOptions, SqliteStore};

    #[tokio::test]
    async fn a_write_that_panics_does_not_end_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), SqliteOptions::default()).unwrap();
        let broken = store.writer.write::<(), _>(|_| panic!("a bug")).await;
        assert!(matches!(broken, Err(Error::Broken(_))), "{broken:?}");
        let written = store
            .writer
            .write(|tx| tx.execute("INSERT INTO tenants VALUES ('default', 7)", []))
            .await;
        assert_eq!(written, Ok(1));
        assert_eq!(store.webhooks_version(&TenantId::default()).await, Ok(7));
    }
}
