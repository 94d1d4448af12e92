//! A queue that delays by whole seconds, and loses, doubles or reorders messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{Queue, QueueMessage};

use super::super::time::VirtualClock;

/// What the queue does to messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Every second message is lost.
    Loses,
    /// Every message comes twice.
    Doubles,
    /// Every second message comes ten seconds late.
    Reorders,
}

pub(super) struct UnreliableQueue {
    clock: Arc<VirtualClock>,
    fault: Fault,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<(Timestamp, u64), QueueMessage>,
    sent: u64,
    most: usize,
}

impl UnreliableQueue {
    pub(super) fn new(clock: Arc<VirtualClock>, fault: Fault) -> Self {
        Self {
            clock,
            fault,
            state: Mutex::default(),
        }
    }

    pub(super) fn send_now(&self, message: QueueMessage) {
        let now = self.clock.now();
        let delay = message.not_before().unwrap_or(now).since(now);
        let visible_at = now.plus(Millis::from_seconds(delay.get().div_ceil(1000)));
        let mut state = self.state.lock();
        state.sent += 1;
        let (n, is_even) = (state.sent * 2, state.sent.is_multiple_of(2));
        match self.fault {
            Fault::None => state.add((visible_at, n), message),
            Fault::Loses if is_even => {}
            Fault::Loses => state.add((visible_at, n), message),
            Fault::Doubles => {
                state.add((visible_at, n), message.clone());
                state.add((visible_at, n + 1), message);
            }
            Fault::Reorders if is_even => {
                state.add((visible_at.plus(Millis::from_seconds(10)), n), message);
            }
            Fault::Reorders => state.add((visible_at, n), message),
        }
    }

    pub(super) fn take_visible(&self) -> Vec<QueueMessage> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let later = state.waiting.split_off(&(now.plus(Millis::new(1)), 0));
        let visible = std::mem::replace(&mut state.waiting, later);
        visible.into_values().collect()
    }

    /// The most messages that were waiting at the same time.
    pub(super) fn most(&self) -> usize {
        self.state.lock().most
    }
}

impl State {
    fn add(&mut self, place: (Timestamp, u64), message: QueueMessage) {
        self.waiting.insert(place, message);
        self.most = self.most.max(self.waiting.len());
    }
}

#[async_trait]
impl Queue for UnreliableQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let now = self.clock.now();
        self.clock.sleep_until(now.plus(Millis::new(10))).await;
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
