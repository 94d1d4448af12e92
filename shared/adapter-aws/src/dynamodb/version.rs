//! The version of a tenant's webhooks, which makes plans outdated. Every publish reads it, and DynamoDB serves 3,000 strongly
//! consistent reads per second from one key, so there are copies. A change raises all of them in its transaction, and a
//! reader takes any one. While a transaction is committed they may differ for a moment, so a reader that finds less than it
//! knows is up to date.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use parking_lot::Mutex;
use postrider_domain::ids::TenantId;
use postrider_domain::retention::Retention;
use postrider_domain::tenant::TenantRetention;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Change, Step, Table};
use super::item::{Item, instant, ms, n};
use super::keys::Key;
use crate::fault::unreadable;

/// Enough for 12,000 publishes per second and tenant. Each one more makes every change of a webhook two units dearer.
const COPIES: u64 = 4;
const VERSION: &str = "version";
/// The retention of the tenant, if it has its own.
const DAYS: &str = "retention_days";
const SINCE: &str = "retention_since";

/// Makes every earlier plan outdated.
pub(super) fn raised(tenant: &TenantId) -> impl Iterator<Item = Step> {
    (0..COPIES).map(|copy| {
        let change = Change::of(Table::Configs, Key::version(tenant, copy));
        Step::Change(change.add(VERSION, n(1)))
    })
}

/// The same for a change of the tenant's record. The copies carry its retention, because every process that writes rows
/// reads one of them.
pub(super) fn raised_with(
    tenant: &TenantId,
    retention: Option<TenantRetention>,
) -> impl Iterator<Item = Step> {
    (0..COPIES).map(move |copy| {
        let change = Change::of(Table::Configs, Key::version(tenant, copy))
            .add(VERSION, n(1))
            .set_or_remove(DAYS, retention.map(|own| n(own.days)))
            .set_or_remove(SINCE, retention.map(|own| ms(own.since)));
        Step::Change(change)
    })
}

impl DynamoStore {
    /// Reads any of the copies, strongly consistent.
    pub(super) async fn version(&self, tenant: &TenantId) -> Result<u64> {
        let key = Key::version(tenant, any_copy());
        let item = self.get(Table::Configs, &key).await?;
        let own = item.as_ref().and_then(retention_of);
        self.own_retention.note(tenant, own);
        item.as_ref().map_or(Ok(0), version_of)
    }

    /// How long something of this tenant is stored that was published at `created_at`.
    pub(super) fn retention_of(&self, tenant: &TenantId, created_at: Timestamp) -> Retention {
        match self.own_retention.of(tenant) {
            Some(own) => own.shorten(self.retention, created_at),
            None => self.retention,
        }
    }
}

/// The retention of tenants that have one, as this process last read it with a version.
#[derive(Debug, Default)]
pub(super) struct OwnRetention(Mutex<HashMap<TenantId, TenantRetention>>);

impl OwnRetention {
    fn note(&self, tenant: &TenantId, own: Option<TenantRetention>) {
        let mut known = self.0.lock();
        match own {
            Some(own) => {
                known.insert(tenant.clone(), own);
            }
            None => {
                known.remove(tenant);
            }
        }
    }

    fn of(&self, tenant: &TenantId) -> Option<TenantRetention> {
        self.0.lock().get(tenant).copied()
    }
}

fn retention_of(item: &Item) -> Option<TenantRetention> {
    Some(TenantRetention {
        days: item.get(DAYS)?.as_n().ok()?.parse().ok()?,
        since: instant(item, SINCE)?,
    })
}

/// Hidden randomness: which copy is read makes no difference to the result.
pub(super) fn any_copy() -> u64 {
    RandomState::new().hash_one(()) % COPIES
}

fn version_of(item: &Item) -> Result<u64> {
    let number = item.get(VERSION).and_then(|version| version.as_n().ok());
    let version = number.and_then(|number| number.parse().ok());
    version.ok_or_else(|| unreadable("the version of the webhooks"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_copy_is_read_sooner_or_later() {
        let drawn: BTreeSet<_> = (0..1000).map(|_| any_copy()).collect();
        assert_eq!(drawn, (0..COPIES).collect());
    }
}
