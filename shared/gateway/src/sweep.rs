//! Housekeeping of the embedded gateway: runs the chores and deletes old rows.

use std::sync::Arc;

use postrider_domain::rejected;
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::housekeeping::Housekeeping;
use postrider_ports::queue::Queue;

use crate::chores::Chores;
use crate::settings::WorkerSettings;
use crate::{Ports, telemetry};

/// How many rows one write of the sweep changes; small, because publishers wait for it.
const SLICE: usize = 500;
/// How many rejected requests one write deletes: each may be large.
const REJECTED_SLICE: usize = 50;
/// How often old rows are deleted.
const EXPIRE_EVERY: Millis = Millis::from_seconds(3600);
/// How long notifications can be read again.
const NOTIFICATIONS_KEPT_FOR: Millis = Millis::from_seconds(86_400);

pub struct Sweep {
    ports: Ports,
    housekeeping: Arc<dyn Housekeeping>,
    chores: Chores,
    poll_interval: Millis,
    retention: Retention,
}

impl Sweep {
    #[must_use]
    pub fn new(
        ports: Ports,
        housekeeping: Arc<dyn Housekeeping>,
        queue: Arc<dyn Queue>,
        settings: &WorkerSettings,
    ) -> Self {
        Self {
            chores: Chores::new(ports.clone(), queue),
            ports,
            housekeeping,
            poll_interval: settings.poll_interval,
            retention: settings.retention,
        }
    }

    /// Sweeps until it is dropped. A failing step is logged and runs again in the next turn.
    pub async fn run(&self) {
        let mut expire_at = self.ports.clock.now().plus(self.poll_interval);
        loop {
            let turn_at = self.ports.clock.now().plus(self.poll_interval);
            self.ports.clock.sleep_until(turn_at).await;
            self.turn().await;
            let now = self.ports.clock.now();
            if expire_at.is_due(now, EXPIRE_EVERY) {
                self.expire(now).await;
                expire_at = now.plus(EXPIRE_EVERY);
            }
        }
    }

    /// One turn of chores, until nothing is left to do.
    pub async fn turn(&self) {
        self.chores.turn().await;
    }

    /// Deletes deliveries, rejected requests and notifications whose retention is over.
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
                .delete_old_rejections(now.minus(rejected::KEPT_FOR), REJECTED_SLICE)
                .await
            {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return telemetry::sweep_failed("rejected", &error),
            }
        }
        loop {
            match self
                .housekeeping
                .delete_old_notifications(now.minus(NOTIFICATIONS_KEPT_FOR), SLICE, now)
                .await
            {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return telemetry::sweep_failed("notifications", &error),
            }
        }
        if removed > 0 {
            telemetry::swept("expire", removed);
        }
    }
}
