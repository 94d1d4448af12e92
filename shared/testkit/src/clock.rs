//! A clock that moves only when a test moves it, and random numbers that repeat.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::{Clock, Entropy};
use tokio::sync::{Notify, watch};

/// Stands still until it is advanced; sleepers wake when their time has come.
pub struct SteppedClock {
    now_ms: AtomicI64,
    advanced: Notify,
    sleepers: watch::Sender<Sleepers>,
}

/// The number of sleepers by wake-up time.
type Sleepers = BTreeMap<Timestamp, usize>;

impl SteppedClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self {
            now_ms: AtomicI64::new(now.as_millis()),
            advanced: Notify::new(),
            sleepers: watch::Sender::default(),
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Millis) {
        self.set(self.now().plus(by));
    }

    /// Moves the clock forward without waking sleepers, as when a machine was suspended.
    pub fn jump(&self, by: Millis) {
        let now = self.now().plus(by);
        self.now_ms.store(now.as_millis(), Ordering::SeqCst);
    }

    pub fn set(&self, now: Timestamp) {
        self.now_ms.store(now.as_millis(), Ordering::SeqCst);
        self.advanced.notify_waiters();
    }

    /// Returns when something sleeps until exactly this instant.
    ///
    /// # Panics
    /// Never: the clock holds the channel open.
    pub async fn wait_for_sleeper(&self, until: Timestamp) {
        let mut sleepers = self.sleepers.subscribe();
        let found = sleepers.wait_for(|sleepers| sleepers.contains_key(&until));
        found.await.expect("the clock exists");
    }
}

/// Counts as asleep until it is dropped.
struct Sleeper<'a> {
    sleepers: &'a watch::Sender<Sleepers>,
    until: Timestamp,
}

impl<'a> Sleeper<'a> {
    fn new(sleepers: &'a watch::Sender<Sleepers>, until: Timestamp) -> Self {
        sleepers.send_modify(|sleepers| *sleepers.entry(until).or_default() += 1);
        Self { sleepers, until }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.sleepers.send_modify(|sleepers| {
            let count = sleepers.remove(&self.until).unwrap_or_default();
            if count > 1 {
                sleepers.insert(self.until, count - 1);
            }
        });
    }
}

#[async_trait]
impl Clock for SteppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, at: Timestamp) {
        let _sleeper = Sleeper::new(&self.sleepers, at);
        loop {
            let advanced = self.advanced.notified();
            if self.now() >= at {
                return;
            }
            advanced.await;
        }
    }
}

/// Numbers that look random and are the same in every run.
pub struct CountedEntropy(AtomicU64);

impl CountedEntropy {
    /// The sequence of this seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Entropy for CountedEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let drawn = splitmix64(self.0.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
    }
}

/// The finaliser of SplitMix64: neighbouring seeds give unrelated numbers.
fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
