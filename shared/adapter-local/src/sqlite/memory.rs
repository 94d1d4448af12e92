//! What the writing thread remembers between transactions, so that it need not read it again for each event.
//!
//! All of it is forgotten when another connection has written to the file, and when something is rolled back. Changes of
//! webhooks made here forget it too; see [`Memory::forget`].

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use postrider_domain::health::Health;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::history::HourlyStats;
use rusqlite::Connection;

use super::fault::Fault;

/// More entries than this are forgotten together.
const MAX_ENTRIES: usize = 10_000;

type Key = (TenantId, WebhookId);

#[derive(Default)]
pub(super) struct Memory {
    entries: RefCell<Entries>,
    /// Where rows are that this process holds. A row may have moved: the code that uses its place checks the lease.
    places: RefCell<HashMap<DeliveryId, i64>>,
}

#[derive(Default)]
struct Entries {
    /// Changes when another connection has committed.
    data_version: Option<i64>,
    config_versions: HashMap<TenantId, u64>,
    /// `None` for a webhook that does not exist.
    health: HashMap<Key, Option<Arc<Health>>>,
    stats: HashMap<(Key, Timestamp), HourlyStats>,
}

impl Memory {
    /// Forgets everything if another connection has written. Called at the start of each transaction.
    pub(super) fn check(&self, db: &Connection) -> Result<(), Fault> {
        let mut statement = db.prepare_cached("PRAGMA data_version")?;
        let version = statement.query_row([], |row| row.get(0))?;
        let mut entries = self.entries.borrow_mut();
        let is_full = entries.health.len() + entries.stats.len() > MAX_ENTRIES;
        if entries.data_version != Some(version) || is_full {
            *entries = Entries {
                data_version: Some(version),
                ..Entries::default()
            };
        }
        let mut places = self.places.borrow_mut();
        if places.len() > MAX_ENTRIES {
            places.clear();
        }
        Ok(())
    }

    /// Must be called when webhooks or their versions are written, and when anything is rolled back.
    pub(super) fn forget(&self) {
        let mut entries = self.entries.borrow_mut();
        *entries = Entries {
            data_version: entries.data_version,
            ..Entries::default()
        };
    }

    pub(super) fn config_version(
        &self,
        tenant: &TenantId,
        read: impl FnOnce() -> Result<u64, Fault>,
    ) -> Result<u64, Fault> {
        if let Some(version) = self.entries.borrow().config_versions.get(tenant) {
            return Ok(*version);
        }
        let version = read()?;
        let mut entries = self.entries.borrow_mut();
        entries.config_versions.insert(tenant.clone(), version);
        Ok(version)
    }

    pub(super) fn health(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        read: impl FnOnce() -> Result<Option<Health>, Fault>,
    ) -> Result<Option<Arc<Health>>, Fault> {
        let key = (tenant.clone(), webhook);
        if let Some(health) = self.entries.borrow().health.get(&key) {
            return Ok(health.clone());
        }
        let health = read()?.map(Arc::new);
        self.entries.borrow_mut().health.insert(key, health.clone());
        Ok(health)
    }

    /// The counters of a webhook and hour, for a caller that changes them and passes them to [`Memory::keep_stats`].
    pub(super) fn take_stats(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        hour: Timestamp,
    ) -> Option<HourlyStats> {
        let key = ((tenant.clone(), webhook), hour);
        self.entries.borrow_mut().stats.remove(&key)
    }

    pub(super) fn keep_stats(&self, tenant: &TenantId, stats: HourlyStats) {
        let key = ((tenant.clone(), stats.webhook), stats.hour);
        self.entries.borrow_mut().stats.insert(key, stats);
    }

    /// Remembers where a row is that this process holds.
    pub(super) fn note_place(&self, id: DeliveryId, at: i64) {
        self.places.borrow_mut().insert(id, at);
    }

    pub(super) fn take_place(&self, id: DeliveryId) -> Option<i64> {
        self.places.borrow_mut().remove(&id)
    }
}
