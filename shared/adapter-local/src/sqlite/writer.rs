//! The single thread that writes: it takes whatever has queued up, commits it together and answers after the commit.
//!
//! A lone caller never waits for others, and many callers share one sync of the disk. Nothing is acknowledged that is
//! not durable: if the commit fails, every caller of the group gets the error, and the next group starts fresh.
//!
//! Some writes can wait a few milliseconds: the result of a successful delivery is of interest to history only. Such a write
//! joins the next commit, which most often is that of the next event, and starts one of its own if none comes in time.
//!
//! Each job is all or nothing. Savepoints would ensure that, but each of them copies every page it touches, and jobs
//! rarely fail. So a group first runs without savepoints; only if something in it fails is the whole group rolled back
//! and run again, this time with a savepoint around each part.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use postrider_ports::{Error, Result};
use rusqlite::{CachedStatement, Connection};
use tokio::sync::{mpsc, oneshot, watch};

use super::checkpoint::Checkpointer;
use super::fault::Fault;
use super::locks::Owners;
use super::memory::Memory;
use super::statements::Statements;
use super::stats::{self, CountedStats};

/// How many jobs may be queued; further callers wait for a slot.
const QUEUE: usize = 1024;
/// How many jobs one commit may contain: enough to share a sync well, few enough that the first does not wait long for
/// the last.
const GROUP: usize = 256;

/// A commit with this many writes shows that there is load.
const LOAD: usize = 8;
/// Under load, up to this long passes before the next commit, as long as more writes arrive. Each commit writes the same busy
/// pages again, so fewer and larger ones cost less for each write; and under load a caller waits longer than this anyway.
const GATHER: Duration = Duration::from_millis(2);
/// If none arrives for so long, every caller waits for the commit.
const GATHER_STEP: Duration = Duration::from_micros(250);

/// So many patient writes do not wait any longer, so that a kill repeats few requests.
const PATIENT_GROUP: usize = 16;

/// What the thread is sent.
enum Message {
    Write(Box<dyn Job>),
    /// The patient writes have waited long enough.
    Hurry,
}

/// A write, and the caller waiting for it.
trait Job: Send {
    /// Runs the write. May be called again, in another transaction.
    fn run(&mut self, tx: &mut Tx<'_, '_>);
    fn answer(self: Box<Self>, lost: Option<&Error>);
}

struct Task<F, T> {
    work: F,
    done: Option<Result<T>>,
    caller: oneshot::Sender<Result<T>>,
}

impl<F, T> Job for Task<F, T>
where
    F: FnMut(&mut Tx<'_, '_>) -> std::result::Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut Tx<'_, '_>) {
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
    jobs: Option<mpsc::Sender<Message>>,
    patient: Arc<Mutex<Vec<Box<dyn Job>>>>,
    patience: Duration,
    thread: Option<JoinHandle<()>>,
    newest_notification: watch::Receiver<u64>,
}

impl Writer {
    pub(super) fn start(
        db: Connection,
        checkpointer: Checkpointer,
        owners: Arc<Owners>,
        newest: u64,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let patient = Arc::default();
        let (notify, newest_notification) = watch::channel(newest);
        let writer = WriterThread {
            checkpointer,
            db,
            owners,
            notify,
            patient: Arc::clone(&patient),
            memory: Memory::default(),
        };
        let thread = std::thread::Builder::new()
            .name("postrider-writer".into())
            .spawn(move || writer.run(queue))?;
        Ok(Self {
            jobs: Some(jobs),
            patient,
            patience,
            thread: Some(thread),
            newest_notification,
        })
    }

