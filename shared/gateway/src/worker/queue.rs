//! What the dispatcher function does with hints: looks at the rows, gives retries their turns, attempts what is due.

mod due;
mod finish;
mod triage;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::{join_all, join3};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::queue::{AttemptMessage, Queue, QueueMessage};
use postrider_ports::schedule::DueRow;
use postrider_ports::{Error, Result};
use tokio::select;

use crate::Ports;
use crate::attempt::Attempts;
use crate::webhook_cache::WebhookCache;
use crate::worker::queue::triage::{Triage, triage};

/// When whatever is unfinished is given up, so that the rest of the batch can still be reported.
const REPORT_MARGIN: Millis = Millis::from_seconds(1);

/// Handles hints.
pub struct QueueWorker {
    ports: Ports,
    dispatcher: Attempts,
    webhook_cache: Arc<WebhookCache>,
    queue: Arc<dyn Queue>,
    process: String,
}

/// What became of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Its row was attempted, and what that came to is stored.
    Attempted,
    /// It was sent again: it came early, or there was no time left for an attempt.
    SentAgain,
    /// Its row was moved to a later turn, or set aside until there is one.
    Postponed,
    /// The webhook that it names was tested.
    Probed,
    /// There was nothing to do.
    Dropped(Needless),
}

/// Why there was nothing to do for a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needless {
    /// There is no such row.
    Missing,
    /// It is delivered or dead, or died just now because its webhook was deleted.
    Closed,
    /// It waits for its webhook to be resumed.
    Parked,
    /// Somebody else is attempting it.
    Held,
    /// It is due at another time, for which another hint was or will be sent.
    Superseded,
    /// The same batch names it twice.
    Doubled,
    /// It was claimed and not attempted, or by the end somebody else had it. The poller looks after it.
    NotCounted,
}

type Answer = (DeliveryId, Result<Handled>);

impl QueueWorker {
    /// Over these ports; claims in the name of `process`.
    #[must_use]
    pub fn new(
        ports: Ports,
        dispatcher: Attempts,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        process: String,
    ) -> Self {
        Self {
            ports,
            dispatcher,
            webhook_cache,
            queue,
            process,
        }
    }

    /// Handles a batch, all at once; one result each, in order. An `Err` means that we could not do our work and the
    /// hint should come again; a receiver's failure never is one.
    pub async fn handle(
        &self,
        messages: Vec<QueueMessage>,
        deadline: Timestamp,
    ) -> Vec<Result<Handled>> {
        let mut answers: Vec<Option<Result<Handled>>> = messages.iter().map(|_| None).collect();
        let (mut attempts, mut probes) = (Vec::new(), Vec::new());
        for (index, message) in messages.into_iter().enumerate() {
            match message {
                QueueMessage::Attempt(message) => attempts.push((index, message)),
                QueueMessage::Probe(message) => probes.push((index, message)),
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
        let due = batch
            .due
            .into_iter()
            .map(|((tenant, webhook), rows)| self.handle_due(tenant, webhook, rows, deadline));
        let early = self.send_each(batch.early, Handled::SentAgain);
        let probes = probes
            .iter()
            .map(|(index, message)| async { (*index, self.probe(message, deadline).await) });
        let (early, due, probes) = join3(early, join_all(due), join_all(probes)).await;
        for (id, handled) in early.into_iter().chain(due.into_iter().flatten()) {
            if let Some(index) = batch.first_named_at.get(&id) {
                answer(*index, handled);
            }
        }
        for (index, handled) in probes {
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

    /// What the work comes to, if it ends in time. Whatever is broken off is as if the function had ended there: its
    /// lease runs out, and the row is attempted again.
    async fn in_time<T>(
        &self,
        deadline: Timestamp,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        select! {
            biased;
            done = work => done,
            () = self.ports.clock.sleep_until(deadline.minus(REPORT_MARGIN)) => {
                Err(Error::Unavailable("the function's time was over".into()))
            }
        }
    }
}

/// A batch, sorted by what there is to do.
#[derive(Default)]
struct Batch {
    early: Vec<AttemptMessage>,
    due: BTreeMap<(TenantId, WebhookId), Vec<DueRow>>,
    /// The index of the first message that named a row.
    first_named_at: HashMap<DeliveryId, usize>,
}

impl Batch {
    /// Sorts a message in; returns its answer if that is known already.
    fn sort(
        &mut self,
        index: usize,
        message: AttemptMessage,
        look: Result<Triage>,
    ) -> Option<Result<Handled>> {
        let look = match look {
            Err(error) => return Some(Err(error)),
            Ok(Triage::Dropped(why)) => return Some(Ok(Handled::Dropped(why))),
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
