//! Caches the webhooks of each tenant between requests.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::tenant::{Tenant, TenantLimits};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{MAX_WEBHOOKS, Webhook};
use postrider_ports::Result;
use postrider_ports::configs::Webhooks;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

use crate::GatewayError;
use crate::error::{Conflict, Limited};
use crate::event_validation::Schemas;

/// How long a worker may use cached webhooks without asking the store.
const FRESH_FOR: Millis = Millis::from_seconds(5);

/// The webhooks of a tenant as they were at one version. Their health may have changed since without raising it.
#[derive(Debug)]
pub struct Snapshot {
    pub version: u64,
    /// Sorted by id.
    pub webhooks: Vec<Webhook>,
    /// The tenant's record, if it has one.
    pub tenant: Option<Tenant>,
    /// The schemas of the tenant's event types; loaded by the first event that is checked against them.
    pub(crate) schemas: OnceCell<Arc<Schemas>>,
}

impl Snapshot {
    #[must_use]
    pub fn get(&self, id: WebhookId) -> Option<&Webhook> {
        let at = self
            .webhooks
            .binary_search_by_key(&id, |webhook| webhook.id)
            .ok()?;
        self.webhooks.get(at)
    }

    /// The limits of the tenant's record; none if it has none.
    #[must_use]
    pub fn limits(&self) -> TenantLimits {
        let tenant = self.tenant.as_ref();
        tenant.map(|tenant| tenant.limits).unwrap_or_default()
    }

    /// Whether the tenant is being deleted: nothing is accepted for it.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        let tenant = self.tenant.as_ref();
        tenant.is_some_and(|tenant| tenant.deletion.is_some())
    }

    /// Checks the size of a payload.
    pub(crate) fn check_body(&self, bytes: usize) -> std::result::Result<(), Limited> {
        let fits = |limit| usize::try_from(limit).is_ok_and(|limit| bytes <= limit);
        match self.limits().max_body_bytes {
            Some(limit) if !fits(limit) => Err(Limited::BodyBytes { limit }),
            Some(_) | None => Ok(()),
        }
    }

    /// Why the store refused another webhook.
    pub(crate) fn too_many_webhooks(&self) -> GatewayError {
        match self.limits().webhooks {
            Some(limit) => Limited::Webhooks { limit }.into(),
            None => GatewayError::TooMany {
                limit: MAX_WEBHOOKS,
                what: "webhooks",
            },
        }
    }
}

struct Remembered {
    snapshot: Arc<Snapshot>,
    checked_at: Timestamp,
}

/// Caches webhooks and asks the store only whether their version has changed.
pub struct WebhookCache {
    store: Arc<dyn Webhooks>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    by_tenant: HashMap<TenantId, Remembered>,
    /// How often a tenant was removed. A result that was read before a removal is not cached after it.
    forgotten: u64,
    /// Held while the webhooks of a tenant are loaded.
    turns: HashMap<TenantId, Arc<AsyncMutex<()>>>,
}

impl Memory {
    /// The cached webhooks, if the store has none that are newer.
    fn confirm(
        &mut self,
        tenant: &TenantId,
        version: u64,
        now: Timestamp,
    ) -> Option<Arc<Snapshot>> {
        let known = self.by_tenant.get_mut(tenant)?;
        // Less than known: a store may answer from a copy that the last change has not reached.
        if known.snapshot.version < version {
            return None;
        }
        known.checked_at = now;
        Some(Arc::clone(&known.snapshot))
    }
}

impl WebhookCache {
    #[must_use]
    pub fn new(store: Arc<dyn Webhooks>) -> Self {
        Self {
            store,
            memory: Mutex::default(),
        }
    }

