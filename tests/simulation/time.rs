//! Time that passes only when every task waits.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::time::Timestamp;
use postrider_ports::clock::Clock;

/// A clock, and the executor that moves it.
pub(super) struct VirtualClock {
    now_ms: AtomicI64,
    sleepers: Mutex<BTreeMap<(i64, u64), Waker>>,
    asleep: AtomicI64,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl VirtualClock {
    pub(super) fn at(now: Timestamp) -> Self {
        Self {
            now_ms: AtomicI64::new(now.as_millis()),
            sleepers: Mutex::default(),
            asleep: AtomicI64::new(0),
        }
    }

    /// Moves to `at`, unless that is in the past.
    pub(super) fn reach(&self, at: Timestamp) {
        self.now_ms.fetch_max(at.as_millis(), Ordering::Relaxed);
    }

    /// Runs a future to its end; whenever it only waits, time moves to the first sleeper.
    pub(super) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut work = pin!(work);
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
                self.sleepers.lock().clear();
                return done;
            }
            while !woken.0.swap(false, Ordering::Relaxed) {
                let first = self.sleepers.lock().pop_first();
                let ((at, _), sleeper) = first.expect("every waiting task sleeps until some time");
                self.reach(Timestamp::from_millis(at));
                sleeper.wake();
            }
        }
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms.load(Ordering::Relaxed))
    }

    async fn sleep_until(&self, at: Timestamp) {
        let number = self.asleep.fetch_add(1, Ordering::Relaxed).unsigned_abs();
        poll_fn(|context| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            let place = (at.as_millis(), number);
            self.sleepers.lock().insert(place, context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
