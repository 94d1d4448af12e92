//! A clock that makes no test wait.

use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use lambda_runtime::Context;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_testkit::builders::NOW;

/// Moves to whenever a sleeper wants to wake up, but never to the function's deadline.
pub(super) struct HurriedClock(AtomicI64);

impl Default for HurriedClock {
    fn default() -> Self {
        Self(AtomicI64::new(NOW.as_millis()))
    }
}

fn deadline() -> Timestamp {
    NOW.plus(Millis::from_seconds(900))
}

/// As Lambda passes it to a function.
pub(super) fn context() -> Context {
    let mut context = Context::default();
    context.deadline = deadline().as_millis().unsigned_abs();
    context
}

#[async_trait]
impl Clock for HurriedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, at: Timestamp) {
        // A function stops its calls some seconds before its deadline.
        if at.plus(Millis::from_seconds(30)) >= deadline() {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        self.0.fetch_max(at.as_millis(), Ordering::SeqCst);
    }
}
