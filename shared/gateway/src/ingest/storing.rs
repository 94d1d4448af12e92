//! Stores planned events and hands their deliveries to a worker.

use std::collections::HashSet;
use std::sync::Arc;

use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, EventId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::{Acceptance, Accepted, ClaimedDelivery, Deliveries};
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::start_now::{AcceptClaimed, Planned, Reservation, StartNow};
use postrider_ports::{Error, Result};

use super::to_the_end::ToTheEnd;
use super::{Published, Repeated};
use crate::{GatewayError, metrics};

#[derive(Clone)]
pub(crate) struct Handoff {
    store: Arc<dyn Deliveries>,
    queue: Arc<dyn Queue>,
    fast_path: Option<FastPath>,
}

/// Worker and store in one process: a first attempt starts immediately if a slot is free.
#[derive(Clone)]
pub(crate) struct FastPath {
    pub(crate) worker: Arc<dyn StartNow>,
    pub(crate) store: Arc<dyn AcceptClaimed>,
}

/// The answer of the store, and the webhooks whose deliveries were started.
type Stored = (Accepted, HashSet<WebhookId>);

impl Handoff {
    pub(crate) fn new(
        store: Arc<dyn Deliveries>,
        queue: Arc<dyn Queue>,
        fast_path: Option<FastPath>,
    ) -> Self {
        Self {
            store,
            queue,
            fast_path,
        }
    }

    /// Waits a moment if accepting events runs ahead of delivering them.
    pub(crate) async fn admit(&self) {
        if let Some(FastPath { worker, .. }) = &self.fast_path {
            worker.admit().await;
        }
    }

    /// Reserves first attempts of an event whose body has this length. Each reservation must be passed to
    /// [`Self::store_all`].
    pub(crate) fn reserve<'a>(
        &self,
        webhooks: impl IntoIterator<Item = &'a Webhook>,
        bytes: usize,
        now: Timestamp,
    ) -> Vec<Reservation> {
        let Some(FastPath { worker, .. }) = &self.fast_path else {
            return Vec::new();
        };
        let reservation = |webhook: &Webhook| {
            let lease = worker.reserve(webhook, bytes, now)?;
            Some(Reservation {
                webhook: webhook.id,
                lease,
            })
        };
        webhooks.into_iter().filter_map(reservation).collect()
    }

    /// Stores an event with its rows, then starts them or sends their messages. `None` if the webhooks have changed and
    /// the event must be planned again.
    pub(crate) async fn store(
        &self,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> std::result::Result<Option<Published>, GatewayError> {
        let planned = Planned {
            acceptance,
            reserved,
        };
        let stored = self.store_all(vec![planned]).await.pop();
        stored.unwrap_or_else(|| Err(unanswered().into()))
    }

    /// The same for many events; one result each, in order. Runs to the end even if the caller disconnects: a row that was
    /// inserted as claimed must be started, and a reserved slot must be returned.
    pub(crate) async fn store_all(
        &self,
        batch: Vec<Planned>,
    ) -> Vec<std::result::Result<Option<Published>, GatewayError>> {
        let planned: Vec<_> = batch.iter().map(ids).collect();
        let storing = self.clone().store_and_start(batch);
        let mut accepted = ToTheEnd::of(storing).await.into_iter();
        let missing = || Err(unanswered());
        planned
            .into_iter()
            .map(|(event, rows)| published(event, rows, accepted.next().unwrap_or_else(missing)))
            .collect()
    }

    async fn store_and_start(self, batch: Vec<Planned>) -> Vec<Result<Accepted>> {
        let messages: Vec<Vec<QueueMessage>> = batch.iter().map(messages).collect();
        let (mut results, mut unstarted) = (Vec::with_capacity(batch.len()), Vec::new());
        for (accepted, messages) in self.accept_all(batch).await.into_iter().zip(messages) {
            unstarted.extend(messages_to_send(&accepted, messages));
            results.push(accepted.map(|(accepted, _)| accepted));
        }
        if !unstarted.is_empty() {
            // A lost message is harmless: the row is stored, and is found without one.
            self.queue.send(unstarted).await;
        }
        results
    }

    async fn accept_all(&self, batch: Vec<Planned>) -> Vec<Result<Stored>> {
        match &self.fast_path {
            Some(fast_path) => fast_path.accept_all(batch).await,
            None => {
                let count = batch.len();
                let batch = batch.into_iter().map(|one| one.acceptance).collect();
                let mut accepted = self.store.accept(batch).await.into_iter();
                let next = |_| accepted.next().unwrap_or_else(|| Err(unanswered()));
                let accepted = (0..count).map(next);
                accepted
                    .map(|accepted| accepted.map(|accepted| (accepted, HashSet::new())))
                    .collect()
            }
        }
    }
}

