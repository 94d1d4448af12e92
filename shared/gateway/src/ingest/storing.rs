//! Stores a planned event and hands its deliveries to a worker.

use std::collections::HashSet;
use std::sync::Arc;

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::{Acceptance, Accepted, Deliveries};
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::start_now::{AcceptClaimed, Reservation, StartNow};
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

    /// Reserves slots for first attempts. Each reservation must be passed to [`Self::store`].
    pub(crate) fn reserve<'a>(
        &self,
        webhooks: impl IntoIterator<Item = &'a Webhook>,
        now: Timestamp,
    ) -> Vec<Reservation> {
        let Some(FastPath { worker, .. }) = &self.fast_path else {
            return Vec::new();
        };
        let reservation = |webhook: &Webhook| {
            worker.reserve(webhook, now).map(|lease| Reservation {
                webhook: webhook.id,
                lease,
            })
        };
        webhooks.into_iter().filter_map(reservation).collect()
    }

    /// Stores an event with its rows, then starts them or sends their messages. `None` if the webhooks have changed and
    /// the event must be planned again. Runs to the end even if the caller disconnects: a row that was inserted as claimed
    /// must be started, and a reserved slot must be returned.
    pub(crate) async fn store(
        &self,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> std::result::Result<Option<Published>, GatewayError> {
        let event = acceptance.event.id;
        let rows: Vec<_> = acceptance.rows.iter().map(|row| row.id).collect();
        let storing = self.clone().store_and_start(acceptance, reserved);
        let accepted = ToTheEnd::of(storing).await?;
        let (event, repeated, deliveries) = match accepted {
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

    async fn store_and_start(
        self,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> Result<Accepted> {
        let tenant = acceptance.event.tenant.clone();
        let messages: Vec<QueueMessage> = acceptance.rows.iter().map(QueueMessage::of).collect();
        let accepted = self.accept(&tenant, acceptance, reserved).await;
        let unstarted = match &accepted {
            Ok((Accepted::New, started)) => {
                metrics::accepted(Repeated::No);
                // A row whose slot was reserved but that was not started needs a message like any other.
                messages
                    .into_iter()
                    .filter(|message| !started.contains(&message.webhook()))
                    .collect()
            }
            Ok((Accepted::Duplicate { completed, .. }, _)) => {
                metrics::accepted(Repeated::Yes);
                completed.iter().cloned().map(Into::into).collect()
            }
            Ok((Accepted::Conflict | Accepted::Outdated, _)) | Err(_) => Vec::new(),
        };
        if !unstarted.is_empty() {
            // A lost message is harmless: the row is due, and the poller will find it.
            self.queue.send(unstarted).await;
        }
        accepted.map(|(accepted, _)| accepted)
    }

    /// Stores an event and starts the deliveries that were inserted as claimed. Returns the webhooks of those.
    async fn accept(
        &self,
        tenant: &TenantId,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> Result<(Accepted, HashSet<WebhookId>)> {
        let Some(FastPath { worker, store }) = &self.fast_path else {
            let accepted = self.store.accept(vec![acceptance]).await.pop();
            let unanswered = || Err(Error::Broken("the store returned no result".into()));
            return Ok((accepted.unwrap_or_else(unanswered)?, HashSet::new()));
        };
        let webhooks: Vec<_> = reserved.iter().map(|one| one.webhook).collect();
        let (accepted, claimed) = match store.accept_claimed(acceptance, reserved).await {
            Ok((accepted, claimed)) => (Ok(accepted), claimed),
            Err(error) => (Err(error), Vec::new()),
        };
        let mut started = HashSet::with_capacity(claimed.len());
        for delivery in claimed {
            started.insert(delivery.claimed.delivery().id.webhook);
            worker.start(delivery);
        }
        for webhook in webhooks {
            if !started.contains(&webhook) {
                worker.cancel(tenant, webhook);
            }
        }
        Ok((accepted?, started))
    }
}
