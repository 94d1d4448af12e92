//! How things stand, as the gateway answers it.

use postrider_domain::health::WARNING_AT;
use postrider_domain::time::Timestamp;

use super::super::stats::{self, Stats};
use crate::client::Client;
use crate::edge;
use crate::failure::Failure;
use crate::pages;
use crate::shapes::{Delivery, Webhook};

/// How many failures are known at once.
const FAILURES: usize = 50;

/// Everything that a frame shows.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) taken_at: Timestamp,
    pub(super) stats: Stats,
    /// Webhooks that need a person.
    pub(super) needy: Vec<Webhook>,
    pub(super) webhooks: usize,
    /// What failed last, the newest first, whether it is tried again or not.
    pub(super) failures: Vec<Delivery>,
}

impl Picture {
    /// Asks for all of it. Every question is one that costs the same however much there is, the list of webhooks apart.
    pub(super) async fn take(client: &Client, window: &str) -> Result<Self, Failure> {
        let stats = stats::ask(client, window.to_owned(), None).await?;
        let webhooks: Vec<Webhook> = pages::all(client, &["v1", "webhooks"]).await?.read()?;
        Ok(Self {
            taken_at: edge::now(),
            stats: stats.read()?,
            webhooks: webhooks.len(),
            needy: webhooks.into_iter().filter(needs_a_person).collect(),
            failures: failures(client).await?,
        })
    }
}

/// As the Inspector has it: a paused webhook has its person.
fn needs_a_person(webhook: &Webhook) -> bool {
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

/// When it failed last; times of the API sort as text.
pub(super) fn failed_at(delivery: &Delivery) -> &str {
    let last = delivery.last_attempted_at.as_deref();
    last.unwrap_or(&delivery.created_at)
}
