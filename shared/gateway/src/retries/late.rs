//! Delivering a stored event to a webhook that did not get it: the webhook is new, or was not subscribed.

use postrider_domain::delivery::Delivery;
use postrider_domain::event::Event;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::webhook::Webhook;
use postrider_ports::interventions::Added;
use postrider_ports::queue::QueueMessage;

use super::Retries;
use crate::error::Conflict;
use crate::ingest::fresh_row;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Delivers a stored event to a webhook that has no delivery of it, whatever its event types and filter.
    ///
    /// # Errors
    /// The event or the webhook does not exist, the webhook is disabled, or it has a delivery of the event.
    pub async fn deliver_to(
        &self,
        tenant: &TenantId,
        event: EventId,
        webhook: WebhookId,
    ) -> Result<Delivery, GatewayError> {
        let webhook = self.manage.get(tenant, webhook).await?;
        if webhook.health.status == WebhookStatus::Disabled {
            return Err(Conflict::WebhookDisabled.into());
        }
        let event = self.ports.store.event(tenant, event).await?;
        let event = event.ok_or(GatewayError::NotFound { what: "event" })?;
        self.retries.add(&event, &webhook).await
    }
}

impl Retries {
    async fn add(&self, event: &Event, webhook: &Webhook) -> Result<Delivery, GatewayError> {
        let row = fresh_row(event, webhook, self.ports.clock.now());
        match self.ports.store.add_delivery(row.clone()).await? {
            Added::Done => {
                self.queue.send(vec![QueueMessage::of(&row)]).await;
                Ok(row)
            }
            Added::Exists => Err(Conflict::Exists.into()),
            Added::EventMissing => Err(GatewayError::NotFound { what: "event" }),
        }
    }
}
