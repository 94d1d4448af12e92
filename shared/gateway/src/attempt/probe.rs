//! A test of a failed webhook: a test event, never anybody's data. An answer that says «received» resumes the webhook.

use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::outcome::Outcome;
use postrider_domain::request::signed_headers;
use postrider_domain::test_event;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::sender::Post;

use super::Attempts;
use crate::ingest::fresh_row;
use crate::telemetry;

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// It was answered with success; the webhook is resumed.
    Passed,
    /// It was not. Another one follows.
    Failed,
    /// There was none to make: the webhook is not failed any more, wants no tests, or somebody else makes it.
    NotMade,
}

impl Attempts {
    /// Tests a failed webhook whose owner wants that, if a test is due.
    ///
    /// # Errors
    /// When the store could not be asked or told. The next test is made when it is due.
    pub async fn test(&self, tenant: &TenantId, id: WebhookId) -> Result<ProbeResult> {
        let now = self.ports.clock.now();
        let snapshot = self.webhook_cache.current(tenant, now).await?;
        let Some(webhook) = snapshot.get(id).filter(|webhook| wants_probe(webhook)) else {
            return Ok(ProbeResult::NotMade);
        };
        let store = &self.ports.store;
        let Some(begun) = store.begin_probe(tenant, id, now).await? else {
            return Ok(ProbeResult::NotMade);
        };
        let Some(outcome) = self.post_probe(webhook, now).await else {
            return Ok(ProbeResult::NotMade);
        };
        let is_success = matches!(outcome.status(), Some(200..=299));
        telemetry::webhook_probed(webhook, begun.probes, &outcome, begun.next_probe_at);
        if !is_success {
            return Ok(ProbeResult::Failed);
        }
        let now = self.ports.clock.now();
        store
            .probe_passed(tenant, id, begun.generation, now)
            .await?;
        self.webhook_cache.forget(tenant);
        Ok(ProbeResult::Passed)
    }

    async fn post_probe(&self, webhook: &Webhook, now: Timestamp) -> Option<Outcome> {
        let drawn = EventId::new(now, &self.ports.entropy.bytes());
        let event = test_event::event(&webhook.tenant, webhook.id, drawn, now)?;
        let row = fresh_row(&event, webhook, now);
        let request = Post {
            target_url: webhook.settings.target_url.clone(),
            headers: signed_headers(&row, &event, webhook, now).headers,
            body: event.body,
            timeout: webhook.settings.timeout,
        };
        Some(self.sender.post(request).await)
    }
}

fn wants_probe(webhook: &Webhook) -> bool {
    webhook.settings.auto_resume && webhook.health.status == WebhookStatus::Failed
}
