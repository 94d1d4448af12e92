//! Housekeeping of the embedded gateway: frees what waits for nothing, carries on bulk retries, forgets what is old.

use std::sync::Arc;

use postrider_domain::delivery::Retention;
use postrider_domain::time::{Millis, Timestamp};
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
        queue: Arc<dyn Queue>,
        poll_interval: Millis,
        retention: Retention,
    ) -> Self {
        let retries = Retries::new(ports.clone(), Arc::clone(&queue));
        Self {
            ports,
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

    /// One turn: releases parked rows of active webhooks, and does a slice of each bulk retry until none is left.
    pub async fn turn(&self, now: Timestamp) {
        if let Err(error) = self.release(now).await {
            telemetry::sweep_failed("release", &error);
        }
        match self.carry_on_jobs().await {
            Ok(()) => {}
            Err(Refusal::Store(error)) => telemetry::sweep_failed("retries", &error),
            Err(other) => telemetry::sweep_failed(
                "retries",
                &postrider_ports::Error::Broken(other.to_string()),
            ),
        }
    }

    async fn release(&self, now: Timestamp) -> postrider_ports::Result<()> {
        let mut released = 0;
        loop {
            let freed = self.ports.store.release(SLICE, now).await?;
            released += freed;
            if freed < SLICE {
                break;
            }
        }
        if released > 0 {
            telemetry::swept("release", released);
            self.queue.send(Vec::new()).await;
        }
        Ok(())
    }

    async fn carry_on_jobs(&self) -> Result<(), Refusal> {
        loop {
            let running = self.ports.store.running_jobs().await?;
            if running.is_empty() {
                return Ok(());
            }
            for (tenant, job) in running {
                self.retries.slice(&tenant, job).await?;
            }
        }
    }

    /// Removes rows and announcements whose time is over.
    pub async fn expire(&self, now: Timestamp) {
        let mut removed = 0;
        loop {
            match self.ports.store.expire(self.retention, SLICE, now).await {
                Ok(0) => break,
                Ok(rows) => removed += rows,
                Err(error) => return telemetry::sweep_failed("expire", &error),
            }
        }
        loop {
            match self
                .ports
                .store
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
