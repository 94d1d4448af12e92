//! The way from a process to the services. Every call is a place where it can fail, its answer can be lost, its effect can
//! come late, and its process can stand still or die.

use std::future::pending;
use std::sync::Arc;

use crate::dynamodb::{
    ItemChange, NoAnswer, Reply, Request, SdkResponse, Transport, View, key_service,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::TABLE;
use super::clock::ProcessClock;
use super::draws::Fault;
use super::executor::Process;
use super::flaw::Flaw;
use super::functions::Function;
use super::world::World;

/// How long after it has expired an item is deleted at the latest: "within a few days".
const LATEST_EXPIRY_MS: i64 = 2 * 86_400_000;

/// The connections of one process.
pub(super) struct Wire {
    pub(super) world: Arc<World>,
    pub(super) process: Process,
    pub(super) function: Function,
    pub(super) clock: Arc<ProcessClock>,
}

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// It had no effect.
    Throttled,
    /// It may have had its effect.
    NoAnswer,
}

impl From<Failed> for postrider_ports::Error {
    fn from(failed: Failed) -> Self {
        Self::Unavailable(format!("simulated: {failed:?}"))
    }
}

impl Wire {
    /// The first fault that strikes a call.
    fn fault(&self) -> Option<Fault> {
        let faults = [
            Fault::Throttled,
            Fault::Unreachable,
            Fault::AnswerLost,
            Fault::LateEffect,
            Fault::KilledBefore,
            Fault::KilledAfter,
        ];
        let mut faults = faults.into_iter();
        faults.find(|fault| self.world.draws.strikes(*fault))
    }

    fn delay(&self) -> i64 {
        let draws = &self.world.draws;
        if draws.strikes(Fault::Slow) {
            return draws.between("slow", 500, 5000);
        }
        draws.between("delay", 0, 15)
    }

    /// Makes a call. Its effect is the world's: it happens even if the process is gone by then.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        what: &str,
        effect: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, Failed> {
        let (world, draws) = (&self.world, &self.world.draws);
        let fault = self.fault();
        if let Some(fault) = fault {
            world.note(&format!("{self} {what}: {fault:?}"));
            world.audit.fault(self.function);
        }
        if draws.strikes(Fault::ClockJump) {
            self.clock.jump(draws.between("jump", -1000, 1000));
        }
        if draws.strikes(Fault::Frozen) {
            let for_ms = draws.between("freeze", 100, 2000);
            world.note(&format!("{self} {what}: stands still for {for_ms} ms"));
            world.executor.freeze(self.process, for_ms);
        }
        let (before, after) = (self.delay(), self.delay());
        match fault {
            Some(Fault::Throttled) => {
                world.executor.sleep(before).await;
                return Err(Failed::Throttled);
            }
            Some(Fault::Unreachable) => {
                world.executor.sleep(before + 1000).await;
                return Err(Failed::NoAnswer);
            }
            Some(Fault::KilledBefore) => return self.die().await,
            Some(_) | None => {}
        }
        let late = match fault {
            Some(Fault::LateEffect) => draws.between("late", 1000, self.longest_late()),
            Some(_) | None => 0,
        };
        let (done, answer) = oneshot::channel();
        let doer = Arc::clone(world);
        world.executor.spawn(Process::WORLD, async move {
            doer.executor.sleep(before + late).await;
            let result = effect(&doer);
            doer.executor.sleep(after).await;
            // The caller may be gone.
            let _ = done.send(result);
        });
        match fault {
            Some(Fault::KilledAfter) => self.die().await,
            Some(Fault::LateEffect) => {
                world.executor.sleep(1000).await;
                Err(Failed::NoAnswer)
            }
            Some(Fault::AnswerLost) => {
                let _ = answer.await;
                Err(Failed::NoAnswer)
            }
            Some(_) | None => answer.await.map_err(|_| Failed::NoAnswer),
        }
    }

    /// Without fencing, a late result does harm only after the next attempt, which begins 30 s later at the earliest.
    fn longest_late(&self) -> i64 {
        if self.world.flaw == Some(Flaw::DoesNotFence) {
            120_000
        } else {
            30_000
        }
    }

