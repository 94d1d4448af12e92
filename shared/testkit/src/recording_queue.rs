//! A queue that holds messages until a test takes them.

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_ports::queue::{AttemptMessage, Queue, QueueMessage};
use postrider_ports::{Error, Result};

/// Messages in the order they were sent.
#[derive(Default)]
pub struct RecordingQueue {
    messages: Mutex<Vec<QueueMessage>>,
    depth: Mutex<u64>,
    closed: Mutex<bool>,
    calls: Mutex<usize>,
}

impl RecordingQueue {
    /// The messages sent since the last call.
    pub fn take(&self) -> Vec<QueueMessage> {
        std::mem::take(&mut *self.messages.lock())
    }

    /// The attempts alone.
    ///
    /// # Panics
    /// When a probe was sent.
    pub fn take_attempts(&self) -> Vec<AttemptMessage> {
        let attempt = |message| match message {
            QueueMessage::Attempt(message) => Some(message),
            QueueMessage::Drain(_) => None,
            QueueMessage::Probe(message) => panic!("{message:?}"),
        };
        self.take().into_iter().filter_map(attempt).collect()
    }

    /// How many calls to send were made.
    pub fn calls(&self) -> usize {
        *self.calls.lock()
    }

    /// Reports this depth, whatever the queue holds.
    pub fn pretend_depth(&self, depth: u64) {
        *self.depth.lock() = depth;
    }

    /// Rejects every message from now on.
    pub fn close(&self) {
        *self.closed.lock() = true;
    }
}

#[async_trait]
impl Queue for RecordingQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        *self.calls.lock() += 1;
        let closed = *self.closed.lock();
        let sent = |message| {
            if closed {
                return Err(Error::Unavailable("the queue is closed".into()));
            }
            self.messages.lock().push(message);
            Ok(())
        };
        messages.into_iter().map(sent).collect()
    }

    async fn depth(&self) -> Result<u64> {
        Ok(*self.depth.lock())
    }
}
