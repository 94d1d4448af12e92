//! The webhooks of each tenant, remembered between requests.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::{Result, Store};

/// For how long a dispatcher may go by what it remembers.
const FRESH_FOR: Millis = Millis::from_seconds(5);

/// The webhooks of a tenant as they were at one version.
#[derive(Debug)]
pub struct Snapshot {
    /// The version.
    pub version: u64,
    /// All of them, sorted by id.
    pub webhooks: Vec<Webhook>,
}

impl Snapshot {
    /// One of them.
    #[must_use]
    pub fn get(&self, id: WebhookId) -> Option<&Webhook> {
        let at = self
            .webhooks
            .binary_search_by_key(&id, |webhook| webhook.id)
            .ok()?;
        self.webhooks.get(at)
    }
}

struct Remembered {
    snapshot: Arc<Snapshot>,
    checked_at: Timestamp,
}

/// Remembers webhooks and asks the store only whether they are still these.
pub struct WebhookCache {
    store: Arc<dyn Store>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    by_tenant: HashMap<TenantId, Remembered>,
    /// How often something was forgotten. What was read before that is not remembered after it.
    forgotten: u64,
}

impl WebhookCache {
    /// An empty memory of this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            memory: Mutex::default(),
        }
    }

    /// What is remembered, however old; loaded if there is nothing. For callers whose write fails when it is outdated.
    ///
    /// # Errors
    /// When the store cannot be read.
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

    /// What is remembered, at most 5 seconds old.
    ///
    /// # Errors
    /// When the store cannot be read.
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

    /// What the store has now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn current(&self, tenant: &TenantId, now: Timestamp) -> Result<Arc<Snapshot>> {
        let forgotten = self.memory.lock().forgotten;
        let version = self.store.webhooks_version(tenant).await?;
        if let Some(known) = self.memory.lock().by_tenant.get_mut(tenant)
            && known.snapshot.version == version
        {
            known.checked_at = now;
            return Ok(Arc::clone(&known.snapshot));
        }
        let mut list = self.store.webhooks(tenant).await?;
        list.webhooks.sort_by_key(|webhook| webhook.id);
        let snapshot = Arc::new(Snapshot {
            version: list.version,
            webhooks: list.webhooks,
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

    /// Forgets a tenant whose webhooks this process has just changed.
    pub fn forget(&self, tenant: &TenantId) {
        let mut memory = self.memory.lock();
        memory.by_tenant.remove(tenant);
        memory.forgotten += 1;
    }
}
