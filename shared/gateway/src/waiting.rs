//! What open deliveries wait for.

use std::collections::{HashMap, HashSet};

use postrider_domain::delivery::Delivery;
use postrider_domain::flow::{FlowStatus, WaitingFor};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;

use crate::GatewayError;
use crate::webhooks::ManageWebhooks;

/// The state of webhooks, read once for many deliveries.
#[derive(Debug)]
pub struct WaitReasons {
    webhooks: HashMap<WebhookId, (WebhookStatus, FlowStatus)>,
    now: Timestamp,
}

impl WaitReasons {
    /// Reads the flows of those webhooks that have an open delivery here. All are of one tenant.
    pub async fn read(
        manage: &ManageWebhooks,
        rows: &[Delivery],
        webhooks: &[Webhook],
        now: Timestamp,
    ) -> Result<Self, GatewayError> {
        let open = rows.iter().filter(|row| row.status.is_open());
        let used: HashSet<_> = open.map(|row| row.id.webhook).collect();
        let webhooks = webhooks.iter().filter(|webhook| used.contains(&webhook.id));
        let webhooks: Vec<_> = webhooks.cloned().collect();
        let flows = manage.flows(&webhooks).await?;
        let states = webhooks.iter().zip(flows);
        Ok(Self {
            webhooks: states
                .map(|(webhook, flow)| (webhook.id, (webhook.health.status, flow)))
                .collect(),
            now,
        })
    }

    #[must_use]
    pub fn reason(&self, row: &Delivery) -> Option<WaitingFor> {
        let webhook = self.webhooks.get(&row.id.webhook).copied();
        WaitingFor::of(row, webhook, self.now)
    }
}
