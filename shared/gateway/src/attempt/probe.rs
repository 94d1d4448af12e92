//! The probe of a failed webhook: a test event, never a publisher's data. A 2xx response resumes the webhook.

use postrider_domain::health::Health;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::request::{Content, signed_headers};
use postrider_domain::test_event;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::sender::{OwnFault, Post, Posted};

use super::Attempts;
use crate::ingest::fresh_row;
use crate::{metrics, telemetry};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The webhook is resumed.
    Passed,
    /// Another probe follows.
    Failed,
    /// The gateway could not send. The probe does not count and is due again.
    GivenBack(OwnFault),
    /// The webhook is no longer failed, does not resume automatically, or another process sends the probe.
    NotSent,
}

impl Attempts {
    /// Sends a probe to a failed webhook with `auto_resume`, if one is due.
    ///
    /// # Errors
    /// The store could not be read or written. The next probe is sent when it is due.
    pub async fn probe(&self, tenant: &TenantId, id: WebhookId) -> Result<ProbeResult> {
        let now = self.ports.clock.now();
        let snapshot = self.webhook_cache.current(tenant, now).await?;
        let Some(webhook) = snapshot.get(id).filter(|it| it.settings.auto_resume) else {
            return Ok(ProbeResult::NotSent);
        };
        let store = &self.ports.store;
        let Some(begun) = store.begin_probe(tenant, id, now).await? else {
            return Ok(ProbeResult::NotSent);
        };
        let Some(posted) = self.post_probe(webhook, now).await else {
            return Ok(ProbeResult::NotSent);
        };
        let outcome = match posted {
            Ok(outcome) => outcome,
            Err(fault) => return self.give_back_probe(webhook, &begun, fault).await,
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

    async fn give_back_probe(
        &self,
        webhook: &Webhook,
        begun: &Health,
        fault: OwnFault,
    ) -> Result<ProbeResult> {
        metrics::own_fault(fault.kind);
        let (tenant, now) = (&webhook.tenant, self.ports.clock.now());
        let store = &self.ports.store;
        store
            .give_back_probe(tenant, webhook.id, begun.probes, now)
            .await?;
        Ok(ProbeResult::GivenBack(fault))
    }

    async fn post_probe(&self, webhook: &Webhook, now: Timestamp) -> Option<Posted> {
        let drawn = EventId::new(now, &self.ports.entropy.bytes());
        let event = test_event::event(&webhook.tenant, webhook.id, drawn, now)?;
        let row = fresh_row(&event, webhook, now);
        // A template may need fields that the test event lacks. That says nothing about the receiver.
        let content = Content::of(&event, webhook).unwrap_or_else(|_| Content::plain(&event));
        let request = Post {
            target_url: content.url(&webhook.settings.target_url),
            headers: signed_headers(&row, &content, webhook, now).headers,
            body: content.body,
            timeout: webhook.settings.timeout,
        };
        Some(self.sender.post(request).await)
    }
}
