//! SQS: standard queues that delay, double, reorder, lose and redrive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_ports::clock::Clock;
use postrider_ports::mail::{Email, Mail};
use postrider_ports::notifications::Topic;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::{Error, Result};
use serde_json::{Value, json};
use tokio::select;
use tokio::sync::Notify;

use super::draws::Fault;
use super::executor::Process;
use super::functions::Function;
use super::network::Wire;
use super::world::World;

/// How many messages an invocation gets at most.
const BATCH: usize = 10;
/// How often a message is received before it is moved to the dead-letter queue.
const MOST_RECEIVES: u32 = 5;
/// How many invocations of one queue run at the same time.
const AT_ONCE: usize = 4;
/// How long it takes until an operator redrives dead letters.
const REDRIVEN_AFTER_MS: i64 = 15 * 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QueueName {
    Attempts,
    Drains,
    Mail,
}

impl QueueName {
    pub(super) const ALL: [Self; 3] = [Self::Attempts, Self::Drains, Self::Mail];

    const fn function(self) -> Function {
        match self {
            Self::Attempts | Self::Drains => Function::Dispatcher,
            Self::Mail => Function::Notifier,
        }
    }

    const fn hidden_for_ms(self) -> i64 {
        match self {
            Self::Attempts | Self::Drains => 360_000,
            Self::Mail => 180_000,
        }
    }
}

#[derive(Clone, Debug)]
struct Message {
    id: u64,
    body: String,
    receives: u32,
}

#[derive(Default)]
pub(super) struct Queues {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// By the time at which they are visible.
    messages: BTreeMap<(QueueName, i64, u64), Message>,
    invocations: BTreeMap<QueueName, usize>,
    numbered: u64,
}

impl Queues {
    fn add(&self, queue: QueueName, visible_ms: i64, body: String) {
        let mut state = self.state.lock();
        state.numbered += 1;
        let id = state.numbered;
        let message = Message {
            id,
            body,
            receives: 0,
        };
        state.messages.insert((queue, visible_ms, id), message);
        drop(state);
        self.changed.notify_waiters();
    }

    pub(super) fn is_empty(&self, queue: QueueName) -> bool {
        let state = self.state.lock();
        !state.messages.keys().any(|(of, _, _)| *of == queue)
    }

    /// When the first message of a queue is visible.
    fn first_ms(&self, queue: QueueName) -> Option<i64> {
        let state = self.state.lock();
        let mut first = state.messages.range((queue, i64::MIN, 0)..);
        let ((of, at, _), _) = first.next()?;
        (*of == queue).then_some(*at)
    }
}

impl World {
    pub(super) fn send(&self, queue: QueueName, delay_ms: i64, body: String) {
        let draws = &self.draws;
        // SNS keeps a notification until the queue has it.
        let may_be_lost = queue != QueueName::Mail;
        let are_all_lost = self.loses_messages.load(Ordering::Relaxed);
        if may_be_lost && (are_all_lost || draws.strikes(Fault::MessageLost)) {
            self.note(&format!("{queue:?}: lost {body}"));
            return;
        }
        // SQS delays by whole seconds.
        let delay = delay_ms.max(0).div_euclid(1000) * 1000 + i64::from(delay_ms % 1000 > 0) * 1000;
        let mut visible = self.executor.now_ms() + delay;
        if draws.strikes(Fault::MessageLate) {
            visible += draws.between("message", 1000, 120_000);
        }
        if draws.strikes(Fault::MessageDoubled) {
            let longest = [500, 60_000][draws.index("doubled", 2)];
            let again = visible + draws.between("message", 0, longest);
            self.queues.add(queue, again, body.clone());
        }
        self.queues.add(queue, visible, body);
    }

    /// Invokes the function of a queue with its messages, for ever.
    pub(super) async fn serve_queue(self: Arc<Self>, queue: QueueName) {
        loop {
            let changed = self.queues.changed.notified();
            let now = self.executor.now_ms();
            let is_busy =
                self.queues.state.lock().invocations.get(&queue).copied() >= Some(AT_ONCE);
            match self.queues.first_ms(queue) {
                Some(at) if at <= now && !is_busy => {
                    let batch = self.receive(queue, now);
                    let world = Arc::clone(&self);
                    let handling = world.handle_batch(queue, batch);
                    self.executor.spawn(Process::WORLD, handling);
                }
                Some(at) if at > now => {
                    select! {
                        biased;
                        () = changed => {}
                        () = self.executor.sleep(at - now) => {}
                    }
                }
                Some(_) | None => changed.await,
            }
        }
    }

