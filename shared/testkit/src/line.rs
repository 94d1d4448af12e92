//! A queue that keeps what it is told until a test takes it.

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::Lease;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::ClaimedDelivery;
use postrider_ports::queue::{Queue, QueueMessage};
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
    fn offer(&self, _webhook: &Webhook, _now: Timestamp) -> Option<Lease> {
        None
    }

    fn start(&self, _delivery: ClaimedDelivery) {}

    fn decline(&self, _tenant: &TenantId, _webhook: WebhookId) {}

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
