//! The queue worker, which the dispatcher function runs: reads the rows that queue messages name, and attempts those that
//! are due. Rows that may not go yet move to the backlog of their webhook.

mod due;
mod finish;
mod held;
mod limiting;
mod memory;
mod triage;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures_util::future::{join, join_all, join4};
use postrider_domain::flow::{AttemptKind, Limiter};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::WorkerStore;
use postrider_ports::deliveries::SeenRow;
use postrider_ports::queue::{AttemptMessage, Queue, QueueMessage};
use postrider_ports::{Error, Result};
use tokio::select;

use crate::Ports;
use crate::attempt::Attempts;
use crate::webhook_cache::WebhookCache;
use crate::worker::REPORT_MARGIN;
use crate::worker::claims::Claims;
use crate::worker::drain::{Drained, Drainer};
use crate::worker::queue::due::Due;
use crate::worker::queue::held::HeldEvents;
use crate::worker::queue::memory::Memory;
use crate::worker::queue::triage::{Triage, triage};

pub struct QueueWorker {
    ports: Ports<dyn WorkerStore>,
    attempts: Arc<Attempts>,
    webhook_cache: Arc<WebhookCache>,
    queue: Arc<dyn Queue>,
    wanting: Claims,
    memory: Memory,
    drainer: Drainer,
}

/// A due row that a queue message names.
#[derive(Clone, Debug)]
struct DueRow {
    tenant: TenantId,
    id: DeliveryId,
    next_retry_at: Timestamp,
    kind: AttemptKind,
    seen: SeenRow,
}

impl DueRow {
    /// The message that named it.
    fn message(self) -> AttemptMessage {
        AttemptMessage {
            tenant: self.tenant,
            id: self.id,
            next_retry_at: self.next_retry_at,
            fresh: self.seen == SeenRow::Accepted,
        }
    }

    /// Whether the row needs credit although its webhook is not limited.
    fn needs_credit(&self, limiter: &Limiter) -> bool {
        match self.kind {
            AttemptKind::Retry => true,
            AttemptKind::First => self.next_retry_at < limiter.opened_at,
        }
    }
}

/// The result of a queue message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// The row was attempted and the result is stored.
    Attempted,
    /// The message came early, or there was no time left for an attempt.
    SentAgain,
    /// The row was moved to the backlog of its webhook.
    Postponed,
    Drained(Drained),
    Probed,
    Dropped(Needless),
}

/// Why there was nothing to do for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needless {
    Missing,
    /// The row is delivered or dead, or was just ended because its webhook was deleted.
    Closed,
    /// The row is in the backlog of its webhook.
    InBacklog,
    /// Another process is attempting the row.
    Held,
    /// The row is due at another time, for which another message was or will be sent.
    Superseded,
    /// The batch names the row twice.
    Doubled,
    /// Another process claimed the row meanwhile; its attempt counts.
    NotCounted,
}

type Answer = (DeliveryId, Result<Handled>);

impl QueueWorker {
    /// `process` is the owner of its leases.
    #[must_use]
    pub fn new(
        ports: impl Into<Ports<dyn WorkerStore>>,
        attempts: Attempts,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        process: String,
    ) -> Self {
        let (ports, attempts) = (ports.into(), Arc::new(attempts));
        let wanting = Claims {
            process,
            entropy: Arc::clone(&ports.entropy),
        };
        Self {
            drainer: Drainer::new(
                ports.clone(),
                Arc::clone(&attempts),
                Arc::clone(&webhook_cache),
                Arc::clone(&queue),
                wanting.clone(),
            ),
            wanting,
            ports,
            attempts,
            webhook_cache,
            queue,
            memory: Memory::default(),
        }
    }

