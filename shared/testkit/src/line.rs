//! A queue that holds messages until a test takes them.

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_ports::queue::{AttemptMessage, Queue, QueueMessage};
use postrider_ports::{Error, Result};

/// Hints in the order they were sent.
#[derive(Default)]
pub struct Line {
    messages: Mutex<Vec<QueueMessage>>,
    depth: Mutex<u64>,
    closed: Mutex<bool>,
}

impl Line {
    /// What was sent since this was asked the last time.
    pub fn take(&self) -> Vec<QueueMessage> {
        std::mem::take(&mut *self.messages.lock())
    }

    /// The same, where only attempts were sent.
    ///
    /// # Panics
    /// When another message was sent.
    pub fn take_attempts(&self) -> Vec<AttemptMessage> {
        let attempt = |message| match message {
            QueueMessage::Attempt(message) => message,
            other @ (QueueMessage::Probe(_) | QueueMessage::Drain(_)) => panic!("{other:?}"),
        };
        self.take().into_iter().map(attempt).collect()
    }

    /// Says that so many wait, whatever it holds.
    pub fn pretend_depth(&self, depth: u64) {
        *self.depth.lock() = depth;
    }

    /// Takes nothing any more.
    pub fn close(&self) {
        *self.closed.lock() = true;
    }
}

#[async_trait]
impl Queue for Line {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
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
