//! A queue with an assumed speed, and dispatchers that are never busy.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{Queue, QueueMessage};

use super::rows::Rows;
use super::time::VirtualClock;

/// How many messages a poller of 512 MB is assumed to send, however many calls are in flight: three hundred calls/s.
pub const HINTS_PER_SECOND: u64 = 3000;
/// The longest delay of a message, in seconds.
const LONGEST_DELAY: u64 = 900;

/// Hands each message to a dispatcher when its delay is over.
pub(super) struct AssumedQueue {
    rows: Arc<Rows>,
    clock: Arc<VirtualClock>,
    /// When the poller can send the next one, in microseconds.
    free_at_us: Mutex<u64>,
}

impl AssumedQueue {
    pub(super) fn new(rows: Arc<Rows>, clock: Arc<VirtualClock>) -> Self {
        Self {
            rows,
            clock,
            free_at_us: Mutex::new(0),
        }
    }
}

#[async_trait]
impl Queue for AssumedQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let now_us = self.clock.now().since(Timestamp::ZERO).get() * 1000;
        let (begin_us, end_us) = {
            let mut free_at_us = self.free_at_us.lock();
            let begin_us = now_us.max(*free_at_us);
            *free_at_us = begin_us + messages.len() as u64 * 1_000_000 / HINTS_PER_SECOND;
            (begin_us, *free_at_us)
        };
        for (n, message) in messages.iter().enumerate() {
            let sent_us = begin_us + (n as u64 + 1) * 1_000_000 / HINTS_PER_SECOND;
            let sent_at = Timestamp::ZERO.plus(Millis::new(sent_us.div_ceil(1000)));
            let QueueMessage::Attempt(message) = message else {
                panic!("no webhook is failed here");
            };
            let delay = message.next_retry_at.since(sent_at).get().div_ceil(1000);
            assert!(delay <= LONGEST_DELAY, "a message was sent too far ahead");
            self.rows
                .messaged(message, sent_at.plus(Millis::from_seconds(delay)));
        }
        let end = Timestamp::ZERO.plus(Millis::new(end_us.div_ceil(1000)));
        self.clock.sleep_until(end).await;
        messages.into_iter().map(|_| Ok(())).collect()
    }

    async fn depth(&self) -> Result<u64> {
        Ok(0)
    }
}
