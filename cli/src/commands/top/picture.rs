//! The data of a frame, as read from the gateway.

use postrider_domain::health::WARNING_AT;
use postrider_domain::time::Timestamp;

use super::super::stats::{self, Stats};
use crate::client::Client;
use crate::edge;
use crate::failure::Failure;
use crate::pages;
use crate::shapes::{Delivery, Webhook};

/// How many failures are listed.
const FAILURES: usize = 50;

#[derive(Debug)]
pub(super) struct Picture {
    pub(super) taken_at: Timestamp,
    pub(super) stats: Stats,
    /// Webhooks needing attention.
    pub(super) unhealthy: Vec<Webhook>,
    pub(super) webhooks: usize,
    /// Failed and dead deliveries, newest first.
    pub(super) failures: Vec<Delivery>,
}

impl Picture {
    /// Reads all of it. Apart from the list of webhooks, each request costs the same however much data there is.
    pub(super) async fn take(client: &Client, window: &str) -> Result<Self, Failure> {
        let stats = stats::ask(client, window.to_owned(), None).await?;
        let webhooks: Vec<Webhook> = pages::all(client, &["v1", "webhooks"]).await?.read()?;
        Ok(Self {
            taken_at: edge::now(),
            stats: stats.read()?,
            webhooks: webhooks.len(),
            unhealthy: webhooks.into_iter().filter(needs_attention).collect(),
            failures: failures(client).await?,
        })
    }
}

/// The same rule as in the Inspector: a paused webhook was paused on purpose.
fn needs_attention(webhook: &Webhook) -> bool {
    match webhook.status.as_str() {
        "failed" | "disabled" => true,
        "active" => webhook.failure_count >= u64::from(WARNING_AT),
        _ => false,
    }
}

async fn failures(client: &Client) -> Result<Vec<Delivery>, Failure> {
    let mut found: Vec<Delivery> = Vec::new();
    for status in ["failed", "dead"] {
        let query = [("status", status.to_owned())];
        let page = pages::first(client, &["v1", "deliveries"], &query, FAILURES).await?;
        found.extend(page.read::<Delivery>()?);
    }
    found.sort_by(|a, b| failed_at(b).cmp(failed_at(a)));
    found.truncate(FAILURES);
    Ok(found)
}

/// When it last failed; timestamps of the API sort as text.
pub(super) fn failed_at(delivery: &Delivery) -> &str {
    let last = delivery.last_attempted_at.as_deref();
    last.unwrap_or(&delivery.created_at)
}
