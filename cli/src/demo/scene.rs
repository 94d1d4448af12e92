//! What the demo's gateway is set up with, through its API.

use std::net::SocketAddr;
use std::path::PathBuf;

use postrider_api_types::source::SourceView;
use postrider_api_types::webhook::CreatedWebhook;
use serde_json::{Value, json};

use super::receivers::Receivers;
use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::Failure;
use crate::hidden::Hidden;

/// A secret of the demo's own sources; nothing outside this process knows them.
pub(super) const GITHUB_SECRET: &str = "demo-secret-of-the-repository";
pub(super) const STRIPE_SECRET: &str = "whsec_demo_secret_of_the_account";

pub(super) struct Gateway {
    pub(super) client: Client,
}

/// The addresses that inbound webhooks are sent to.
pub(super) struct Sources {
    pub(super) github: String,
    pub(super) stripe: String,
}

impl Gateway {
    pub(super) fn new(address: SocketAddr, token: &str) -> anyhow::Result<Self> {
        let arguments = GatewayArgs {
            url: format!("http://{address}").parse()?,
            token: Some(Hidden::from(token.to_owned())),
            data: PathBuf::new(),
        };
        Ok(Self {
            client: Client::new(&arguments)?,
        })
    }

    /// Creates the webhooks and sources.
    pub(super) async fn set_up(&self, receivers: Receivers) -> Result<Sources, Failure> {
        let mut orders = None;
        for webhook in webhooks(receivers) {
            let answer = self.client.post(&["v1", "webhooks"], &webhook).await?;
            let created: CreatedWebhook = answer.read()?;
            orders.get_or_insert(created.webhook.id);
        }
        let orders = orders.unwrap_or_default();
        Ok(Sources {
            github: self
                .source(
                    "GitHub: our repository",
                    "github",
                    GITHUB_SECRET,
                    "code_review",
                    &orders,
                )
                .await?,
            stripe: self
                .source(
                    "Stripe: our account",
                    "stripe",
                    STRIPE_SECRET,
                    "bookkeeping",
                    &orders,
                )
                .await?,
        })
    }

    async fn source(
        &self,
        name: &str,
        scheme: &str,
        secret: &str,
        intent: &str,
        webhook: &str,
    ) -> Result<String, Failure> {
        let source = json!({
            "name": name,
            "scheme": scheme,
            "secret": secret,
            "routes": [{ "event_type": "*", "intent": intent, "webhook_id": webhook }],
        });
        let answer = self.client.post(&["v1", "sources"], &source).await?;
        let created: SourceView = answer.read()?;
        Ok(created.id)
    }
}

/// One receiver for each way in which receivers behave.
fn webhooks(receivers: Receivers) -> [Value; 6] {
    let quick = json!({ "profile": "custom", "delays_seconds": [2, 4, 8], "jitter_bps": 1000 });
    [
        json!({
            "name": "Warehouse (well)",
            "target_url": receivers.url("orders"),
            "event_types": ["order.*", "invoice.*"],
        }),
        json!({
            "name": "Analytics (slow)",
            "target_url": receivers.url("analytics"),
            "event_types": ["order.*", "user.*"],
        }),
        json!({
            "name": "CRM (flaky)",
            "target_url": receivers.url("crm"),
            "event_types": ["user.*", "invoice.*"],
            "retry": quick,
        }),
        json!({
            "name": "Team chat (rate limiting)",
            "target_url": receivers.url("chat"),
            "event_types": ["message.*"],
            "retry": { "profile": "standard" },
        }),
        json!({
            "name": "Billing (broken)",
            "target_url": receivers.url("billing"),
            "event_types": ["invoice.*"],
            "owner_email": "billing@example.com",
            "retry": { "profile": "custom", "delays_seconds": [3, 6], "on_exhausted": "fail-webhook" },
        }),
        json!({
            "name": "Old CI server (down)",
            "target_url": receivers.closed_url("builds"),
            "event_types": ["build.*"],
            "retry": { "profile": "custom", "delays_seconds": [2, 5] },
        }),
    ]
}