    /// Runs `work` in a transaction shared with others and returns after the commit. `work` may be called twice, with
    /// the first call rolled back.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        F: FnMut(&mut Tx<'_, '_>) -> std::result::Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        let (task, answer) = task(work);
        self.send(Message::Write(task)).await?;
        answer.await.map_err(|_| stopped())?
    }

    /// The same for a write that nothing waits for: it joins the commit of another one, unless none comes in time.
    pub(super) async fn write_patiently<T, F>(&self, work: F) -> Result<T>
    where
        F: FnMut(&mut Tx<'_, '_>) -> std::result::Result<T, Fault> + Send + 'static,
        T: Send + 'static,
    {
        if self.patience.is_zero() {
            return self.write(work).await;
        }
        let (task, mut answer) = task(work);
        let waiting = {
            let mut patient = self.patient.lock();
            patient.push(task);
            patient.len()
        };
        if waiting < PATIENT_GROUP
            && let Ok(answer) = tokio::time::timeout(self.patience, &mut answer).await
        {
            return answer.map_err(|_| stopped())?;
        }
        if waiting <= PATIENT_GROUP {
            self.send(Message::Hurry).await?;
        }
        answer.await.map_err(|_| stopped())?
    }

    async fn send(&self, message: Message) -> Result<()> {
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(message).await.map_err(|_| stopped())
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

fn stopped() -> Error {
    Error::Broken("the store has stopped writing".to_owned())
}

/// A write, and where its result will be.
fn task<T, F>(work: F) -> (Box<dyn Job>, oneshot::Receiver<Result<T>>)
where
    F: FnMut(&mut Tx<'_, '_>) -> std::result::Result<T, Fault> + Send + 'static,
    T: Send + 'static,
{
    let (caller, answer) = oneshot::channel();
    let task = Task {
        work,
        done: None,
        caller,
    };
    (Box::new(task), answer)
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
    patient: Arc<Mutex<Vec<Box<dyn Job>>>>,
    memory: Memory,
}

impl WriterThread {
    fn run(self, mut queue: mpsc::Receiver<Message>) {
        let statements = Statements::of(&self.db);
        let mut group = Vec::with_capacity(GROUP);
        let mut written = 0;
        while let Some(first) = queue.blocking_recv() {
            if written >= LOAD {
                self.gather(&queue);
            }
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Write(job) => group.push(job),
                    Message::Hurry => {}
                }
                if group.len() < GROUP {
                    next = queue.try_recv().ok();
                }
            }
            written = self.write_all(&statements, &mut group);
        }
        self.write_all(&statements, &mut group);
    }

    /// Waits while more writes arrive.
    fn gather(&self, queue: &mpsc::Receiver<Message>) {
        let mut arrived = 0;
        for _ in 0..GATHER.as_micros() / GATHER_STEP.as_micros() {
            std::thread::park_timeout(GATHER_STEP);
            let before = arrived;
            arrived = queue.len() + self.patient.lock().len();
            if arrived == before {
                return;
            }
        }
    }

    /// Writes a group together with all patient writes; returns how many there were.
    fn write_all(&self, statements: &Statements<'_>, group: &mut Vec<Box<dyn Job>>) -> usize {
        group.append(&mut self.patient.lock());
        if group.is_empty() {
            return 0;
        }
        let writes = group.len();
        let lost = self.commit(statements, group).map_err(Error::from).err();
        if let Some(error) = &lost {
            tracing::warn!(event = "store.commit_failed", writes = group.len(), %error, "a commit failed; its writes were rejected");
        }
        for job in group.drain(..) {
            job.answer(lost.as_ref());
        }
        self.checkpointer.after_commit(&self.db);
        writes
    }

    fn commit(
        &self,
        statements: &Statements<'_>,
        group: &mut [Box<dyn Job>],
    ) -> std::result::Result<(), Fault> {
        match self.commit_with(statements, group, Guard::None)? {
            Ending::Committed => Ok(()),
            Ending::Spoiled => self
                .commit_with(statements, group, Guard::Savepoints)
                .map(drop),
        }
    }

    fn commit_with(
        &self,
        statements: &Statements<'_>,
        group: &mut [Box<dyn Job>],
        guard: Guard,
    ) -> std::result::Result<Ending, Fault> {
        if !self.db.is_autocommit() {
            // Still open if rolling back failed last time.
            self.roll_back(statements)?;
        }
        statements.execute("BEGIN IMMEDIATE", [])?;
        self.memory.check(&self.db)?;
        let mut tx = Tx {
            db: &self.db,
            statements,
            memory: &self.memory,
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
            self.roll_back(statements)?;
            return written.map(|()| Ending::Spoiled);
        }
        if let Err(error) = statements.execute("COMMIT", []) {
            self.roll_back(statements)?;
            return Err(error.into());
        }
        if newest_notification > 0 {
            self.notify
                .send_modify(|newest| *newest = (*newest).max(newest_notification));
        }
        Ok(Ending::Committed)
    }

    fn run_all(group: &mut [Box<dyn Job>], tx: &mut Tx<'_, '_>) -> std::result::Result<(), Fault> {
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
        stats::add_up(tx.db, tx.memory, &tx.counted)
    }

    /// SQLite rolls back automatically after some errors, but not after others.
    fn roll_back(&self, statements: &Statements<'_>) -> std::result::Result<(), Fault> {
        if !self.db.is_autocommit() {
            statements.execute("ROLLBACK", [])?;
        }
        self.memory.forget();
        Ok(())
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

pub(super) struct Tx<'a, 'db> {
    db: &'a Connection,
    statements: &'a Statements<'db>,
    pub(super) memory: &'a Memory,
    pub(super) owners: &'a Owners,
    guard: Guard,
    spoiled: bool,
    panicked: bool,
    /// Added up once before the commit: a busy webhook's counters change once, not hundreds of times.
    counted: Vec<CountedStats>,
    newest_notification: u64,
}

impl<'a> Tx<'a, '_> {
    /// A cached prepared statement.
    pub(super) fn statement(&self, sql: &str) -> std::result::Result<CachedStatement<'a>, Fault> {
        Ok(self.db.prepare_cached(sql)?)
    }

    /// Runs a statement that returns no rows; returns how many rows it changed.
    pub(super) fn execute(
        &self,
        sql: &'static str,
        params: impl rusqlite::Params,
    ) -> std::result::Result<usize, Fault> {
        Ok(self.statements.execute(sql, params)?)
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
            self.memory.forget();
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
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use postrider_domain::ids::TenantId;
    use postrider_ports::Error;
    use postrider_ports::configs::Webhooks;
    use postrider_ports::vitals::Vitals;
    use tokio::task::JoinSet;

    use super::{Job, Message, PATIENT_GROUP, Tx};
    use crate::sqlite::fault::Fault;

    use crate::sqlite::{SqliteOptions, SqliteStore};

    const HOUR: Duration = Duration::from_secs(3600);

    fn patient(dir: &Path, patience: Duration) -> Arc<SqliteStore> {
        let options = SqliteOptions {
            patience,
            ..SqliteOptions::default()
        };
        SqliteStore::open(dir, options).unwrap()
    }

    /// Gives a tenant this version of its webhooks.
    fn version(tenant: &'static str) -> impl FnMut(&mut Tx<'_, '_>) -> Result<usize, Fault> + Send {
        move |tx| {
            tx.execute(
                "INSERT INTO tenants (tenant, config_version) VALUES (?1, 7)",
                [tenant],
            )
        }
    }

    #[tokio::test]
    async fn a_commit_is_synced_before_it_is_answered() {
        let dir = tempfile::tempdir().unwrap();
        let store = patient(dir.path(), HOUR);
        let settings = store.writer.write(|tx| {
            let db = tx.db();
            let mode: String = db.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
            let synchronous: i64 = db.pragma_query_value(None, "synchronous", |row| row.get(0))?;
            let full: bool = db.pragma_query_value(None, "fullfsync", |row| row.get(0))?;
            Ok((mode, synchronous, full))
        });
        // FULL: with a write-ahead log, every commit syncs the log.
        assert_eq!(settings.await, Ok(("wal".to_owned(), 2, true)));
    }

    #[tokio::test]
    async fn a_patient_write_joins_the_next_commit() {
        let dir = tempfile::tempdir().unwrap();
        let store = patient(dir.path(), HOUR);
        let (waits, next) = tokio::join!(
            store.writer.write_patiently(version("default")),
            store.writer.write(version("other")),
        );
        assert_eq!((waits, next), (Ok(1), Ok(1)));
    }

    #[tokio::test]
    async fn a_patient_write_does_not_wait_forever() {
        let dir = tempfile::tempdir().unwrap();
        let store = patient(dir.path(), Duration::from_millis(1));
        let written = store.writer.write_patiently(version("default")).await;
        assert_eq!(written, Ok(1));
    }

    #[tokio::test]
    async fn many_patient_writes_do_not_wait_for_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let store = patient(dir.path(), HOUR);
        let mut many = JoinSet::new();
        for _ in 0..PATIENT_GROUP {
            let store = Arc::clone(&store);
            many.spawn(async move { store.writer.write_patiently(|_| Ok(())).await });
        }
        assert!(many.join_all().await.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn a_patient_write_whose_caller_is_gone_is_written_when_the_store_closes() {
        let dir = tempfile::tempdir().unwrap();
        let store = patient(dir.path(), HOUR);
        let write = store.writer.write_patiently(version("default"));
        let waits = tokio::time::timeout(Duration::from_millis(1), write).await;
        assert!(waits.is_err());
        drop(store);
        let store = patient(dir.path(), HOUR);
        assert_eq!(store.webhooks_version(&TenantId::default()).await, Ok(7));
    }

    #[tokio::test]
    async fn a_write_that_panics_does_not_end_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), SqliteOptions::default()).unwrap();
        let broken = store.writer.write::<(), _>(|_| panic!("a bug")).await;
        assert!(matches!(broken, Err(Error::Broken(_))), "{broken:?}");
        let written = store
            .writer
            .write(|tx| {
                tx.execute(
                    "INSERT INTO tenants (tenant, config_version) VALUES ('default', 7)",
                    [],
                )
            })
            .await;
        assert_eq!(written, Ok(1));
        assert_eq!(store.webhooks_version(&TenantId::default()).await, Ok(7));
    }

    /// Fails where nothing is expected to, outside the write itself.
    struct Bug;

    impl Job for Bug {
        fn run(&mut self, _: &mut Tx<'_, '_>) {}

        fn answer(self: Box<Self>, _: Option<&Error>) {
            panic!("a bug");
        }
    }

    #[tokio::test]
    async fn a_store_whose_writing_thread_has_ended_says_so_and_accepts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = patient(dir.path(), Duration::from_millis(1));
        assert!(store.is_alive());
        assert_eq!(store.check().await, Ok(()));
        store
            .writer
            .send(Message::Write(Box::new(Bug)))
            .await
            .unwrap();
        // The queue is closed while the thread unwinds, shortly before it has ended.
        while store.is_alive() {
            tokio::task::yield_now().await;
        }
        let stopped = Error::Broken("the store has stopped writing".to_owned());
        assert_eq!(store.check().await, Err(stopped.clone()));
        let written = store.writer.write(version("default")).await;
        assert_eq!(written, Err(stopped.clone()));
        let written = store.writer.write_patiently(version("default")).await;
        assert_eq!(written, Err(stopped));
        assert_eq!(store.webhooks_version(&TenantId::default()).await, Ok(0));
    }
}
