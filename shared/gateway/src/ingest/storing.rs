//! Stores a planned event and hands its deliveries to a worker.

use std::sync::Arc;

use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::{Acceptance, Accepted, ClaimedDelivery, Deliveries};
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::start_now::{AcceptClaimed, Reservation, StartNow};
use postrider_ports::{Error, Result};

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
        let broken = |_| Err(Error::Broken("storing the event was interrupted".into()));
        let accepted = tokio::spawn(storing).await.unwrap_or_else(broken)?;
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
                let is_started = |message: &QueueMessage| {
                    let webhook = message.webhook();
                    let mut ids = started.iter().map(|one| one.claimed.delivery().id);
                    ids.any(|id| id.webhook == webhook)
                };
                messages
                    .into_iter()
                    .filter(|one| !is_started(one))
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

    /// Stores an event and starts the deliveries that were inserted as claimed.
    async fn accept(
        &self,
        tenant: &TenantId,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> Result<(Accepted, Vec<ClaimedDelivery>)> {
        let Some(FastPath { worker, store }) = &self.fast_path else {
            let accepted = self.store.accept(vec![acceptance]).await.pop();
            let unanswered = || Err(Error::Broken("the store returned no result".into()));
            return Ok((accepted.unwrap_or_else(unanswered)?, Vec::new()));
        };
        let webhooks: Vec<_> = reserved.iter().map(|one| one.webhook).collect();
        let accepted = store.accept_claimed(acceptance, reserved).await;
        let claimed = accepted.as_ref().map_or(&[][..], |(_, claimed)| claimed);
        for webhook in webhooks {
            let mut of_webhook = claimed.iter();
            match of_webhook.find(|one| one.claimed.delivery().id.webhook == webhook) {
                Some(delivery) => worker.start(delivery.clone()),
                None => worker.cancel(tenant, webhook),
            }
        }
        accepted
    }
}
