//! Keeping sources: create, change, rotate, delete.

use std::sync::Arc;

use postrider_domain::ids::{SourceId, TenantId, WebhookId};
use postrider_domain::scheme::Scheme;
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{
    MAX_SOURCES, Source, SourceDraft, SourceSettings, check_shared_secret,
};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::configs::{Changed, Created};
use postrider_ports::sources::SourceChange;

use crate::error::Conflict;
use crate::webhook_cache::WebhookCache;
use crate::{GatewayError, Ports};

/// Keeps sources.
pub struct ManageSources {
    ports: Ports,
    webhook_cache: Arc<WebhookCache>,
}

impl ManageSources {
    pub(crate) fn new(ports: Ports, webhook_cache: Arc<WebhookCache>) -> Self {
        Self {
            ports,
            webhook_cache,
        }
    }

    /// Makes a source with the secret that its provider gave out.
    ///
    /// # Errors
    /// When a field does not fit, or there are too many.
    pub async fn create(
        &self,
        tenant: &TenantId,
        draft: SourceDraft,
        secret: &str,
    ) -> Result<Source, GatewayError> {
        let now = self.ports.clock.now();
        let webhooks = self.webhook_cache.current(tenant, now).await?;
        let checked = draft.check(|id| webhooks.get(id).is_some());
        let (settings, secret) = match (checked, check_shared_secret(secret)) {
            (Ok(settings), Ok(secret)) => (settings, secret),
            (Err(mut faults), Err(more)) => {
                faults.extend(more);
                return Err(faults.into());
            }
            (Err(faults), Ok(_)) | (Ok(_), Err(faults)) => return Err(faults.into()),
        };
        settings.check_secret(&secret)?;
        let source = Source {
            id: SourceId::new(now, &self.ports.entropy.bytes()),
            tenant: tenant.clone(),
            settings,
            secrets: SecretRing::new(secret),
            created_at: now,
            updated_at: now,
        };
        match self.ports.store.create_source(source.clone()).await? {
            Created::Done => Ok(source),
            Created::TooMany => Err(GatewayError::TooMany {
                limit: MAX_SOURCES,
                what: "sources",
            }),
        }
    }

    /// A fresh secret for a source of this scheme; none when only its sender can make one.
    #[must_use]
    pub fn draw_secret(&self, scheme: &Scheme) -> Option<SharedSecret> {
        scheme.draw_secret(&self.ports.entropy.bytes())
    }

    /// All sources of the tenant, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<Source>, GatewayError> {
        let mut sources = self.ports.store.sources(tenant).await?;
        sources.sort_by_key(|source| (source.created_at, source.id));
        Ok(sources)
    }

    /// One source.
    ///
    /// # Errors
    /// When there is no such source.
    pub async fn get(&self, tenant: &TenantId, id: SourceId) -> Result<Source, GatewayError> {
        let found = self.ports.store.source(tenant, id).await?;
        found.ok_or(GatewayError::NotFound { what: "source" })
    }

    /// Changes the settings: `edit` makes the new draft out of the source as it is. Valid from the next request on.
    ///
    /// # Errors
    /// When a field does not fit, or somebody else was faster.
    pub async fn change(
        &self,
        tenant: &TenantId,
        id: SourceId,
        edit: impl FnOnce(SourceDraft) -> SourceDraft,
    ) -> Result<Source, GatewayError> {
        let source = self.get(tenant, id).await?;
        let now = self.ports.clock.now();
        let webhooks = self.webhook_cache.current(tenant, now).await?;
        // A route whose webhook is gone by now may stay: it shall not be in the way of changing something else.
        let was_there = |id: WebhookId| {
            let routes = &source.settings.routes;
            routes.iter().any(|route| route.webhook_id == id)
        };
        let settings = edit(SourceDraft::from(&source.settings))
            .check(|id| webhooks.get(id).is_some() || was_there(id))?;
        let secrets = source.secrets.clone();
        // A scheme that its owner describes anew may want a secret of another form.
        settings.check_secret(&secrets.current)?;
        self.store_change(source, settings, secrets, now).await
    }

    /// Takes a new secret; the old one stays valid for a day. Returns until when.
    ///
    /// # Errors
    /// When the secret does not fit, or too many would be valid.
    pub async fn rotate_secret(
        &self,
        tenant: &TenantId,
        id: SourceId,
        secret: &str,
    ) -> Result<Timestamp, GatewayError> {
        let source = self.get(tenant, id).await?;
        let secret = check_shared_secret(secret)?;
        source.settings.check_secret(&secret)?;
        let now = self.ports.clock.now();
        let secrets = source
            .secrets
            .rotated(secret, now)
            .map_err(Conflict::TooManySecrets)?;
        let previous_expires_at = secrets.retiring.first().map_or(now, |old| old.expires_at);
        let settings = source.settings.clone();
        self.store_change(source, settings, secrets, now).await?;
        Ok(previous_expires_at)
    }

    async fn store_change(
        &self,
        source: Source,
        settings: SourceSettings,
        secrets: SecretRing<SharedSecret>,
        now: Timestamp,
    ) -> Result<Source, GatewayError> {
        let seen = source.updated_at;
        let updated_at = now.max(seen.plus(Millis::new(1)));
        let change = SourceChange {
            seen,
            settings: settings.clone(),
            secrets: secrets.clone(),
            updated_at,
        };
        let store = &self.ports.store;
        match store
            .change_source(&source.tenant, source.id, change)
            .await?
        {
            Changed::Done => Ok(Source {
                settings,
                secrets,
                updated_at,
                ..source
            }),
            Changed::Outdated => Err(Conflict::ChangedMeanwhile.into()),
            Changed::Missing => Err(GatewayError::NotFound { what: "source" }),
        }
    }

    /// Removes a source. What it sent stays.
    ///
    /// # Errors
    /// When there is no such source.
    pub async fn delete(&self, tenant: &TenantId, id: SourceId) -> Result<(), GatewayError> {
        if self.ports.store.delete_source(tenant, id).await? {
            Ok(())
        } else {
            Err(GatewayError::NotFound { what: "source" })
        }
    }
}
