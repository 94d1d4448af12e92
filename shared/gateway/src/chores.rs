//! Work that operators leave behind: ends deliveries of deleted webhooks, continues bulk retries and erasures, and asks for
//! probes.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join4;
use postrider_domain::ids::{ErasureId, JobId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::ChoreStore;
use postrider_ports::erasures::Erasure;
use postrider_ports::jobs::RetryJob;
use postrider_ports::queue::{ProbeMessage, Queue};
use tokio::select;

use crate::erasing::{Erasing, is_due};
use crate::retries::Retries;
use crate::{GatewayError, Ports, telemetry};

/// How many rows one write changes; small, because publishers wait for it.
const SLICE: usize = 500;
/// How many probes are requested at a time.
const PROBES_AT_ONCE: usize = 100;
/// How long a turn may last: other housekeeping and requests for probes wait for its end.
const LONGEST_TURN: Millis = Millis::from_seconds(60);

/// Runs the chores, slice by slice.
pub struct Chores {
    ports: Ports<dyn ChoreStore>,
    queue: Arc<dyn Queue>,
    retries: Retries,
    erasing: Erasing,
}

impl Chores {
    /// `queue` gets the messages of requeued rows and of probes.
    #[must_use]
    pub fn new(ports: impl Into<Ports<dyn ChoreStore>>, queue: Arc<dyn Queue>) -> Self {
        let ports = ports.into();
        let retries = Retries::new(ports.clone(), Arc::clone(&queue));
        let erasing = Erasing::new(ports.clone());
        Self {
            ports,
            queue,
            retries,
            erasing,
        }
    }

    /// Asks for probes, then alternately ends rows of deleted webhooks and runs a slice of a bulk retry and of an erasure, until
    /// nothing is left to do or the turn has lasted a minute. A failing step is logged and left to the next turn.
    pub async fn turn(&self) {
        self.ask_for_probes().await;
        let mut jobs = Turns::default();
        let mut erasures = Turns::default();
        let ends_at = self.ports.clock.now().plus(LONGEST_TURN);
        while !ends_at.is_due(self.ports.clock.now(), LONGEST_TURN) {
            let ended = self.end_deliveries_of_deleted_webhooks().await;
            let carried_on = self.carry_on_job(&mut jobs).await;
            let erased = self.carry_on_erasure(&mut erasures).await;
            if !ended && !carried_on && !erased {
                return;
            }
        }
    }

    /// All chores at the same time, so that none waits for another, interrupted at `deadline`. An interrupted slice runs
    /// again.
    pub async fn turn_until(&self, deadline: Timestamp) {
        let end_deliveries = async { while self.end_deliveries_of_deleted_webhooks().await {} };
        let carry_on_jobs = async {
            let mut jobs = Turns::default();
            while self.carry_on_job(&mut jobs).await {}
        };
        let carry_on_erasures = async {
            let mut erasures = Turns::default();
            while self.carry_on_erasure(&mut erasures).await {}
        };
        select! {
            biased;
            ((), (), (), ()) = join4(self.ask_for_probes(), end_deliveries, carry_on_jobs, carry_on_erasures) => {}
            () = self.ports.clock.sleep_until(deadline) => telemetry::chores_unfinished(),
        }
    }

    /// Asks for probes of failed webhooks with `auto_resume`. A probe is requested until a worker begins it.
    async fn ask_for_probes(&self) {
        let now = self.ports.clock.now();
        match self.ports.store.probes_due(PROBES_AT_ONCE, now).await {
            Ok(due) if due.is_empty() => {}
            Ok(due) => {
                let probe = |(tenant, webhook)| ProbeMessage { tenant, webhook }.into();
                let messages = due.into_iter().map(probe);
                self.queue.send(messages.collect()).await;
            }
            Err(error) => telemetry::sweep_failed("probes", &error),
        }
    }

    /// Ends a slice of rows of deleted webhooks; returns whether there may be more.
    async fn end_deliveries_of_deleted_webhooks(&self) -> bool {
        let now = self.ports.clock.now();
        match self
            .ports
            .store
            .end_deliveries_of_deleted_webhooks(SLICE, now)
            .await
        {
            Ok(0) => false,
            Ok(rows) => {
                telemetry::swept("end_deliveries_of_deleted_webhooks", rows);
                true
            }
            Err(error) => {
                telemetry::sweep_failed("end_deliveries_of_deleted_webhooks", &error);
                false
            }
        }
    }

    /// Runs a slice of the next bulk retry, round-robin; returns whether any is left. A failing one does not hold up the
    /// others.
    async fn carry_on_job(&self, turns: &mut Turns<JobId>) -> bool {
        let running = match self.ports.store.unfinished_jobs().await {
            Ok(running) => running,
            Err(error) => {
                telemetry::sweep_failed("retries", &error);
                return false;
            }
        };
        let Some((tenant, job)) = turns.next(running, |job: &RetryJob| job.id) else {
            return false;
        };
        let id = job.id;
        if let Err(reason) = self.retries.carry_on(&tenant, job).await {
            telemetry::retry_job_failed(id, &reason);
            if !matches!(&reason, GatewayError::Store(error) if error.is_transient()) {
                self.give_up(&tenant, id).await;
            }
            turns.failed.insert(id);
        }
        true
    }

    /// Runs a step of the next erasure that is due, round-robin; returns whether there was one. A failing one does not hold up
    /// the others, and neither does the deletion of a large tenant.
    async fn carry_on_erasure(&self, turns: &mut Turns<ErasureId>) -> bool {
        let mut unfinished = match self.ports.store.unfinished_erasures().await {
            Ok(unfinished) => unfinished,
            Err(error) => {
                telemetry::sweep_failed("erasures", &error);
                return false;
            }
        };
        let now = self.ports.clock.now();
        unfinished.retain(|(_, erasure)| is_due(erasure, now));
        let next = turns.next(unfinished, |erasure: &Erasure| erasure.id);
        let Some((tenant, erasure)) = next else {
            return false;
        };
        let id = erasure.id;
        match self.erasing.carry_on(&tenant, erasure).await {
            Ok(further) if further.has_ended() => telemetry::erasure_ended(&further),
            Ok(_) => {}
            Err(reason) => {
                telemetry::erasure_failed(id, &reason);
                turns.failed.insert(id);
            }
        }
        true
    }

    /// Cancels a job that cannot continue, so that it is not retried forever.
    async fn give_up(&self, tenant: &TenantId, id: JobId) {
        if let Err(reason) = self.retries.cancel(tenant, id).await {
            telemetry::retry_job_failed(id, &reason);
        }
    }
}

/// Whose turn it is among several of a kind, by their ids.
struct Turns<Id> {
    last: Option<Id>,
    /// Left to the next turn.
    failed: HashSet<Id>,
}

impl<Id> Default for Turns<Id> {
    fn default() -> Self {
        Self {
            last: None,
            failed: HashSet::new(),
        }
    }
}

impl<Id: Copy + Ord + std::hash::Hash> Turns<Id> {
    /// The one after the last; after all of them, the first.
    fn next<T>(
        &mut self,
        mut running: Vec<(TenantId, T)>,
        id: impl Fn(&T) -> Id,
    ) -> Option<(TenantId, T)> {
        running.retain(|(_, one)| !self.failed.contains(&id(one)));
        running.sort_by_key(|(_, one)| id(one));
        let after = running
            .iter()
            .position(|(_, one)| Some(id(one)) > self.last);
        let next = running.into_iter().nth(after.unwrap_or(0))?;
        self.last = Some(id(&next.1));
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(turns: &mut Turns<u8>, running: &[u8]) -> Option<u8> {
        let running = running.iter().map(|id| (TenantId::default(), *id));
        let next = turns.next(running.collect(), |id| *id);
        next.map(|(_, id)| id)
    }

    #[test]
    fn everyone_gets_a_turn_and_a_failing_one_holds_up_no_other() {
        let mut turns = Turns::default();
        let order: Vec<_> = (0..4)
            .filter_map(|_| next(&mut turns, &[3, 1, 2]))
            .collect();
        assert_eq!(order, [1, 2, 3, 1]);
        turns.failed.insert(2);
        assert_eq!(next(&mut turns, &[3, 1, 2]), Some(3));
        assert_eq!(next(&mut turns, &[2]), None);
    }
}
