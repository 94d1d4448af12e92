//! Limits webhooks that this worker finds to be overloaded, and asks for backlogs to be drained.

use std::collections::BTreeSet;

use postrider_domain::flow::Observation;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::limiters::{Stored, WebhookFlow};

use super::QueueWorker;
use super::memory::Entered;
use crate::{drains, telemetry};

impl QueueWorker {
    pub(super) async fn observe(
        &self,
        (webhook, flow): (&Webhook, &WebhookFlow),
        observation: Observation,
    ) {
        let now = self.ports.clock.now();
        let entered = self.memory.observe(webhook, flow.limiter, observation, now);
        if let Some(entered) = entered {
            self.enter(webhook, &entered, now).await;
            self.ask_for_drain(webhook, flow, now).await;
        }
    }

    /// Stores that a webhook is limited. If that fails, the next failures try again.
    pub(super) async fn enter(&self, webhook: &Webhook, entered: &Entered, now: Timestamp) {
        let Entered {
            seen_epoch,
            limiter,
            change,
        } = entered;
        let store = &self.ports.store;
        match store
            .enter(&webhook.tenant, webhook.id, *seen_epoch, *limiter, now)
            .await
        {
            Ok(Stored::Done) => telemetry::flow_changed(webhook.id, *change),
            Ok(Stored::Outdated) => {}
            Err(error) => {
                telemetry::drain_failed(webhook.id, &error);
                self.memory.forget(webhook);
            }
        }
    }

    pub(super) async fn ask_for_drain(
        &self,
        webhook: &Webhook,
        flow: &WebhookFlow,
        now: Timestamp,
    ) {
        let named = (&webhook.tenant, webhook.id);
        let (store, queue) = (&*self.ports.store, &*self.queue);
        drains::ask_for_drain(store, queue, named, &flow.drain, now).await;
    }

    /// Messages came for rows that are in a backlog: they were written there just now.
    pub(super) async fn wake_backlogs(&self, webhooks: BTreeSet<(TenantId, WebhookId)>) {
        if webhooks.is_empty() {
            return;
        }
        let webhooks: Vec<_> = webhooks.into_iter().collect();
        let (store, queue) = (&*self.ports.store, &*self.queue);
        let flows = store.flows(&webhooks).await;
        let now = self.ports.clock.now();
        for ((tenant, webhook), flow) in webhooks.iter().zip(flows) {
            match flow {
                Ok(Some(flow)) if !flow.status.is_stopped() => {
                    let named = (tenant, *webhook);
                    drains::ask_for_drain(store, queue, named, &flow.drain, now).await;
                }
                Ok(Some(_) | None) => {}
                Err(error) => telemetry::drain_failed(*webhook, &error),
            }
        }
    }
}
