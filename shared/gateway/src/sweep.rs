//! Housekeeping of the embedded gateway: frees what waits for nothing, carries on bulk retries, forgets what is old.

use std::sync::Arc;

use postrider_domain::ids::{JobId, TenantId};
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::housekeeping::Housekeeping;
use postrider_ports::jobs::JobState;
use postrider_ports::queue::Queue;

use crate::retries::Retries;
use crate::{Ports, Refusal, telemetry};

/// How many rows one write of the sweep touches, so that publishers never wait long for it.
const SLICE: usize = 500;
/// How often old rows are looked for.
const EXPIRE_EVERY: Millis = Millis::from_seconds(3600);
/// For how long announcements can be read again.
const ANNOUNCEMENTS_KEPT: Millis = Millis::from_seconds(86_400);

/// Does the housekeeping.
pub struct Sweep {
    ports: Ports,
    housekeeping: Arc<dyn Housekeeping>,
    queue: Arc<dyn Queue>,
    retries: Retries,
    poll_interval: Millis,
    retention: Retention,
}

impl Sweep {
    /// A sweep over these ports.
    #[must_use]
    pub fn new(
        ports: Ports,
        housekeeping: Arc<dyn Housekeeping>,
        queue: Arc<dyn Queue>,
        poll_interval: Millis,
        retention: Retention,
    ) -> Self {
        let retries = Retries::new(ports.clone(), Arc::clone(&queue));
        Self {
            ports,
            housekeeping,
            queue,
            retries,
            poll_interval,
            retention,
        }
    }

    /// Sweeps until it is dropped. A failing step is logged and tried again at the next turn.
    pub async fn run(&self) {
        let mut expire_at = self.ports.clock.now().plus(self.poll_interval);
        loop {
            let turn_at = self.ports.clock.now().plus(self.poll_interval);
            self.ports.clock.sleep_until(turn_at).await;
            let now = self.ports.clock.now();
            self.turn(now).await;
            if now >= expire_at {
                self.expire(now).await;
                expire_at = now.plus(EXPIRE_EVERY);
            }
        }
    }

    /// One turn: releases parked rows and does slices of the bulk retries, by turns, until nothing is left to do.
    pub async fn turn(&self, now: Timestamp) {
        loop {
            let released = self.release(now).await;
            let buried = self.bury(now).await;
            let jobs = self.carry_on_jobs().await;
            if !released && !buried && !jobs {
                return;
            }
        }
    }

    /// Frees a slice of parked rows; returns whether there may be more.
    async fn release(&self, now: Timestamp) -> bool {
        match self.ports.store.release(SLICE, now).await {
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

    /// Removes rows and announcements whose time is over.
    pub async fn expire(&self, now: Timestamp) {
        let mut removed = 0;
        loop {
            match self.housekeeping.expire(self.retention, SLICE, now).await {
                Ok(expired) => {
                    removed += expired.removed;
                    if !expired.more {
                        break;
                    }
                }
                Err(error) => return telemetry::sweep_failed("expire", &error),
            }
        }
        loop {
            match self
                .housekeeping
                .forget_announcements(now.minus(ANNOUNCEMENTS_KEPT), SLICE)
                .await
            {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return telemetry::sweep_failed("announcements", &error),
            }
        }
        telemetry::swept("expire", removed);
    }
}
