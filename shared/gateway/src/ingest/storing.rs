//! Storing what was planned, and starting it.

use std::sync::Arc;

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_ports::deliveries::{Acceptance, Accepted, ClaimedDelivery};
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::{Error, Result, Store};

use super::{Published, Repeated};
use crate::{GatewayError, Ports, metrics};

/// Stores an event with its rows, then starts or announces them; none when the webhooks have changed, and it must be
/// planned again. Goes on to the end even if the caller goes away: a row that was inserted claimed must be started, and a
/// place that was offered given back.
pub(crate) async fn store(
    ports: &Ports,
    queue: &Arc<dyn Queue>,
    acceptance: Acceptance,
) -> std::result::Result<Option<Published>, GatewayError> {
    let event = acceptance.event.id;
    let rows: Vec<_> = acceptance.rows.iter().map(|new| new.row.id).collect();
    let storing = store_and_start(Arc::clone(&ports.store), Arc::clone(queue), acceptance);
    let broken = |_| Err(Error::Broken("storing an event was broken off".into()));
    let accepted = tokio::spawn(storing).await.unwrap_or_else(broken)?;
    let (event, repeated, deliveries) = match accepted {
        Accepted::New { .. } => (event, Repeated::No, rows),
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
    store: Arc<dyn Store>,
    queue: Arc<dyn Queue>,
    acceptance: Acceptance,
) -> Result<Accepted> {
    let tenant = acceptance.event.tenant.clone();
    let offered = acceptance.rows.iter().filter(|new| new.lease.is_some());
    let offered: Vec<WebhookId> = offered.map(|new| new.row.id.webhook).collect();
    let messages: Vec<QueueMessage> = acceptance
        .rows
        .iter()
        .map(|new| QueueMessage::of(&new.row))
        .collect();
    let accepted = store.accept(vec![acceptance]).await.pop();
    let accepted =
        accepted.unwrap_or_else(|| Err(Error::Broken("no answer from the store".into())));
    match &accepted {
        Ok(Accepted::New { claimed }) => {
            metrics::accepted(Repeated::No);
            start(&*queue, &tenant, &offered, claimed);
            // A row that asked to be claimed and is not needs a hint like any other.
            let is_claimed = |id| claimed.iter().any(|one| one.claimed.delivery().id == id);
            let messages: Vec<_> = messages
                .into_iter()
                .filter(|message| !is_claimed(message.id))
                .collect();
            if !messages.is_empty() {
                // A lost hint is harmless: the row is due and will be found.
                queue.send(messages).await;
            }
        }
        Ok(Accepted::Duplicate { completed, .. }) => {
            metrics::accepted(Repeated::Yes);
            start(&*queue, &tenant, &offered, &[]);
            if !completed.is_empty() {
                queue.send(completed.clone()).await;
            }
        }
        Ok(Accepted::Conflict | Accepted::Outdated) | Err(_) => {
            start(&*queue, &tenant, &offered, &[]);
        }
    }
    accepted
}

fn start(queue: &dyn Queue, tenant: &TenantId, offered: &[WebhookId], claimed: &[ClaimedDelivery]) {
    for webhook in offered {
        let is_its =
            |delivery: &&ClaimedDelivery| delivery.claimed.delivery().id.webhook == *webhook;
        match claimed.iter().find(is_its) {
            Some(delivery) => queue.start(delivery.clone()),
            None => queue.decline(tenant, *webhook),
        }
    }
}
