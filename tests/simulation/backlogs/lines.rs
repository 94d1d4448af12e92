//! The two queues of many webhooks: attempts and drains.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{Queue, QueueMessage};

use super::super::time::VirtualClock;

/// How many messages one call hands over at most.
pub(super) const BATCH: usize = 10;
const SEND_TAKES: Millis = Millis::new(10);

pub(super) struct Lines {
    clock: Arc<VirtualClock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    attempts: BTreeMap<(Timestamp, u64), QueueMessage>,
    drains: BTreeMap<(Timestamp, u64), QueueMessage>,
    drains_of: HashMap<WebhookId, usize>,
    most_drains: usize,
    sent: u64,
}

impl Lines {
    pub(super) fn new(clock: Arc<VirtualClock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
        }
    }

    pub(super) fn send_now(&self, message: QueueMessage) {
        let now = self.clock.now();
        let delay = message.not_before().unwrap_or(now).since(now);
        let visible_at = now.plus(Millis::from_seconds(delay.get().div_ceil(1000)));
        let state = &mut *self.state.lock();
        state.sent += 1;
        let place = (visible_at, state.sent);
        match &message {
            QueueMessage::Attempt(_) | QueueMessage::Probe(_) => {
                state.attempts.insert(place, message);
            }
            QueueMessage::Drain(drain) => {
                let queued = state.drains_of.entry(drain.webhook).or_default();
                *queued += 1;
                state.most_drains = state.most_drains.max(*queued);
                state.drains.insert(place, message);
            }
        }
    }

    /// The next attempts, up to a batch.
    pub(super) fn take_attempts(&self) -> Vec<QueueMessage> {
        take(&mut self.state.lock().attempts, self.clock.now())
    }

    /// The next drains, up to a batch.
    pub(super) fn take_drains(&self) -> Vec<QueueMessage> {
        let state = &mut *self.state.lock();
        let taken = take(&mut state.drains, self.clock.now());
        for message in &taken {
            if let QueueMessage::Drain(drain) = message
                && let Some(queued) = state.drains_of.get_mut(&drain.webhook)
            {
                *queued -= 1;
            }
        }
        taken
    }

    /// The most `drain` messages of one webhook that were in the queue at the same time.
    pub(super) fn most_drains(&self) -> usize {
        self.state.lock().most_drains
    }
}

fn take(line: &mut BTreeMap<(Timestamp, u64), QueueMessage>, now: Timestamp) -> Vec<QueueMessage> {
    let mut taken = Vec::new();
    while taken.len() < BATCH
        && let Some(first) = line.first_entry().filter(|first| first.key().0 <= now)
    {
        taken.push(first.remove());
    }
    taken
}

#[async_trait]
impl Queue for Lines {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let now = self.clock.now();
        self.clock.sleep_until(now.plus(SEND_TAKES)).await;
        let results = messages.iter().map(|_| Ok(())).collect();
        messages
            .into_iter()
            .for_each(|message| self.send_now(message));
        results
    }

    async fn depth(&self) -> Result<u64> {
        Ok(0)
    }
}
