//! Asks for the backlog of a webhook to be drained.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::flow::FlowStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::drains::{DrainState, Drains};
use postrider_ports::flow::FlowStates;
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};
use postrider_ports::queue::{DrainMessage, Queue};

use crate::telemetry;

/// Sends a `drain` message, unless a drain is running or about to begin. A lost message is harmless: the poller asks again.
pub(crate) async fn ask_for_drain(
    store: &dyn Drains,
    queue: &dyn Queue,
    (tenant, webhook): (&TenantId, WebhookId),
    seen: &DrainState,
    now: Timestamp,
) {
    if !seen.needs_message(now) {
        return;
    }
    match store
        .ask_for_drain(tenant, webhook, seen.asked_for, now)
        .await
    {
        Ok(Stored::Done) => {
            let message = DrainMessage {
                tenant: tenant.clone(),
                webhook,
                not_before: now,
            };
            queue.send(vec![message.into()]).await;
        }
        Ok(Stored::Outdated) => {}
        Err(error) => telemetry::drain_failed(webhook, &error),
    }
}

/// One drainer manages this many attempts per second.
const DRAINED_PER_SECOND: u32 = 300;

/// How fast webhooks are called, as all workers share it.
pub(crate) struct SharedFlows(pub(crate) Arc<dyn Limiters>);

#[async_trait]
impl FlowStates for SharedFlows {
    async fn flows(&self, webhooks: &[Webhook]) -> Result<Vec<FlowStatus>> {
        let named = webhooks
            .iter()
            .map(|webhook| (webhook.tenant.clone(), webhook.id));
        let flows = self.0.flows(&named.collect::<Vec<_>>()).await;
        let status = |(webhook, flow): (&Webhook, Result<Option<WebhookFlow>>)| {
            let limits = webhook.settings.limits();
            Ok(match flow? {
                Some(flow) => FlowStatus::of(&flow.limiter, &limits),
                None => FlowStatus::unlimited(&limits),
            })
        };
        webhooks.iter().zip(flows).map(status).collect()
    }

    fn fastest_max_rate(&self) -> u32 {
        DRAINED_PER_SECOND
    }
}