    /// Takes visible messages and hides them.
    fn receive(&self, queue: QueueName, now: i64) -> Vec<Message> {
        let most = 1 + self.draws.index("batch", BATCH);
        let mut state = self.queues.state.lock();
        *state.invocations.entry(queue).or_default() += 1;
        let visible = state
            .messages
            .range((queue, i64::MIN, 0)..=(queue, now, u64::MAX));
        let visible: Vec<_> = visible.take(most).map(|(place, _)| *place).collect();
        let mut batch = Vec::new();
        for place in visible {
            let mut message = state.messages.remove(&place).unwrap();
            message.receives += 1;
            batch.push(message.clone());
            let hidden = now + queue.hidden_for_ms();
            state.messages.insert((queue, hidden, message.id), message);
        }
        batch
    }

    async fn handle_batch(self: Arc<Self>, queue: QueueName, batch: Vec<Message>) {
        let records = batch.iter().map(|message| {
            let attributes = json!({ "ApproximateReceiveCount": message.receives.to_string() });
            json!({
                "messageId": message.id.to_string(), "body": message.body,
                "attributes": attributes, "messageAttributes": {},
            })
        });
        let event = json!({ "Records": records.collect::<Vec<_>>() });
        let answer = self.invoke(queue.function(), event).await;
        let mut state = self.queues.state.lock();
        *state.invocations.entry(queue).or_default() -= 1;
        let is_done = |message: &Message| answer.as_ref().is_some_and(|it| !failed(it, message.id));
        let places: Vec<_> = state.messages.keys().copied().collect();
        for (of, at, id) in places {
            let Some(message) = batch.iter().find(|message| message.id == id) else {
                continue;
            };
            if is_done(message) {
                state.messages.remove(&(of, at, id));
            } else if message.receives >= MOST_RECEIVES {
                let mut dead = state.messages.remove(&(of, at, id)).unwrap();
                dead.receives = 0;
                let redriven = self.executor.now_ms() + REDRIVEN_AFTER_MS;
                state.messages.insert((of, redriven, id), dead);
            }
        }
        drop(state);
        self.queues.changed.notify_waiters();
    }
}

/// Whether the answer reports this message as failed.
fn failed(answer: &Value, id: u64) -> bool {
    let failures = answer["batchItemFailures"].as_array();
    failures.is_some_and(|failures| {
        let is_it = |failure: &Value| failure["itemIdentifier"] == json!(id.to_string());
        failures.iter().any(is_it)
    })
}

#[async_trait]
impl Queue for Wire {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let count = messages.len();
        let now = self.clock.now();
        let sent = self.call("SendMessageBatch", move |world| {
            for message in messages {
                let due_at = message.not_before().unwrap_or(now);
                let delay = i64::try_from(due_at.since(now).get()).unwrap();
                let queue = match message {
                    QueueMessage::Attempt(_) | QueueMessage::Probe(_) => QueueName::Attempts,
                    QueueMessage::Drain(_) => QueueName::Drains,
                };
                world.send(queue, delay, serde_json::to_string(&message).unwrap());
            }
        });
        let sent = sent.await.map_err(Error::from);
        vec![sent; count]
    }

    async fn depth(&self) -> Result<u64> {
        let depth = self.call("GetQueueAttributes", |world| {
            world.queues.state.lock().messages.len() as u64
        });
        Ok(depth.await?)
    }
}

#[async_trait]
impl Topic for Wire {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        let count = notifications.len();
        let notifications = notifications.to_vec();
        let published = self.call("PublishBatch", move |world| {
            for notification in &notifications {
                let is_mailed = matches!(
                    notification.kind,
                    NotificationKind::WebhookFailed | NotificationKind::WebhookDegraded
                );
                if notification.kind == NotificationKind::WebhookFailed {
                    world
                        .audit
                        .webhook_failed(world.name_of(&notification.data));
                }
                if notification.kind == NotificationKind::DeliveryDead {
                    world.expiry_notified(&notification.data);
                }
                if is_mailed {
                    world.send(
                        QueueName::Mail,
                        0,
                        notification.to_cloud_event().to_string(),
                    );
                }
            }
        });
        let published = published.await.map_err(Error::from);
        vec![published; count]
    }
}

#[async_trait]
impl Mail for Wire {
    async fn send(&self, email: Email) -> Result<()> {
        let sent = self.call("SendEmail", move |world| {
            world.note(&format!("e-mail {}: {}", email.id, email.subject));
            world.audit.mail(&email.id, &email.subject);
        });
        Ok(sent.await?)
    }
}
