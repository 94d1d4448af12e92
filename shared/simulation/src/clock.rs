//! The clock of a process, which may differ from the true time and jump.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use postrider_domain::time::Timestamp;
use postrider_ports::clock::Clock;

use super::executor::Executor;

/// After it the time of day is read again, as by the system's clock.
const LONGEST_SLEEP_MS: i64 = 60_000;

pub(super) struct ProcessClock {
    executor: Arc<Executor>,
    ahead_ms: AtomicI64,
}

impl ProcessClock {
    pub(super) fn new(executor: Arc<Executor>, ahead_ms: i64) -> Self {
        Self {
            executor,
            ahead_ms: AtomicI64::new(ahead_ms),
        }
    }

    pub(super) fn jump(&self, ahead_ms: i64) {
        self.ahead_ms.store(ahead_ms, Ordering::Relaxed);
    }
}

#[async_trait]
impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        let ahead = self.ahead_ms.load(Ordering::Relaxed);
        Timestamp::from_millis(self.executor.now_ms() + ahead)
    }

    async fn sleep_until(&self, at: Timestamp) {
        let left = |clock: &Self| at.as_millis() - clock.now().as_millis();
        let longest = self.executor.now_ms() + left(self).max(0);
        loop {
            let left = left(self).min(longest - self.executor.now_ms());
            if left <= 0 {
                return;
            }
            self.executor.sleep(left.min(LONGEST_SLEEP_MS)).await;
        }
    }
}
