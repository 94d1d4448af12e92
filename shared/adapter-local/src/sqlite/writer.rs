//! The one thread that writes: it takes what has queued up, commits it together and answers after the commit.
//!
//! A lone caller never waits for company, and many callers share one sync of the disk. Nothing is acknowledged that is
//! not durable: when the commit fails, every caller of the group is told so and the next group is tried afresh.
//!
//! What belongs together is all or nothing. Savepoints would see to that, but each copies every page it touches, and
//! hardly ever does one fail. So a group is first carried out without; only when something in it fails is the whole
//! group rolled back and carried out again, this time with a savepoint around each part.

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

/// How many jobs may wait; more callers wait for a place.
const QUEUE: usize = 1024;
/// How many jobs one commit may hold. Enough that a sync is well shared, few enough that the first of them is not
/// kept waiting for the last.
const GROUP: usize = 256;

/// A write, and the caller who waits for it.
trait Job: Send {
    /// Carries it out. May be called again, in another transaction.
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
        // A mistake in one write must not end the thread that all others need.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)));
        self.done = Some(match done {
            Ok(done) => done.map_err(Error::from),
            Err(_) => {
                tx.panicked = true;
                Err(Error::Broken("a write has panicked".to_owned()))
            }
        });
    }

    fn answer(self: Box<Self>, lost: Option<&Error>) {
        let answer = match (lost, self.done) {
            (None, Some(done)) | (Some(_), Some(done @ Err(Error::Broken(_)))) => done,
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err(Error::Unavailable(
                "the write was not carried out".to_owned(),
            )),
        };
        // A caller who has gone away does not change what is stored.
        let _ = self.caller.send(answer);
    }
}

/// The way to the writing thread.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    announced: watch::Receiver<u64>,
}

impl Writer {
    pub(super) fn start(
        db: Connection,
        checkpointer: Checkpointer,
        owners: Arc<Owners>,
        newest: u64,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (notify, announced) = watch::channel(newest);
        let scribe = Scribe {
            checkpointer,
            db,
            owners,
            notify,
        };
        let thread = std::thread::Builder::new()
            .name("postrider-writer".into())
            .spawn(move || scribe.run(queue))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            announced,
        })
    }

    /// Carries `work` out in a transaction shared with others and returns after the commit. It may be called twice,
    /// the first time in vain.
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

    /// The newest announcement that this process has committed.
    pub(super) fn announced(&self) -> watch::Receiver<u64> {
        self.announced.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // What was handed over is still written; the thread ends when the queue is empty.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the writing thread has in its hands.
struct Scribe {
    // Ends before the connection is closed, so that this is the last one.
    checkpointer: Checkpointer,
    db: Connection,
    owners: Arc<Owners>,
    notify: watch::Sender<u64>,
}

impl Scribe {
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
                tracing::warn!(writes = group.len(), %error, "store.commit_failed");
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
        // Left open if rolling back failed the last time.
        self.roll_back()?;
        self.statement("BEGIN IMMEDIATE")?.execute([])?;
        let mut tx = Tx {
            db: &self.db,
            owners: &self.owners,
            guard,
            spoiled: false,
            panicked: false,
            counted: Vec::new(),
            announced: 0,
        };
        let written = Self::carry_out(group, &mut tx);
        let (spoiled, announced) = (tx.spoiled, tx.announced);
        if spoiled || written.is_err() {
            self.roll_back()?;
            return written.map(|()| Ending::Spoiled);
        }
        if let Err(error) = self.statement("COMMIT")?.execute([]) {
            self.roll_back()?;
            return Err(error.into());
        }
        if announced > 0 {
            self.notify
                .send_modify(|newest| *newest = (*newest).max(announced));
        }
        Ok(Ending::Committed)
    }

    fn carry_out(group: &mut [Box<dyn Job>], tx: &mut Tx<'_>) -> std::result::Result<(), Fault> {
        for job in group {
            job.run(tx);
            if tx.panicked {
                let why = "another write of the same group has panicked";
                return Err(Fault::Port(Error::Unavailable(why.to_owned())));
            }
            if tx.spoiled {
                return Ok(());
            }
            tx.still_open()?;
        }
        stats::add_up(tx.db, &tx.counted)
    }

    /// SQLite itself rolls back after some errors, after others not.
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

/// How parts of a transaction are kept whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// Not at all: a part that fails spoils the transaction.
    None,
    /// Each by a savepoint.
    Savepoints,
}

enum Ending {
    Committed,
    Spoiled,
}

/// A write transaction.
pub(super) struct Tx<'a> {
    db: &'a Connection,
    /// Who is alive.
    pub(super) owners: &'a Owners,
    guard: Guard,
    spoiled: bool,
    panicked: bool,
    /// What was counted. Added up once before the commit: a busy webhook's counters change once, not hundreds of times.
    counted: Vec<CountedStats>,
    announced: u64,
}

impl<'a> Tx<'a> {
    /// A statement, parsed once and kept.
    pub(super) fn statement(&self, sql: &str) -> std::result::Result<CachedStatement<'a>, Fault> {
        Ok(self.db.prepare_cached(sql)?)
    }

    /// Runs a statement that returns nothing; how many rows it changed.
    pub(super) fn execute(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> std::result::Result<usize, Fault> {
        Ok(self.statement(sql)?.execute(params)?)
    }

    /// The connection, for reads that readers do as well.
    pub(super) fn db(&self) -> &'a Connection {
        self.db
    }

    /// All of `work` or nothing, whatever becomes of others in the same transaction.
    pub(super) fn whole<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        // Otherwise what is written would be committed by itself.
        self.still_open()?;
        if self.guard == Guard::None {
            let done = work(self);
            self.spoiled |= done.is_err();
            return done;
        }
        let (counted, announced) = (self.counted.len(), self.announced);
        self.execute("SAVEPOINT whole", [])?;
        let done = work(self);
        // After some errors SQLite has given up the whole transaction; then there is nothing to go back to.
        if self.db.is_autocommit() {
            return done;
        }
        if done.is_err() {
            self.counted.truncate(counted);
            self.announced = announced;
            self.execute("ROLLBACK TO whole", [])?;
        }
        self.execute("RELEASE whole", [])?;
        done
    }

    fn still_open(&self) -> std::result::Result<(), Fault> {
        if self.db.is_autocommit() {
            let why = "SQLite gave the transaction up, as it does when the disk is full or fails";
            return Err(Fault::Port(Error::Unavailable(why.to_owned())));
        }
        Ok(())
    }

    /// Counts something for its webhook and hour.
    pub(super) fn count(&mut self, counted: CountedStats) {
        self.counted.push(counted);
    }

    /// Notes that an announcement was written at this place.
    pub(super) fn announced(&mut self, seq: i64) {
        self.announced = self.announced.max(seq.unsigned_abs());
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
        let broken = store.writer.write::<(), _>(|_| panic!("a mistake")).await;
        assert!(matches!(broken, Err(Error::Broken(_))), "{broken:?}");
        let written = store
            .writer
            .write(|tx| tx.execute("INSERT INTO tenants VALUES ('default', 7)", []))
            .await;
        assert_eq!(written, Ok(1));
        assert_eq!(store.webhooks_version(&TenantId::default()).await, Ok(7));
    }
}
