//! Manages webhooks: create, update, rotate, pause, resume, delete.

use std::sync::Arc;

use postrider_domain::egress::Rules;
use postrider_domain::flow::{self, FlowStatus};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::invalid::Invalid;
use postrider_domain::secret::{SecretRing, SigningSecret};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{Webhook, WebhookDraft, WebhookSettings, check_secret};
use postrider_ports::WebhookStore;
use postrider_ports::configs::{Changed, Created, WebhookChange};
use postrider_ports::drains::BacklogSize;
use postrider_ports::flow::FlowStates;
use postrider_ports::queue::{DrainMessage, Queue};

use crate::error::Conflict;
use crate::webhook_cache::WebhookCache;
use crate::{GatewayError, Ports, telemetry};

/// How many rows a delete ends before it returns; housekeeping does the rest.
const SLICE: usize = 500;
pub struct ManageWebhooks {
    ports: Ports<dyn WebhookStore>,
    webhook_cache: Arc<WebhookCache>,
    queue: Arc<dyn Queue>,
    flows: Arc<dyn FlowStates>,
    egress: Rules,
}

/// The result of a rotation. The new secret is shown only here.
#[derive(Debug)]
pub struct Rotated {
    pub secret: SigningSecret,
    /// When the old secret expires.
    pub previous_expires_at: Timestamp,
}

/// What of a webhook is due and may not go yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookBacklog {
    pub size: BacklogSize,
    /// When it will be empty at the current rate, at the earliest if it was not counted to its end; `None` if it is empty,
    /// waits for the webhook to be resumed, or may go faster than is known.
    pub empty_at: Option<Timestamp>,
}

