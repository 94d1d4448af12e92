//! Manages sources: create, update, rotate, delete.

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
use postrider_ports::sources::Sources;

use crate::error::Conflict;
use crate::webhook_cache::WebhookCache;
use crate::{GatewayError, Ports};

pub struct ManageSources {
    ports: Ports<dyn Sources>,
    webhook_cache: Arc<WebhookCache>,
}

impl ManageSources {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn Sources>>,
        webhook_cache: Arc<WebhookCache>,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
        }
    }

    /// Creates a source with the secret from its provider.
    pub async fn create(
        &self,
        tenant: &TenantId,
        draft: SourceDraft,
        secret: &str,
    ) -> Result<Source, GatewayError> {
        let now = self.ports.clock.now();
        self.webhook_cache.require_open(tenant, now).await?;
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

    /// A new secret for a source of this scheme; `None` if only the sender can create one.
    #[must_use]
    pub fn draw_secret(&self, scheme: &Scheme) -> Option<SharedSecret> {
        scheme.draw_secret(&self.ports.entropy.bytes())
    }

    /// Oldest first.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<Source>, GatewayError> {
        let mut sources = self.ports.store.sources(tenant).await?;
        sources.sort_by_key(|source| (source.created_at, source.id));
        Ok(sources)
    }

    pub async fn get(&self, tenant: &TenantId, id: SourceId) -> Result<Source, GatewayError> {
        let found = self.ports.store.source(tenant, id).await?;
        found.ok_or(GatewayError::NotFound { what: "source" })
    }

    /// Updates the settings: `edit` turns the current ones into a new draft. They apply from the next request on.
    ///
    /// # Errors
    /// [`Conflict::ChangedMeanwhile`] if another request changed the source at the same time.
    pub async fn change(
        &self,
        tenant: &TenantId,
        id: SourceId,
        edit: impl FnOnce(SourceDraft) -> SourceDraft,
    ) -> Result<Source, GatewayError> {
        let source = self.get(tenant, id).await?;
        let now = self.ports.clock.now();
        let webhooks = self.webhook_cache.current(tenant, now).await?;
        // A route whose webhook was deleted may stay: it must not block other changes.
        let was_there = |id: WebhookId| {
            let routes = &source.settings.routes;
            routes.iter().any(|route| route.webhook_id == id)
        };
        let settings = edit(SourceDraft::from(&source.settings))
            .check(|id| webhooks.get(id).is_some() || was_there(id))?;
        let secrets = source.secrets.clone();
        // A changed custom scheme may need a secret of another form.
        settings.check_secret(&secrets.current)?;
        self.store_change(source, settings, secrets, now).await
    }

    /// Replaces the secret. The old one stays valid for a day; returns its expiry.
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

    /// Deletes a source. Its events and deliveries stay.
    pub async fn delete(&self, tenant: &TenantId, id: SourceId) -> Result<(), GatewayError> {
        if self.ports.store.delete_source(tenant, id).await? {
            Ok(())
        } else {
            Err(GatewayError::NotFound { what: "source" })
        }
    }
}
