//! The way from the gateway to its store. Every call is a place where the disk can fail, before or after the write was done, and
//! where the process can stand still or die.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use postrider_adapter_dev::{DevStore, DevTransport, Pass, Served, carry_out};
use postrider_adapter_local::SqliteStore;
use postrider_domain::outcome::Outcome;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::sender::Post;
use postrider_ports::{Error, Result};

use crate::draws::Fault;
use crate::executor::Process;
use crate::flaw::Flaw;
use crate::world::World;

const PASS: [u8; 32] = [3; 32];
/// How far the clock of the machine jumps.
const JUMP_MS: i64 = 2 * 3_600_000;
/// How long after the answer a write is done by a store that answers too early.
const TOO_LATE_MS: i64 = 2000;

pub(super) struct Disk {
    pub(super) world: Arc<World>,
    pub(super) store: Arc<SqliteStore>,
    process: Process,
}

impl Disk {
    pub(super) const fn new(world: Arc<World>, process: Process, store: Arc<SqliteStore>) -> Self {
        Self {
            world,
            store,
            process,
        }
    }

    fn fault(&self) -> Option<Fault> {
        let faults = [
            Fault::Unreachable,
            Fault::AnswerLost,
            Fault::KilledBefore,
            Fault::KilledAfter,
        ];
        let mut faults = faults.into_iter();
        faults.find(|fault| self.world.draws.strikes(*fault))
    }

    fn delay(&self) -> i64 {
        let draws = &self.world.draws;
        if draws.strikes(Fault::Slow) {
            let for_ms = draws.between("slow", 500, 5000);
            self.world
                .audit
                .stall(self.world.executor.now_ms() + for_ms);
            return for_ms;
        }
        draws.between("delay", 0, 5)
    }

    /// Makes a call. It belongs to the process: with it, it is gone.
    pub(super) async fn call<T>(
        &self,
        what: &str,
        effect: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let world = &self.world;
        let fault = self.fault();
        if let Some(fault) = fault {
            let process = self.process.0;
            world.note(&format!("process {process} {what}: {fault:?}"));
        }
        self.disturb();
        let (before, after) = (self.delay(), self.delay());
        world.executor.sleep(before).await;
        match fault {
            Some(Fault::KilledBefore) => return self.die().await,
            Some(Fault::Unreachable) => {
                return Err(Error::Unavailable("simulated: before".to_owned()));
            }
            Some(_) | None => {}
        }
        let result = self.carry_out(effect);
        if fault == Some(Fault::KilledAfter) {
            return self.die().await;
        }
        world.executor.sleep(after).await;
        if fault == Some(Fault::AnswerLost) {
            return Err(Error::Unavailable("simulated: after".to_owned()));
        }
        result
    }

    /// The clock jumps, or the process stands still.
    fn disturb(&self) {
        let (world, draws) = (&self.world, &self.world.draws);
        let machine = world.machine().expect("the embedded gateway has one");
        if draws.strikes(Fault::ClockJump) {
            let ahead = draws.between("jump", -JUMP_MS, JUMP_MS);
            world.note(&format!("the clock is ahead by {} s", ahead / 1000));
            machine.clock().jump(ahead);
            world.audit.jump(world.executor.now_ms());
        }
        if draws.strikes(Fault::Frozen) {
            let for_ms = draws.between("freeze", 100, 60_000);
            world.note(&format!("the process stands still for {for_ms} ms"));
            world.audit.stall(world.executor.now_ms() + for_ms);
            world.executor.freeze(self.process, for_ms);
        }
    }

    /// Reads or writes, in no time.
    fn carry_out<T>(&self, effect: impl Future<Output = T>) -> T {
        let machine = self.world.machine().expect("the embedded gateway has one");
        let result = machine.carry_out(effect);
        if self.has(Flaw::ForgetsClaims) && self.world.draws.below("forgotten", 4) == 0 {
            machine.forget_claims();
        }
        let (audit, now_ms) = (&self.world.audit, self.world.executor.now_ms());
        for (id, before, after) in machine.take_changes() {
            match (before, after) {
                (before, Some(after)) => audit.row_changed(&id, before, after, now_ms),
                (Some(before), None) => audit.row_removed(&id, before, now_ms),
                (None, None) => {}
            }
        }
        result
    }

    async fn die<T>(&self) -> T {
        self.world.kill_embedded(self.process);
        pending().await
    }

    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.world.flaw == Some(flaw)
    }

    /// With a flaw, the write is done after the answer, and not at all if the process has died by then.
    pub(super) fn later<F>(&self, effect: F)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (world, process) = (Arc::clone(&self.world), self.process);
        let doer = Self::new(Arc::clone(&world), process, Arc::clone(&self.store));
        world.executor.spawn(process, async move {
            doer.world.executor.sleep(TOO_LATE_MS).await;
            doer.carry_out(effect);
        });
    }

    /// Sends a request, and may die after it.
    pub(super) async fn send(&self, request: &Post) -> Outcome {
        let outcome = self.world.post(self.process, request).await;
        if self.world.draws.strikes(Fault::KilledAfter) {
            return self.die().await;
        }
        outcome
    }
}

/// The calls that every store has.
struct Line(Arc<Disk>);

/// Nothing calls it: messages of the embedded gateway stay in the process.
struct NoQueue;

#[async_trait]
impl Queue for NoQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        panic!("sent {messages:?}")
    }

    async fn depth(&self) -> Result<u64> {
        panic!("asked for its depth")
    }
}

#[async_trait]
impl DevTransport for Line {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Vec<u8>> {
        let served = Served {
            store: Arc::clone(&self.0.store) as _,
            process: self.0.store.process().to_owned(),
            queue: Arc::new(NoQueue),
        };
        let pass = Pass::new(PASS);
        let work = carry_out(&served, &pass, path, &body);
        let Some(verb) = path.strip_prefix("/ports/") else {
            return work.await;
        };
        self.0.call(verb, work).await
    }
}

/// The store as the gateway sees it.
pub(super) fn store(disk: &Arc<Disk>) -> DevStore {
    let line = Box::new(Line(Arc::clone(disk)));
    let opened = DevStore::over(line, &Pass::new(PASS)).now_or_never();
    opened.expect("it does not wait").unwrap()
}