impl ManageWebhooks {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn WebhookStore>>,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        flows: Arc<dyn FlowStates>,
        egress: Rules,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
            queue,
            flows,
            egress,
        }
    }

    /// How fast each of these webhooks, of one tenant, is called now.
    pub async fn flows(&self, webhooks: &[Webhook]) -> Result<Vec<FlowStatus>, GatewayError> {
        Ok(self.flows.flows(webhooks).await?)
    }

    /// How fast a webhook is called now.
    pub async fn flow(&self, webhook: &Webhook) -> Result<FlowStatus, GatewayError> {
        let flows = self.flows(std::slice::from_ref(webhook)).await?;
        let unknown = || FlowStatus::unlimited(&webhook.settings.limits());
        Ok(flows.first().copied().unwrap_or_else(unknown))
    }

    /// Counts the backlog of a webhook that is called this fast. `None` if that fails: it does not keep the rest from being
    /// shown.
    pub async fn backlog(&self, webhook: &Webhook, flow: FlowStatus) -> Option<WebhookBacklog> {
        let now = self.ports.clock.now();
        let (tenant, id) = (&webhook.tenant, webhook.id);
        let size = self.ports.store.backlog_size(tenant, id, now).await;
        let size = size.inspect_err(|error| telemetry::count_failed(id, error));
        let size = size.ok()?;
        let drains = size.rows() > 0 && !webhook.health.status.is_stopped();
        let rate = flow.backlog_rate_milli(&webhook.settings.limits());
        let rate = rate.filter(|_| drains);
        Some(WebhookBacklog {
            size,
            empty_at: rate.map(|rate| flow::empty_at(size.rows(), rate, now)),
        })
    }

    /// Creates a webhook with the given secret, or with a generated one.
    pub async fn create(
        &self,
        tenant: &TenantId,
        draft: WebhookDraft,
        secret: Option<&str>,
    ) -> Result<Webhook, GatewayError> {
        let secret = secret.map(check_secret);
        let settings = match (self.check(draft), &secret) {
            (Err(mut faults), Some(Err(more))) => {
                faults.extend(more.clone());
                return Err(faults.into());
            }
            (checked, _) => checked?,
        };
        let secret = secret
            .transpose()?
            .unwrap_or_else(|| SigningSecret::from_key(&self.ports.entropy.bytes()));
        let now = self.ports.clock.now();
        self.webhook_cache.require_open(tenant, now).await?;
        let webhook = Webhook {
            id: WebhookId::new(now, &self.ports.entropy.bytes()),
            tenant: tenant.clone(),
            settings,
            secrets: SecretRing::new(secret),
            created_at: now,
            updated_at: now,
            health: Health::default(),
        };
        match self.ports.store.create_webhook(webhook.clone()).await? {
            Created::Done => {
                self.webhook_cache.forget(tenant);
                Ok(webhook)
            }
            Created::TooMany => {
                let known = self.webhook_cache.current(tenant, now).await?;
                Err(known.too_many_webhooks())
            }
        }
    }

    /// The largest `max_rate` that a webhook of this gateway may have.
    #[must_use]
    pub fn fastest_max_rate(&self) -> u32 {
        self.flows.fastest_max_rate()
    }

    fn check(&self, draft: WebhookDraft) -> Result<WebhookSettings, Invalid> {
        draft.check_for(&self.egress, self.fastest_max_rate())
    }

    /// Oldest first.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<Webhook>, GatewayError> {
        let mut webhooks = self.ports.store.webhooks(tenant).await?.webhooks;
        webhooks.sort_by_key(|webhook| (webhook.created_at, webhook.id));
        Ok(webhooks)
    }

    pub async fn get(&self, tenant: &TenantId, id: WebhookId) -> Result<Webhook, GatewayError> {
        self.ports
            .store
            .webhook(tenant, id)
            .await?
            .ok_or(GatewayError::NotFound { what: "webhook" })
    }

    /// Updates the settings: `edit` turns the current ones into a new draft. They apply from the next decision on.
    ///
    /// # Errors
    /// [`Conflict::ChangedMeanwhile`] if another request changed the webhook at the same time.
    pub async fn change(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        edit: impl FnOnce(WebhookDraft) -> WebhookDraft,
    ) -> Result<Webhook, GatewayError> {
        let webhook = self.get(tenant, id).await?;
        let settings = self.check(edit(draft_of(&webhook.settings)))?;
        let secrets = webhook.secrets.clone();
        self.store_change(webhook, settings, secrets).await
    }

    /// Replaces the secret with the given one, or with a generated one. The old secret stays valid for a day.
    pub async fn rotate_secret(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        secret: Option<&str>,
    ) -> Result<Rotated, GatewayError> {
        let webhook = self.get(tenant, id).await?;
        let given = secret.map(check_secret).transpose()?;
        let secret = given.unwrap_or_else(|| SigningSecret::from_key(&self.ports.entropy.bytes()));
        let now = self.ports.clock.now();
        let secrets = webhook
            .secrets
            .rotated(secret.clone(), now)
            .map_err(Conflict::TooManySecrets)?;
        let previous_expires_at = secrets.retiring.first().map_or(now, |old| old.expires_at);
        let settings = webhook.settings.clone();
        self.store_change(webhook, settings, secrets).await?;
        Ok(Rotated {
            secret,
            previous_expires_at,
        })
    }

    async fn store_change(
        &self,
        webhook: Webhook,
        settings: WebhookSettings,
        secrets: SecretRing,
    ) -> Result<Webhook, GatewayError> {
        let seen = webhook.updated_at;
        let updated_at = self.ports.clock.now().max(seen.plus(Millis::new(1)));
        let change = WebhookChange {
            seen,
            settings: settings.clone(),
            secrets: secrets.clone(),
            updated_at,
        };
        let changed = self
            .ports
            .store
            .change_webhook(&webhook.tenant, webhook.id, change)
            .await?;
        self.webhook_cache.forget(&webhook.tenant);
        match changed {
            Changed::Done => Ok(Webhook {
                settings,
                secrets,
                updated_at,
                ..webhook
            }),
            Changed::Outdated => Err(Conflict::ChangedMeanwhile.into()),
            Changed::Missing => Err(GatewayError::NotFound { what: "webhook" }),
        }
    }

    /// Puts deliveries on hold until the webhook is resumed. None is lost.
    pub async fn pause(&self, tenant: &TenantId, id: WebhookId) -> Result<Webhook, GatewayError> {
        self.set_status(tenant, id, WebhookStatus::Paused).await
    }

    /// Resumes a paused, failed or disabled webhook and releases its deliveries on hold. Dead deliveries stay dead.
    pub async fn resume(&self, tenant: &TenantId, id: WebhookId) -> Result<Webhook, GatewayError> {
        let webhook = self.set_status(tenant, id, WebhookStatus::Active).await?;
        let drain = DrainMessage {
            tenant: tenant.clone(),
            webhook: id,
            not_before: self.ports.clock.now(),
        };
        self.queue.send(vec![drain.into()]).await;
        Ok(webhook)
    }

    async fn set_status(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        status: WebhookStatus,
    ) -> Result<Webhook, GatewayError> {
        let now = self.ports.clock.now();
        let health = self
            .ports
            .store
            .set_webhook_status(tenant, id, status, now)
            .await?;
        self.webhook_cache.forget(tenant);
        health.ok_or(GatewayError::NotFound { what: "webhook" })?;
        self.get(tenant, id).await
    }

    /// Deletes a webhook. Its open deliveries are marked dead with the reason `webhook deleted`.
    pub async fn delete(&self, tenant: &TenantId, id: WebhookId) -> Result<(), GatewayError> {
        let now = self.ports.clock.now();
        let was_there = self.ports.store.delete_webhook(tenant, id, now).await?;
        self.webhook_cache.forget(tenant);
        if !was_there {
            return Err(GatewayError::NotFound { what: "webhook" });
        }
        self.ports
            .store
            .end_deliveries_of_deleted_webhooks(SLICE, now)
            .await?;
        Ok(())
    }
}

/// The settings as they could be submitted.
#[must_use]
pub fn draft_of(settings: &WebhookSettings) -> WebhookDraft {
    let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    WebhookDraft {
        name: settings.name.clone(),
        target_url: settings.target_url.to_string(),
        event_types: settings
            .event_types
            .iter()
            .map(ToString::to_string)
            .collect(),
        filter: settings.filter.clone().map(Into::into),
        template: settings.template.clone().map(Into::into),
        owner_email: settings.owner_email.clone(),
        headers: Some(
            settings
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), text(value)))
                .collect(),
        ),
        timeout_seconds: u32::try_from(settings.timeout.get() / 1000).ok(),
        retry_rate: Some(settings.retry_rate),
        max_rate: settings.max_rate,
        max_in_flight: settings.max_in_flight,
        auto_resume: Some(settings.auto_resume),
        retry: Some(settings.retry.clone()),
    }
}
