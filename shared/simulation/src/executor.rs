//! One thread, virtual time, and an order of tasks that the seed decides. Tasks belong to processes, which can be frozen and
//! killed between any two polls.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::draws::Draws;

/// An environment of a function, or the world itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process(pub(super) u64);

impl Process {
    /// Clients, services and networks. It is never killed.
    pub(super) const WORLD: Self = Self(0);
}

type TaskId = u64;

struct Task {
    process: Process,
    /// `None` while it is polled.
    work: Option<BoxFuture<'static, ()>>,
}

#[derive(Default)]
struct Tasks {
    tasks: BTreeMap<TaskId, Task>,
    frozen_until: BTreeMap<Process, i64>,
    started: u64,
}

pub(super) struct Executor {
    now_ms: AtomicI64,
    tasks: Mutex<Tasks>,
    ready: Arc<Mutex<BTreeSet<TaskId>>>,
    timers: Mutex<BTreeMap<(i64, u64), Waker>>,
    slept: AtomicU64,
    draws: Arc<Draws>,
}

struct Woken {
    task: TaskId,
    ready: Arc<Mutex<BTreeSet<TaskId>>>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.ready.lock().insert(self.task);
    }
}

impl Executor {
    pub(super) fn new(now_ms: i64, draws: Arc<Draws>) -> Arc<Self> {
        Arc::new(Self {
            now_ms: AtomicI64::new(now_ms),
            tasks: Mutex::default(),
            ready: Arc::default(),
            timers: Mutex::default(),
            slept: AtomicU64::new(0),
            draws,
        })
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    pub(super) fn spawn(&self, process: Process, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        tasks.started += 1;
        let id = tasks.started;
        let work: Option<BoxFuture<'static, ()>> = Some(Box::pin(work));
        tasks.tasks.insert(id, Task { process, work });
        self.ready.lock().insert(id);
    }

    /// Ends all tasks of a process, wherever they are.
    pub(super) fn kill(&self, process: Process) {
        let mut tasks = self.tasks.lock();
        let dead = tasks
            .tasks
            .extract_if(.., |_, task| task.process == process);
        let dead: Vec<_> = dead.collect();
        drop(tasks);
        // Dropping a task may spawn or wake another one.
        drop(dead);
    }

    /// Stops a process for a while.
    pub(super) fn freeze(&self, process: Process, for_ms: i64) {
        let until = self.now_ms().saturating_add(for_ms);
        self.tasks.lock().frozen_until.insert(process, until);
    }

    /// Lets a process go on.
    pub(super) fn thaw(&self, process: Process) {
        self.tasks.lock().frozen_until.remove(&process);
    }

    /// Drops everything, so that tasks and world do not keep each other alive.
    pub(super) fn end(&self) {
        let tasks = std::mem::take(&mut self.tasks.lock().tasks);
        drop(tasks);
        self.timers.lock().clear();
    }

    /// Runs until `is_over` or no task can go on.
    pub(super) fn run(&self, mut is_over: impl FnMut() -> bool) {
        while !is_over() {
            if !self.poll_one() && !self.advance() {
                return;
            }
        }
    }

    /// Polls one of the tasks that are ready.
    fn poll_one(&self) -> bool {
        let Some((id, mut work)) = self.pick() else {
            return false;
        };
        let ready = Arc::clone(&self.ready);
        let waker = Waker::from(Arc::new(Woken { task: id, ready }));
        let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
        let mut tasks = self.tasks.lock();
        match (polled, tasks.tasks.get_mut(&id)) {
            (Poll::Pending, Some(task)) => task.work = Some(work),
            (Poll::Ready(()), Some(_)) => {
                tasks.tasks.remove(&id);
            }
            // It was killed while it was polled.
            (Poll::Pending | Poll::Ready(()), None) => {
                drop(tasks);
                drop(work);
            }
        }
        true
    }

    fn pick(&self) -> Option<(TaskId, BoxFuture<'static, ()>)> {
        let (mut tasks, mut ready) = (self.tasks.lock(), self.ready.lock());
        let now = self.now_ms();
        tasks.frozen_until.retain(|_, until| *until > now);
        ready.retain(|id| tasks.tasks.contains_key(id));
        let can_go = |id: &&TaskId| {
            let process = tasks.tasks[*id].process;
            !tasks.frozen_until.contains_key(&process)
        };
        let able: Vec<_> = ready.iter().filter(can_go).copied().collect();
        let id = match able.len() {
            0 => return None,
            1 => able[0],
            more => able[self.draws.index("order", more)],
        };
        ready.remove(&id);
        let work = tasks.tasks.get_mut(&id)?.work.take()?;
        Some((id, work))
    }

    /// Moves to the next time at which something happens.
    fn advance(&self) -> bool {
        let thaw = self.tasks.lock().frozen_until.values().min().copied();
        let mut timers = self.timers.lock();
        let timer = timers.first_key_value().map(|((at, _), _)| *at);
        let Some(next) = timer.into_iter().chain(thaw).min() else {
            return false;
        };
        self.now_ms.fetch_max(next, Ordering::Relaxed);
        let mut due = Vec::new();
        while let Some(first) = timers.first_entry()
            && first.key().0 <= next
        {
            due.push(first.remove());
        }
        drop(timers);
        due.into_iter().for_each(Waker::wake);
        true
    }

    pub(super) fn sleep(self: &Arc<Self>, ms: i64) -> Sleep {
        let number = self.slept.fetch_add(1, Ordering::Relaxed);
        Sleep {
            executor: Arc::clone(self),
            place: (self.now_ms() + ms.max(0), number),
        }
    }
}

pub(super) struct Sleep {
    executor: Arc<Executor>,
    place: (i64, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.executor.now_ms() >= self.place.0 {
            return Poll::Ready(());
        }
        let mut timers = self.executor.timers.lock();
        timers.insert(self.place, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.executor.timers.lock().remove(&self.place);
    }
}
