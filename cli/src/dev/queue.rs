//! The queue as SQS has it: a message is delayed, handed out, and comes back until it is done or was handed out too
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

/// As often as the template's queue hands a message out before it is set aside.
const MAX_RECEIVES: u32 = 5;
/// How soon a message that was not done comes back. The template's queue waits six minutes; here somebody watches.
const BACK_AFTER: Millis = Millis::from_seconds(5);

/// A hint in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Tells it from every other one of this run.
    pub(super) number: u64,
    /// What it says.
    pub(super) body: QueueMessage,
    /// When it was sent.
    pub(super) sent_at: Timestamp,
    /// How often it was handed out, this time included.
    pub(super) receives: u32,
    visible_at: Timestamp,
}

/// What becomes of a message that was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// It will be handed out again.
    Kept,
    /// It was handed out too often and is gone; its row stays.
    SetAside,
}

/// The messages. One consumer takes them.
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

    /// Waits for messages whose time has come and hands out up to `most` of them, the longest visible first.
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

    /// At least one message, or when the next one is due.
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

    /// Takes back a message that was not done.
    pub(super) fn give_back(&self, mut message: Message) -> Returned {
        if message.receives >= MAX_RECEIVES {
            return Returned::SetAside;
        }
        message.visible_at = self.clock.now().plus(BACK_AFTER);
        self.state.lock().waiting.push(message);
        self.changed.notify_one();
        Returned::Kept
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
            asked_again: false,
        })
    }

    fn messages() -> (Arc<SteppedClock>, Arc<Messages>) {
        let clock = Arc::new(SteppedClock::at(NOW));
        let messages = Arc::new(Messages::new(Arc::clone(&clock) as _));
        (clock, messages)
    }

    #[tokio::test]
    async fn a_hint_is_kept_until_it_is_due() {
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
    async fn a_message_that_is_never_done_is_set_aside_after_five_receives() {
        let (clock, messages) = messages();
        messages.send(vec![message(1, 0)]).await;
        for receive in 1..=MAX_RECEIVES {
            let message = messages.take(10).await.remove(0);
            assert_eq!(message.receives, receive);
            let expected = if receive < MAX_RECEIVES {
                Returned::Kept
            } else {
                Returned::SetAside
            };
            assert_eq!(messages.give_back(message), expected);
            assert_eq!(messages.depth().await, Ok(0));
            clock.advance(BACK_AFTER);
        }
        assert_eq!(messages.depth().await, Ok(0));
    }
}
