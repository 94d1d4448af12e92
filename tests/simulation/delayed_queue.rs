//! The queue in virtual time: a message becomes visible after its delay, in whole seconds, like in SQS.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::MESSAGE_REACH;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_testkit::clock::SteppedClock;

/// Messages by when they become visible, and their number per row.
#[derive(Default)]
struct Messages {
    waiting: BTreeMap<(Timestamp, u64), QueueMessage>,
    sent: HashMap<DeliveryId, usize>,
    number: u64,
}

/// Holds messages until they become visible.
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

    /// When the next message becomes visible.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let messages = self.messages.lock();
        messages.waiting.keys().next().map(|(at, _)| *at)
    }

    /// Removes and returns up to a batch of visible messages.
    pub(super) fn take(&self, batch: usize) -> Vec<QueueMessage> {
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

    /// How many messages were sent per row since the last call.
    pub(super) fn take_sent(&self) -> HashMap<DeliveryId, usize> {
        std::mem::take(&mut self.messages.lock().sent)
    }
}

#[async_trait]
impl Queue for DelayedQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let now = self.clock.now();
        let mut delayed = self.messages.lock();
        let mut results = Vec::with_capacity(messages.len());
        for message in messages {
            let due_at = message.not_before().unwrap_or(now);
            let delay = due_at.since(now);
            assert!(delay <= MESSAGE_REACH, "a message was sent too far ahead");
            let seen_at = now.plus(Millis::from_seconds(delay.get().div_ceil(1000)));
            let seen_at = seen_at.plus(self.lag);
            delayed.number += 1;
            let place = (seen_at, delayed.number);
            if let QueueMessage::Attempt(message) = &message {
                *delayed.sent.entry(message.id).or_default() += 1;
            }
            delayed.waiting.insert(place, message);
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
