//! A queue that behaves like SQS: a message is delayed, received, and returned until it is done or was received too
//! often.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::MESSAGE_REACH;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::clock::Clock;
use postrider_ports::queue::{Queue, QueueMessage};
use tokio::sync::Notify;

/// How often the template's queue delivers a message before it goes to the dead-letter queue.
const MAX_RECEIVES: u32 = 5;
/// How soon a failed message is visible again. The template's queue waits six minutes; here a developer is watching.
const BACK_AFTER: Millis = Millis::from_seconds(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Unique in this run.
    pub(super) number: u64,
    pub(super) body: QueueMessage,
    pub(super) sent_at: Timestamp,
    /// How often it was received, including this time.
    pub(super) receives: u32,
    visible_at: Timestamp,
}

/// What happened to a failed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// It will be received again.
    Requeued,
    /// It was received too often and is gone; its delivery stays stored.
    Dropped,
}

/// The messages of the queue, for one consumer.
pub(super) struct Messages {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    sent: u64,
    waiting: Vec<Message>,
}

impl Messages {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Waits for visible messages and returns up to `most` of them, the longest visible first.
    pub(super) async fn take(&self, most: usize) -> Vec<Message> {
        loop {
            let next = match self.take_visible(most) {
                Ok(batch) => return batch,
                Err(next) => next,
            };
            let until_next = async {
                match next {
                    Some(at) => self.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until_next => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// At least one message, or when the next one becomes visible.
    fn take_visible(&self, most: usize) -> std::result::Result<Vec<Message>, Option<Timestamp>> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.waiting.sort_by_key(|message| message.visible_at);
        let visible = state
            .waiting
            .partition_point(|message| message.visible_at <= now);
        if visible == 0 {
            return Err(state.waiting.first().map(|message| message.visible_at));
        }
        let mut batch: Vec<_> = state.waiting.drain(..visible.min(most)).collect();
        for message in &mut batch {
            message.receives += 1;
        }
        Ok(batch)
    }

    /// Returns a failed message to the queue.
    pub(super) fn give_back(&self, mut message: Message) -> Returned {
        if message.receives >= MAX_RECEIVES {
            return Returned::Dropped;
        }
        message.visible_at = self.clock.now().plus(BACK_AFTER);
        self.state.lock().waiting.push(message);
        self.changed.notify_one();
        Returned::Requeued
    }
}

#[async_trait]
impl Queue for Messages {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let results = messages.iter().map(|_| Ok(())).collect();
        for message in messages {
            state.sent += 1;
            let message = Message {
                number: state.sent,
                visible_at: message
                    .not_before()
                    .map_or(now, |due_at| due_at.clamp(now, now.plus(MESSAGE_REACH))),
                body: message,
                sent_at: now,
                receives: 0,
            };
            state.waiting.push(message);
        }
        drop(state);
        self.changed.notify_one();
        results
    }

    async fn depth(&self) -> Result<u64> {
        let now = self.clock.now();
        let state = self.state.lock();
        let visible = state.waiting.iter().filter(|one| one.visible_at <= now);
        Ok(visible.count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
    use postrider_ports::queue::AttemptMessage;
    use postrider_testkit::clock::SteppedClock;

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn message(event: u8, seconds: u64) -> QueueMessage {
        QueueMessage::Attempt(AttemptMessage {
            tenant: TenantId::default(),
            id: DeliveryId {
                event: EventId::from_bytes([event; 16]),
                webhook: WebhookId::from_bytes([1; 16]),
            },
            next_retry_at: NOW.plus(Millis::from_seconds(seconds)),
            fresh: false,
        })
    }

    fn messages() -> (Arc<SteppedClock>, Arc<Messages>) {
        let clock = Arc::new(SteppedClock::at(NOW));
        let messages = Arc::new(Messages::new(Arc::clone(&clock) as _));
        (clock, messages)
    }

    #[tokio::test]
    async fn a_message_is_not_received_before_it_is_due() {
        let (clock, messages) = messages();
        messages.send(vec![message(1, 30), message(2, 0)]).await;
        assert_eq!(messages.depth().await, Ok(1));
        assert_eq!(messages.take(10).await[0].body, message(2, 0));
        let taking = tokio::spawn({
            let messages = Arc::clone(&messages);
            async move { messages.take(10).await }
        });
        while !taking.is_finished() {
            tokio::task::yield_now().await;
            clock.advance(Millis::new(1));
        }
        assert_eq!(taking.await.unwrap()[0].body, message(1, 30));
        assert!(clock.now() >= NOW.plus(Millis::from_seconds(30)));
    }

    #[tokio::test]
    async fn a_batch_has_a_limit() {
        let (_clock, messages) = messages();
        messages
            .send((0..12).map(|n| message(n, 0)).collect())
            .await;
        assert_eq!(messages.take(10).await.len(), 10);
        assert_eq!(messages.take(10).await.len(), 2);
    }

    #[tokio::test]
    async fn a_message_that_keeps_failing_is_dropped_after_five_receives() {
        let (clock, messages) = messages();
        messages.send(vec![message(1, 0)]).await;
        for receive in 1..=MAX_RECEIVES {
            let message = messages.take(10).await.remove(0);
            assert_eq!(message.receives, receive);
            let expected = if receive < MAX_RECEIVES {
                Returned::Requeued
            } else {
                Returned::Dropped
            };
            assert_eq!(messages.give_back(message), expected);
            assert_eq!(messages.depth().await, Ok(0));
            clock.advance(BACK_AFTER);
        }
        assert_eq!(messages.depth().await, Ok(0));
    }
}