    /// Handles a batch concurrently; one result per message, in order. An `Err` means that the gateway failed and the
    /// message should come again. A receiver's failure is never an `Err`.
    pub async fn handle(
        &self,
        messages: Vec<QueueMessage>,
        deadline: Timestamp,
    ) -> Vec<Result<Handled>> {
        let mut answers: Vec<Option<Result<Handled>>> = messages.iter().map(|_| None).collect();
        let (mut attempts, mut probes, mut drains) = (Vec::new(), Vec::new(), Vec::new());
        for (index, message) in messages.into_iter().enumerate() {
            match message {
                QueueMessage::Attempt(message) => attempts.push((index, message)),
                QueueMessage::Probe(message) => probes.push((index, message)),
                QueueMessage::Drain(message) => drains.push((index, message)),
            }
        }
        let looks = attempts
            .iter()
            .map(|(_, message)| self.in_time(deadline, triage(&self.ports, message)));
        let looks = join_all(looks).await;
        let mut batch = Batch::default();
        let mut answer = |index, handled| {
            if let Some(slot) = answers.get_mut(index) {
                *slot = Some(handled);
            }
        };
        for ((index, message), look) in attempts.into_iter().zip(looks) {
            if let Some(handled) = batch.sort(index, message, look) {
                answer(index, handled);
            }
        }
        let held = HeldEvents::default();
        let due = batch
            .due
            .into_iter()
            .map(|((tenant, webhook), rows)| Due {
                tenant,
                webhook,
                rows,
            })
            .map(|due| self.handle_due(due, &held, deadline));
        let early = self.send_each(batch.early, Handled::SentAgain);
        let probes = probes
            .iter()
            .map(|(index, message)| async { (*index, self.probe(message, deadline).await) });
        let drains = drains.iter().map(|(index, message)| async {
            let drained = self.drainer.drain(message, deadline).await;
            (*index, Ok(Handled::Drained(drained)))
        });
        let woken = self.wake_backlogs(batch.in_backlog);
        let attempts = join4(early, join_all(due), join_all(probes), woken);
        let ((early, due, probes, ()), drained) = join(attempts, join_all(drains)).await;
        for (id, handled) in early.into_iter().chain(due.into_iter().flatten()) {
            if let Some(index) = batch.first_named_at.get(&id) {
                answer(*index, handled);
            }
        }
        for (index, handled) in probes.into_iter().chain(drained) {
            answer(index, handled);
        }
        let unanswered = || Err(Error::Broken("a queue message was left unanswered".into()));
        answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(unanswered))
            .collect()
    }

    async fn send(&self, message: QueueMessage) -> Result<()> {
        let sent = self.queue.send(vec![message]).await.pop();
        sent.unwrap_or_else(|| Err(Error::Broken("no answer from the queue".into())))
    }

    async fn send_each(&self, messages: Vec<AttemptMessage>, done: Handled) -> Vec<Answer> {
        if messages.is_empty() {
            return Vec::new();
        }
        let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
        let messages = messages.into_iter().map(QueueMessage::Attempt).collect();
        let sent = self.queue.send(messages).await;
        let done = sent.into_iter().map(|sent| sent.map(|()| done));
        ids.into_iter().zip(done).collect()
    }

    /// Runs work until shortly before the deadline. Aborted work is as if the function had ended there: the lease expires,
    /// and the row is attempted again.
    async fn in_time<T>(
        &self,
        deadline: Timestamp,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        select! {
            biased;
            done = work => done,
            () = self.ports.clock.sleep_until(deadline.minus(REPORT_MARGIN)) => {
                Err(Error::Unavailable("the function ran out of time".into()))
            }
        }
    }
}

/// A batch, sorted by what to do.
#[derive(Default)]
struct Batch {
    early: Vec<AttemptMessage>,
    due: BTreeMap<(TenantId, WebhookId), Vec<DueRow>>,
    /// The webhooks of rows that are in a backlog.
    in_backlog: BTreeSet<(TenantId, WebhookId)>,
    /// The index of the first message that named a row.
    first_named_at: HashMap<DeliveryId, usize>,
}

impl Batch {
    /// Adds a message; returns its result if that is already known.
    fn sort(
        &mut self,
        index: usize,
        message: AttemptMessage,
        look: Result<Triage>,
    ) -> Option<Result<Handled>> {
        let look = match look {
            Err(error) => return Some(Err(error)),
            Ok(Triage::Dropped(why)) => {
                if why == Needless::InBacklog {
                    let webhook = (message.tenant, message.id.webhook);
                    self.in_backlog.insert(webhook);
                }
                return Some(Ok(Handled::Dropped(why)));
            }
            Ok(look) => look,
        };
        if self.first_named_at.contains_key(&message.id) {
            return Some(Ok(Handled::Dropped(Needless::Doubled)));
        }
        self.first_named_at.insert(message.id, index);
        match look {
            Triage::Due(row) => {
                let webhook = (row.tenant.clone(), row.id.webhook);
                self.due.entry(webhook).or_default().push(row);
            }
            Triage::Early | Triage::Dropped(_) => self.early.push(message),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use postrider_testkit::builders::{NOW, after, event_id, webhook_id};

    use super::*;

    fn needs_credit(kind: AttemptKind, due_at: Timestamp) -> bool {
        let row = DueRow {
            tenant: TenantId::default(),
            id: DeliveryId {
                event: event_id(1),
                webhook: webhook_id(1),
            },
            next_retry_at: due_at,
            kind,
            seen: SeenRow::Read,
        };
        row.needs_credit(&Limiter {
            opened_at: after(1),
            ..Limiter::default()
        })
    }

    /// [`Flow::allow`](postrider_domain::flow::Flow::allow) has the same rule for a drainer.
    #[test]
    fn a_first_attempt_needs_no_credit_from_the_moment_the_limit_ended() {
        assert!(needs_credit(AttemptKind::First, NOW));
        assert!(!needs_credit(AttemptKind::First, after(1)));
    }

    #[test]
    fn a_retry_always_needs_credit() {
        assert!(needs_credit(AttemptKind::Retry, NOW));
        assert!(needs_credit(AttemptKind::Retry, after(2)));
    }
}
