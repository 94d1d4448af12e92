//! Manages tenants: create, list, change.

use std::sync::Arc;

use postrider_domain::ids::TenantId;
use postrider_domain::tenant::{Tenant, TenantDraft};
use postrider_domain::time::Timestamp;
use postrider_ports::configs::Changed;
use postrider_ports::tenants::Tenants;

use crate::error::Conflict;
use crate::webhook_cache::WebhookCache;
use crate::{GatewayError, Ports};

pub struct ManageTenants {
    ports: Ports<dyn Tenants>,
    webhook_cache: Arc<WebhookCache>,
}

impl ManageTenants {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn Tenants>>,
        webhook_cache: Arc<WebhookCache>,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
        }
    }

    /// Creates the record of a tenant, which may have keys and webhooks already.
    ///
    /// # Errors
    /// [`Conflict::TenantExists`] if it has a record.
    pub async fn create(&self, id: TenantId, draft: &TenantDraft) -> Result<Tenant, GatewayError> {
        let now = self.ports.clock.now();
        self.require_open(&id).await?;
        let tenant = Tenant::unrecorded(id).changed(draft, now)?;
        match self.store(tenant, None).await {
            Err(GatewayError::Conflict(Conflict::ChangedMeanwhile)) => {
                Err(Conflict::TenantExists.into())
            }
            stored => stored,
        }
    }

    /// Fails if the tenant is being deleted. One that does not exist yet is open.
    ///
    /// # Errors
    /// [`Conflict::TenantDeleted`].
    pub async fn require_open(&self, id: &TenantId) -> Result<(), GatewayError> {
        let found = self.ports.store.tenant(id).await?;
        match found.and_then(|found| found.deletion) {
            Some(_) => Err(Conflict::TenantDeleted.into()),
            None => Ok(()),
        }
    }

    /// The tenants after this one, in order of their ids. Also those without a record.
    pub async fn list(
        &self,
        limit: usize,
        after: Option<&TenantId>,
    ) -> Result<Vec<Tenant>, GatewayError> {
        Ok(self.ports.store.tenant_page(limit, after).await?)
    }

    pub async fn get(&self, id: &TenantId) -> Result<Tenant, GatewayError> {
        let found = self.ports.store.tenant(id).await?;
        found.ok_or(GatewayError::NotFound { what: "tenant" })
    }

    /// Changes name and limits: `edit` turns the current ones into a new draft. A tenant without a record gets one.
    ///
    /// # Errors
    /// [`Conflict::ChangedMeanwhile`] if another request changed the tenant at the same time.
    pub async fn change(
        &self,
        id: &TenantId,
        edit: impl FnOnce(TenantDraft) -> TenantDraft,
    ) -> Result<Tenant, GatewayError> {
        let before = self.get(id).await?;
        if before.deletion.is_some() {
            return Err(Conflict::TenantDeleted.into());
        }
        let after = before.changed(&edit(before.draft()), self.ports.clock.now())?;
        self.store(after, before.updated_at()).await
    }

    async fn store(&self, tenant: Tenant, seen: Option<Timestamp>) -> Result<Tenant, GatewayError> {
        let stored = self.ports.store.put_tenant(tenant.clone(), seen).await;
        self.webhook_cache.forget(&tenant.id);
        match stored? {
            Changed::Done => Ok(tenant),
            Changed::Outdated | Changed::Missing => Err(Conflict::ChangedMeanwhile.into()),
        }
    }
}
