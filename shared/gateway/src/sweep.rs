//! Housekeeping of the embedded gateway: does the chores, forgets what is old.

use std::sync::Arc;

use postrider_domain::rejected;
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::housekeeping::Housekeeping;
use postrider_ports::queue::Queue;

use crate::chores::Chores;
use crate::settings::WorkerSettings;
use crate::{Ports, telemetry};

/// How many rows one write of the sweep touches, so that publishers never wait long for it.
const SLICE: usize = 500;
/// How many refused requests one write removes: each may be large.
const REJECTED_SLICE: usize = 50;
/// How often old rows are looked for.
const EXPIRE_EVERY: Millis = Millis::from_seconds(3600);
/// For how long announcements can be read again.
const ANNOUNCEMENTS_KEPT: Millis = Millis::from_seconds(86_400);

/// Does the housekeeping.
pub struct Sweep {
    ports: Ports,
    housekeeping: Arc<dyn Housekeeping>,
    chores: Chores,
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
        settings: &WorkerSettings,
    ) -> Self {
        Self {
            chores: Chores::new(ports.clone(), queue, settings.released_ahead()),
            ports,
            housekeeping,
            poll_interval: settings.poll_interval,
            retention: settings.retention,
        }
    }

    /// Sweeps until it is dropped. A failing step is logged and tried again at the next turn.
    pub async fn run(&self) {
        let mut expire_at = self.ports.clock.now().plus(self.poll_interval);
        loop {
            let turn_at = self.ports.clock.now().plus(self.poll_interval);
            self.ports.clock.sleep_until(turn_at).await;
            self.turn().await;
            let now = self.ports.clock.now();
            if now >= expire_at {
                self.expire(now).await;
                expire_at = now.plus(EXPIRE_EVERY);
            }
        }
    }

    /// One turn of chores, until nothing is left to do.
    pub async fn turn(&self) {
        self.chores.turn().await;
    }

    /// Removes rows, refused requests and announcements whose time is over.
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
                Err(error) => return telemetry::sweep_failed("refused", &error),
            }
        }
        loop {
            match self
                .housekeeping
                .delete_old_notifications(now.minus(ANNOUNCEMENTS_KEPT), SLICE)
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
