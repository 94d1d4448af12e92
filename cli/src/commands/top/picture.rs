//! The data of a frame, as read from the gateway.

use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::filter::FilterParameters;
use postrider_api_types::stats::StatsView;
use postrider_api_types::webhook::WebhookView;
use postrider_api_types::{ApiTime, Word};
use postrider_domain::delivery::Status;
use postrider_domain::health::{WARNING_AT, WebhookStatus};
use postrider_domain::time::Timestamp;

use super::super::stats;
use crate::client::Client;
use crate::edge;
use crate::failure::Failure;
use crate::pages;

/// How many failures are listed.
const FAILURES: usize = 50;

/// How many webhooks have their backlog counted for each frame.
const COUNTED: usize = 10;

#[derive(Debug)]
pub(super) struct Picture {
    pub(super) taken_at: Timestamp,
    pub(super) stats: StatsView,
    /// Webhooks needing attention.
    pub(super) unhealthy: Vec<WebhookView>,
    pub(super) webhooks: usize,
    /// Failed and dead deliveries, newest first.
    pub(super) failures: Vec<DeliveryView>,
}

impl Picture {
    /// Reads all of it, with the backlogs of the first webhooks needing attention. Apart from the list of webhooks, each request costs the same however much data there is.
    pub(super) async fn take(client: &Client, window: &str) -> Result<Self, Failure> {
        let stats = stats::ask(client, window.to_owned(), None).await?;
        let webhooks: Vec<WebhookView> = pages::all(client, &["v1", "webhooks"]).await?.read()?;
        let count = webhooks.len();
        let mut unhealthy: Vec<_> = webhooks.into_iter().filter(needs_attention).collect();
        for webhook in unhealthy.iter_mut().take(COUNTED) {
            let one = client.get(&["v1", "webhooks", &webhook.id]).await;
            // It may have been deleted meanwhile.
            if let Ok(one) = one {
                *webhook = one.read()?;
            }
        }
        Ok(Self {
            taken_at: edge::now(),
            stats: stats.read()?,
            webhooks: count,
            unhealthy,
            failures: failures(client).await?,
        })
    }
}

/// The same rule as in the Inspector: a paused webhook was paused on purpose.
fn needs_attention(webhook: &WebhookView) -> bool {
    match webhook.status {
        Word::Known(WebhookStatus::Failed | WebhookStatus::Disabled) => true,
        Word::Known(WebhookStatus::Active) => webhook.failure_count >= WARNING_AT,
        Word::Known(WebhookStatus::Paused) | Word::Unknown(_) => false,
    }
}

async fn failures(client: &Client) -> Result<Vec<DeliveryView>, Failure> {
    let mut found: Vec<DeliveryView> = Vec::new();
    for status in [Status::Failed, Status::Dead] {
        let query = FilterParameters {
            status: Some(status.to_string()),
            ..FilterParameters::default()
        };
        let page = pages::first(client, &["v1", "deliveries"], &query, FAILURES).await?;
        found.extend(page.read::<DeliveryView>()?);
    }
    found.sort_by_key(|row| std::cmp::Reverse(failed_at(row)));
    found.truncate(FAILURES);
    Ok(found)
}

/// When it last failed.
pub(super) fn failed_at(delivery: &DeliveryView) -> ApiTime {
    delivery.last_attempted_at.unwrap_or(delivery.created_at)
}
