//! Work that somebody's word left behind: frees what waits for nothing, ends what nobody wants, carries on bulk retries.

use std::collections::HashSet;
use std::sync::Arc;

use postrider_domain::ids::{JobId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::jobs::RetryJob;
use postrider_ports::queue::{ProbeMessage, Queue};
use tokio::select;

use crate::poll::DEEP;
use crate::retries::Retries;
use crate::{GatewayError, Ports, telemetry};

/// How many rows one write touches, so that publishers never wait long for it.
const SLICE: usize = 500;
/// How many webhooks one turn asks to be tested.
const TESTS_AT_ONCE: usize = 100;
/// How often a turn that takes long asks for tests.
const ASK_EVERY: Millis = Millis::from_seconds(60);

/// Does the chores, slice by slice.
pub struct Chores {
    ports: Ports,
    queue: Arc<dyn Queue>,
    retries: Retries,
    released_ahead: Millis,
}

impl Chores {
    /// Over these ports; `queue` learns of what is due again. Rows that wait for a turn are given those of the time
    /// `released_ahead`.
    #[must_use]
    pub fn new(ports: Ports, queue: Arc<dyn Queue>, released_ahead: Millis) -> Self {
        let retries = Retries::new(ports.clone(), Arc::clone(&queue));
        Self {
            ports,
            queue,
            retries,
            released_ahead,
        }
    }

    /// Releases parked rows, ends those of deleted webhooks and does a slice of a bulk retry, by turns, until nothing is
    /// left to do. Each step sees the time as it is then: the whole may take long. A failing step is logged and left to the
    /// next turn.
    pub async fn turn(&self) {
        let mut jobs = JobTurns::default();
        let mut ask_at = self.ports.clock.now();
        let mut may_release = true;
        let is_deep = self.is_deep().await;
        loop {
            if self.ports.clock.now() >= ask_at {
                self.ask_for_probes().await;
                ask_at = self.ports.clock.now().plus(ASK_EVERY);
            }
            let released = may_release && self.release().await;
            // Into a deep queue a slice a turn: one webhook's hints must not hold up all the others' rows.
            may_release = !is_deep;
            let ended = self.end_deliveries_of_deleted_webhooks().await;
            let carried_on = self.carry_on_job(&mut jobs).await;
            let is_more = released && may_release;
            if !is_more && !ended && !carried_on {
                return;
            }
        }
    }

    /// The same, broken off at `deadline`. A slice that was broken off is done again; rows that it freed and did not tell of
    /// are found as overdue.
    pub async fn turn_until(&self, deadline: Timestamp) {
        select! {
            biased;
            () = self.turn() => {}
            () = self.ports.clock.sleep_until(deadline) => telemetry::chores_unfinished(),
        }
    }

    /// Whether so much waits in the queue that the turns of what is added would pass.
    async fn is_deep(&self) -> bool {
        match self.queue.depth().await {
            Ok(depth) => depth > DEEP,
            Err(error) => {
                telemetry::sweep_failed("depth", &error);
                false
            }
        }
    }

    /// Frees a slice of parked rows; returns whether there may be more to free now. What gets its turn while this goes on is
    /// left to the next turn, or it would never end.
    async fn release(&self) -> bool {
        let now = self.ports.clock.now();
        let until = now.plus(self.released_ahead);
        match self.ports.store.release(SLICE, until, now).await {
            Ok(freed) if freed.is_empty() => false,
            Ok(freed) => {
                let is_whole = freed.len() >= SLICE;
                telemetry::swept("release", freed.len());
                let messages = freed.into_iter().map(Into::into).collect();
                self.queue.send(messages).await;
                is_whole
            }
            Err(error) => {
                telemetry::sweep_failed("release", &error);
                false
            }
        }
    }

    /// Lets failed webhooks be tested whose owners want that. Each is asked for until somebody begins its test.
    async fn ask_for_probes(&self) {
        let now = self.ports.clock.now();
        match self.ports.store.probes_due(TESTS_AT_ONCE, now).await {
            Ok(due) if due.is_empty() => {}
            Ok(due) => {
                let probe = |(tenant, webhook)| ProbeMessage { tenant, webhook }.into();
                let messages = due.into_iter().map(probe);
                self.queue.send(messages.collect()).await;
            }
            Err(error) => telemetry::sweep_failed("probes", &error),
        }
    }

    /// Ends a slice of deleted webhooks' rows; returns whether there may be more.
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

    /// Does a slice of one bulk retry, each in its turn; returns whether any is left. One that fails does not hold up the
    /// others.
    async fn carry_on_job(&self, turns: &mut JobTurns) -> bool {
        let running = match self.ports.store.running_jobs().await {
            Ok(running) => running,
            Err(error) => {
                telemetry::sweep_failed("retries", &error);
                return false;
            }
        };
        let Some((tenant, job)) = turns.next(running) else {
            return false;
        };
        let id = job.id;
        if let Err(refusal) = self.retries.carry_on(&tenant, job).await {
            telemetry::retry_job_failed(id, &refusal);
            if !matches!(&refusal, GatewayError::Store(error) if error.is_transient()) {
                self.give_up(&tenant, id).await;
            }
            turns.failed.insert(id);
        }
        true
    }

    /// Ends a job that cannot go on, so that it is not tried for ever.
    async fn give_up(&self, tenant: &TenantId, id: JobId) {
        if let Err(refusal) = self.retries.cancel(tenant, id).await {
            telemetry::retry_job_failed(id, &refusal);
        }
    }
}

/// Whose turn it is among bulk retries.
#[derive(Default)]
struct JobTurns {
    last: Option<JobId>,
    /// They are left to the next turn.
    failed: HashSet<JobId>,
}

impl JobTurns {
    /// The next one after the last, and the first one after all.
    fn next(&mut self, mut running: Vec<(TenantId, RetryJob)>) -> Option<(TenantId, RetryJob)> {
        running.retain(|(_, job)| !self.failed.contains(&job.id));
        running.sort_by_key(|(_, job)| job.id);
        let after = running.iter().position(|(_, job)| Some(job.id) > self.last);
        let next = running.into_iter().nth(after.unwrap_or(0))?;
        self.last = Some(next.1.id);
        Some(next)
    }
}
