//! The catalogue of event types. The entries of the tenant `default`, the operator's, apply to every tenant that has none of its own
//! for the type.

use std::sync::Arc;

use postrider_domain::event_catalogue::{
    CatalogueDraft, CatalogueEntry, CatalogueListing, EntryOwner, MAX_EVENT_TYPES, merged,
};
use postrider_domain::ids::TenantId;
use postrider_domain::pattern::EventType;
use postrider_ports::catalogue::Catalogue;

use crate::webhook_cache::WebhookCache;
use crate::{GatewayError, Ports};

pub struct ManageCatalogue {
    ports: Ports<dyn Catalogue>,
    webhook_cache: Arc<WebhookCache>,
}

/// What a put did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    Created(CatalogueEntry),
    Replaced(CatalogueEntry),
}

impl ManageCatalogue {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn Catalogue>>,
        webhook_cache: Arc<WebhookCache>,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
        }
    }

    /// The catalogue as the tenant sees it, by name.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<CatalogueListing>, GatewayError> {
        let store = &self.ports.store;
        let own = store.event_types(tenant).await?;
        let shared = match operator_of(tenant) {
            Some(operator) => store.event_types(&operator).await?,
            None => Vec::new(),
        };
        Ok(merged(own, shared))
    }

    /// One entry as the tenant sees it.
    pub async fn get(
        &self,
        tenant: &TenantId,
        name: &EventType,
    ) -> Result<CatalogueListing, GatewayError> {
        let found = self.find(tenant, name).await?;
        found.ok_or(GatewayError::NotFound { what: "event type" })
    }

    /// The same, if there is one.
    pub async fn find(
        &self,
        tenant: &TenantId,
        name: &EventType,
    ) -> Result<Option<CatalogueListing>, GatewayError> {
        let store = &self.ports.store;
        if let Some(entry) = store.event_type(tenant, name).await? {
            let owner = EntryOwner::Tenant;
            return Ok(Some(CatalogueListing { entry, owner }));
        }
        let shared = match operator_of(tenant) {
            Some(operator) => store.event_type(&operator, name).await?,
            None => None,
        };
        let owner = EntryOwner::Operator;
        Ok(shared.map(|entry| CatalogueListing { entry, owner }))
    }

    /// Creates or replaces the tenant's own entry.
    pub async fn put(
        &self,
        tenant: &TenantId,
        name: EventType,
        draft: CatalogueDraft,
    ) -> Result<Put, GatewayError> {
        let store = &self.ports.store;
        let entry = draft.check(name, self.ports.clock.now())?;
        let own = store.event_types(tenant).await?;
        let is_known = own.iter().any(|one| one.name == entry.name);
        if !is_known && own.len() >= MAX_EVENT_TYPES {
            return Err(GatewayError::TooMany {
                limit: MAX_EVENT_TYPES,
                what: "event types",
            });
        }
        store.put_event_type(tenant, entry.clone()).await?;
        self.webhook_cache.forget(tenant);
        Ok(if is_known {
            Put::Replaced(entry)
        } else {
            Put::Created(entry)
        })
    }

    /// Deletes the tenant's own entry.
    pub async fn delete(&self, tenant: &TenantId, name: &EventType) -> Result<(), GatewayError> {
        if self.ports.store.delete_event_type(tenant, name).await? {
            self.webhook_cache.forget(tenant);
            return Ok(());
        }
        Err(GatewayError::NotFound { what: "event type" })
    }
}

/// The tenant whose entries apply to this one, too.
fn operator_of(tenant: &TenantId) -> Option<TenantId> {
    let operator = TenantId::default();
    (*tenant != operator).then_some(operator)
}