    async fn die<T>(&self) -> T {
        self.world.kill(self.process);
        pending().await
    }
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.function, self.process.0)
    }
}

/// What an eventually consistent reader sees now.
struct Seen<'a>(&'a World);

impl View for Seen<'_> {
    fn now_ms(&self) -> i64 {
        self.0.executor.now_ms()
    }

    fn index_lag_ms(&mut self) -> i64 {
        let draws = &self.0.draws;
        match draws.strikes(Fault::IndexLag) {
            true => draws.between("lag", 100, 20_000),
            false => 0,
        }
    }

    fn is_stale(&mut self) -> bool {
        self.0.draws.strikes(Fault::StaleRead)
    }

    fn page_limit(&mut self) -> Option<usize> {
        let draws = &self.0.draws;
        let is_short = draws.strikes(Fault::ShortPage);
        is_short.then(|| 1 + draws.index("page", 3))
    }

    fn expiry_lag_ms(&mut self) -> i64 {
        self.0.draws.between("expiry", 0, LATEST_EXPIRY_MS)
    }
}

impl World {
    /// Carries out a request to the table.
    pub(super) fn table_call(&self, operation: &str, request: &Value) -> Reply {
        let mut database = self.database.lock();
        let mut reply = database.handle(operation, request, &mut Seen(self));
        let changes = database.take_changes(TABLE);
        drop(database);
        self.tell(&changes);
        if let Some(flaw) = self.flaw {
            flaw.spoil_reply(operation, &mut reply.body);
        }
        reply
    }

    /// Deletes what has expired, and returns when the next item is deleted.
    pub(super) fn delete_expired(&self) -> Option<i64> {
        let mut database = self.database.lock();
        let next = database.expire(&mut Seen(self));
        let changes = database.take_changes(TABLE);
        drop(database);
        self.tell(&changes);
        next
    }

    /// Passes changes on to the audit and the stream.
    fn tell(&self, changes: &[ItemChange]) {
        for change in changes {
            self.audit.changed(change);
            if change.is_expiry {
                let (pk, sk) = (change.pk(), change.sk());
                self.note(&format!("{pk} {sk} has expired"));
                if sk == "event" {
                    self.event_removed(&pk);
                }
            }
            if !change.is_expiry || self.flaw != Some(Flaw::OverlooksExpiry) {
                self.streams.add(change);
            }
        }
    }

    fn acknowledges_early(&self, function: Function, request: &Value) -> bool {
        let is_row = request["Item"]["sk"]["S"].as_str();
        self.flaw == Some(Flaw::AcknowledgesEarly)
            && function == Function::Api
            && is_row.is_some_and(|sk| sk.starts_with("delivery#"))
    }
}

impl Transport for Arc<Wire> {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<SdkResponse, NoAnswer>> {
        let wire = Self::clone(self);
        async move {
            let (service, operation) = request.target.split_once('.').unwrap_or_default();
            let mut body: Value = serde_json::from_slice(&request.body).unwrap();
            if service == "TrentService" {
                return Ok(key_service(operation, &body).into());
            }
            if let Some(flaw) = wire.world.flaw {
                flaw.spoil(operation, &mut body);
            }
            let operation = operation.to_owned();
            if wire.world.acknowledges_early(wire.function, &body) {
                // In the process's own time, so that it dies with the process.
                let world = Arc::clone(&wire.world);
                wire.world.executor.spawn(wire.process, async move {
                    world.executor.sleep(2000).await;
                    world.table_call(&operation, &body);
                });
                let reply = Reply {
                    status: 200,
                    body: json!({}),
                };
                return Ok(reply.into());
            }
            let what = operation.clone();
            let effect = move |world: &World| world.table_call(&operation, &body);
            match Wire::call(&wire, &what, effect).await {
                Ok(reply) => Ok(reply.into()),
                Err(Failed::Throttled) => Ok(Reply::throttled(&what).into()),
                Err(Failed::NoAnswer) => Err(NoAnswer),
            }
        }
        .boxed()
    }
}
