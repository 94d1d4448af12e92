//! Work that somebody's word left behind: frees what waits for nothing, ends what nobody wants, carries on bulk retries.

use std::sync::Arc;

use postrider_domain::ids::{JobId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::jobs::JobState;
use postrider_ports::queue::{Hint, Queue};
use tokio::select;

use crate::retries::Retries;
use crate::{Ports, Refusal, telemetry};

/// How many rows one write touches, so that publishers never wait long for it.
const SLICE: usize = 500;
/// How many webhooks one turn asks to be tested.
const TESTS_AT_ONCE: usize = 100;

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

    /// Releases parked rows, ends those of deleted webhooks and does slices of the bulk retries, by turns, until nothing
    /// is left to do. A failing step is logged and left to the next turn.
    pub async fn turn(&self, now: Timestamp) {
        self.ask_for_tests(now).await;
        loop {
            let released = self.release(now).await;
            let buried = self.bury(now).await;
            let jobs = self.carry_on_jobs().await;
            if !released && !buried && !jobs {
                return;
            }
        }
    }

    /// The same, broken off at `deadline`. A slice that was broken off is done again, which is harmless.
    pub async fn turn_until(&self, now: Timestamp, deadline: Timestamp) {
        select! {
            biased;
            () = self.turn(now) => {}
            () = self.ports.clock.sleep_until(deadline) => telemetry::chores_unfinished(),
        }
    }

    /// Frees a slice of parked rows; returns whether there may be more.
    async fn release(&self, now: Timestamp) -> bool {
        let until = now.plus(self.released_ahead);
        match self.ports.store.release(SLICE, until, now).await {
            Ok(freed) if freed.is_empty() => false,
            Ok(freed) => {
                telemetry::swept("release", freed.len());
                self.queue.send(freed).await;
                true
            }
            Err(error) => {
                telemetry::sweep_failed("release", &error);
                false
            }
        }
    }

    /// Lets failed webhooks be tested whose owners want that. Each is asked for until somebody begins its test.
    async fn ask_for_tests(&self, now: Timestamp) {
        match self.ports.store.tests_due(TESTS_AT_ONCE, now).await {
            Ok(due) if due.is_empty() => {}
            Ok(due) => {
                let hints = due.into_iter();
                let hints = hints.map(|(tenant, webhook)| Hint::test(tenant, webhook, now));
                self.queue.send(hints.collect()).await;
            }
            Err(error) => telemetry::sweep_failed("tests", &error),
        }
    }

    /// Ends a slice of deleted webhooks' rows; returns whether there may be more.
    async fn bury(&self, now: Timestamp) -> bool {
        match self.ports.store.bury(SLICE, now).await {
            Ok(0) => false,
            Ok(rows) => {
                telemetry::swept("bury", rows);
                true
            }
            Err(error) => {
                telemetry::sweep_failed("bury", &error);
                false
            }
        }
    }

    /// Does a slice of each bulk retry; returns whether any is left. One that fails does not hold up the others.
    async fn carry_on_jobs(&self) -> bool {
        let running = match self.ports.store.running_jobs().await {
            Ok(running) => running,
            Err(error) => {
                telemetry::sweep_failed("retries", &error);
                return false;
            }
        };
        let mut left = false;
        for (tenant, job) in running {
            let id = job.id;
            match self.retries.carry_on(&tenant, job).await {
                Ok(job) => left |= job.state == JobState::Running,
                Err(refusal) => {
                    telemetry::retry_job_failed(id, &refusal);
                    if !matches!(&refusal, Refusal::Store(error) if error.is_transient()) {
                        self.give_up(&tenant, id).await;
                    }
                }
            }
        }
        left
    }

    /// Ends a job that cannot go on, so that it is not tried for ever.
    async fn give_up(&self, tenant: &TenantId, id: JobId) {
        if let Err(refusal) = self.retries.cancel(tenant, id).await {
            telemetry::retry_job_failed(id, &refusal);
        }
    }
}
