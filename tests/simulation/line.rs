//! The queue of hints in virtual time: a message is seen after its delay, in whole seconds, as SQS has it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::{HINT_REACH, Lease};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::deliveries::Parcel;
use postrider_ports::queue::{Hint, Queue};
use postrider_testkit::clock::SteppedClock;

/// Messages by when they are seen, and how many there were of each row.
#[derive(Default)]
struct Messages {
    waiting: BTreeMap<(Timestamp, u64), Hint>,
    sent: HashMap<DeliveryId, usize>,
    number: u64,
}

/// Keeps hints until their time has come.
pub(super) struct DelayedQueue {
    clock: Arc<SteppedClock>,
    /// How late every message is.
    lag: Millis,
    messages: Mutex<Messages>,
}

impl DelayedQueue {
    pub(super) fn new(clock: Arc<SteppedClock>, lag: Millis) -> Self {
        Self {
            clock,
            lag,
            messages: Mutex::default(),
        }
    }

    /// When the next message is seen.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let messages = self.messages.lock();
        messages.waiting.keys().next().map(|(at, _)| *at)
    }

    /// Takes up to a batch of what is seen now.
    pub(super) fn take(&self, batch: usize) -> Vec<Hint> {
        let now = self.clock.now();
        let mut messages = self.messages.lock();
        let mut taken = Vec::new();
        while taken.len() < batch {
            match messages.waiting.first_entry() {
                Some(first) if first.key().0 <= now => taken.push(first.remove()),
                _ => break,
            }
        }
        taken
    }

    /// How many hints were sent of each row, since the last call of this.
    pub(super) fn take_sent(&self) -> HashMap<DeliveryId, usize> {
        std::mem::take(&mut self.messages.lock().sent)
    }
}

#[async_trait]
impl Queue for DelayedQueue {
    fn offer(&self, _webhook: &Webhook, _now: Timestamp) -> Option<Lease> {
        None
    }

    fn start(&self, _parcel: Parcel) {}

    fn decline(&self, _tenant: &TenantId, _webhook: WebhookId) {}

    async fn send(&self, hints: Vec<Hint>) -> Vec<Result<()>> {
        let now = self.clock.now();
        let mut messages = self.messages.lock();
        let mut results = Vec::with_capacity(hints.len());
        for hint in hints {
            let delay = hint.next_retry_at.since(now);
            assert!(delay <= HINT_REACH, "a hint was asked for too far ahead");
            let seen_at = now.plus(Millis::from_seconds(delay.get().div_ceil(1000)));
            let seen_at = seen_at.plus(self.lag);
            messages.number += 1;
            let place = (seen_at, messages.number);
            *messages.sent.entry(hint.id).or_default() += 1;
            messages.waiting.insert(place, hint);
            results.push(Ok(()));
        }
        results
    }

    async fn depth(&self) -> Result<u64> {
        let now = self.clock.now();
        let messages = self.messages.lock();
        let seen = messages.waiting.keys().take_while(|(at, _)| *at <= now);
        Ok(seen.count() as u64)
    }
}