    /// The cached webhooks, however old; loaded if there are none. For callers whose write fails if they are outdated.
    pub async fn remembered(&self, tenant: &TenantId, now: Timestamp) -> Result<Arc<Snapshot>> {
        let known = self
            .memory
            .lock()
            .by_tenant
            .get(tenant)
            .map(|known| Arc::clone(&known.snapshot));
        match known {
            Some(snapshot) => Ok(snapshot),
            None => self.current(tenant, now).await,
        }
    }

    /// Webhooks of which this one is current, if it was last changed at `updated_at`.
    pub async fn unchanged_since(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        updated_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Arc<Snapshot>> {
        let snapshot = self.remembered(tenant, now).await?;
        let is_current = |known: &Webhook| updated_at.is_none_or(|at| at == known.updated_at);
        if snapshot.get(webhook).is_some_and(is_current) {
            return Ok(snapshot);
        }
        self.current(tenant, now).await
    }

    /// Webhooks at most 5 seconds old.
    pub async fn recent(&self, tenant: &TenantId, now: Timestamp) -> Result<Arc<Snapshot>> {
        let known = self.memory.lock().by_tenant.get(tenant).and_then(|known| {
            let fresh = known.checked_at <= now && now.since(known.checked_at) <= FRESH_FOR;
            fresh.then(|| Arc::clone(&known.snapshot))
        });
        match known {
            Some(snapshot) => Ok(snapshot),
            None => self.current(tenant, now).await,
        }
    }

    /// The webhooks of the store's current version. If they have to be loaded, concurrent calls for the same tenant wait for
    /// one that does.
    pub async fn current(&self, tenant: &TenantId, now: Timestamp) -> Result<Arc<Snapshot>> {
        let mut version = None;
        if self.knows(tenant) {
            let stored = self.store.webhooks_version(tenant).await?;
            if let Some(snapshot) = self.memory.lock().confirm(tenant, stored, now) {
                return Ok(snapshot);
            }
            version = Some(stored);
        }
        let turn = Arc::clone(self.memory.lock().turns.entry(tenant.clone()).or_default());
        let _turn = turn.lock().await;
        // Another call may have loaded them while this one waited.
        if self.knows(tenant) {
            let stored = match version {
                Some(stored) => stored,
                None => self.store.webhooks_version(tenant).await?,
            };
            if let Some(snapshot) = self.memory.lock().confirm(tenant, stored, now) {
                return Ok(snapshot);
            }
        }
        self.load(tenant, now).await
    }

    /// Fails if the tenant is being deleted.
    pub(crate) async fn require_open(
        &self,
        tenant: &TenantId,
        now: Timestamp,
    ) -> std::result::Result<(), GatewayError> {
        if self.current(tenant, now).await?.is_deleted() {
            return Err(Conflict::TenantDeleted.into());
        }
        Ok(())
    }

    fn knows(&self, tenant: &TenantId) -> bool {
        self.memory.lock().by_tenant.contains_key(tenant)
    }

    async fn load(&self, tenant: &TenantId, now: Timestamp) -> Result<Arc<Snapshot>> {
        let forgotten = self.memory.lock().forgotten;
        let mut list = self.store.webhooks(tenant).await?;
        list.webhooks.sort_by_key(|webhook| webhook.id);
        let snapshot = Arc::new(Snapshot {
            version: list.version,
            webhooks: list.webhooks,
            tenant: list.tenant,
            schemas: OnceCell::new(),
        });
        let mut memory = self.memory.lock();
        let known = memory
            .by_tenant
            .get(tenant)
            .map_or(0, |known| known.snapshot.version);
        if memory.forgotten == forgotten && known <= snapshot.version {
            let remembered = Remembered {
                snapshot: Arc::clone(&snapshot),
                checked_at: now,
            };
            memory.by_tenant.insert(tenant.clone(), remembered);
        }
        Ok(snapshot)
    }

    /// Removes a tenant whose webhooks this process has just changed.
    pub fn forget(&self, tenant: &TenantId) {
        let mut memory = self.memory.lock();
        memory.by_tenant.remove(tenant);
        memory.forgotten += 1;
    }
}