fn ids(planned: &Planned) -> (EventId, Vec<DeliveryId>) {
    let rows = planned.acceptance.rows.iter().map(|row| row.id);
    (planned.acceptance.event.id, rows.collect())
}

fn messages(planned: &Planned) -> Vec<QueueMessage> {
    let rows = planned.acceptance.rows.iter();
    rows.map(QueueMessage::of).collect()
}

/// The reservations of an event.
struct Reserved {
    event: Arc<Event>,
    webhooks: Vec<WebhookId>,
}

impl FastPath {
    /// Stores events and starts the deliveries that were inserted as claimed.
    async fn accept_all(&self, batch: Vec<Planned>) -> Vec<Result<Stored>> {
        let reserved = |planned: &Planned| Reserved {
            event: Arc::clone(&planned.acceptance.event),
            webhooks: planned.reserved.iter().map(|one| one.webhook).collect(),
        };
        let reserved: Vec<_> = batch.iter().map(reserved).collect();
        let mut accepted = self.store.accept_claimed(batch).await.into_iter();
        let start = |reserved| {
            let accepted = accepted.next().unwrap_or_else(|| Err(unanswered()));
            self.start(&reserved, accepted)
        };
        reserved.into_iter().map(start).collect()
    }

    fn start(
        &self,
        reserved: &Reserved,
        accepted: Result<(Accepted, Vec<ClaimedDelivery>)>,
    ) -> Result<Stored> {
        let (accepted, claimed) = match accepted {
            Ok((accepted, claimed)) => (Ok(accepted), claimed),
            Err(error) => (Err(error), Vec::new()),
        };
        let mut started = HashSet::with_capacity(claimed.len());
        for delivery in claimed {
            started.insert(delivery.claimed.delivery().id.webhook);
            self.worker.start(delivery);
        }
        let event = &reserved.event;
        for webhook in &reserved.webhooks {
            if !started.contains(webhook) {
                let bytes = event.body.len();
                self.worker.cancel(&event.tenant, *webhook, bytes);
            }
        }
        Ok((accepted?, started))
    }
}

/// The messages of the rows that were stored and not started.
fn messages_to_send(stored: &Result<Stored>, messages: Vec<QueueMessage>) -> Vec<QueueMessage> {
    match stored {
        Ok((Accepted::New, started)) => {
            metrics::accepted(Repeated::No);
            // A row whose slot was reserved but that was not started needs a message like any other.
            let messages = messages.into_iter();
            messages
                .filter(|message| !started.contains(&message.webhook()))
                .collect()
        }
        Ok((Accepted::Duplicate { completed, .. }, _)) => {
            metrics::accepted(Repeated::Yes);
            completed.iter().cloned().map(Into::into).collect()
        }
        Ok((Accepted::Conflict | Accepted::Outdated, _)) | Err(_) => Vec::new(),
    }
}

fn published(
    event: EventId,
    rows: Vec<DeliveryId>,
    accepted: Result<Accepted>,
) -> std::result::Result<Option<Published>, GatewayError> {
    let (event, repeated, deliveries) = match accepted? {
        Accepted::New => (event, Repeated::No, rows),
        Accepted::Duplicate {
            event, deliveries, ..
        } => (event, Repeated::Yes, deliveries),
        Accepted::Conflict => return Err(GatewayError::KeyReused),
        Accepted::Outdated => return Ok(None),
    };
    Ok(Some(Published {
        event,
        repeated,
        deliveries,
    }))
}

fn unanswered() -> Error {
    Error::Broken("the store returned no result".into())
}
