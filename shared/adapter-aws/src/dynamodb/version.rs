//! The version of a tenant's webhooks, which makes plans outdated. Every publish reads it, and DynamoDB serves 3,000 strongly
//! consistent reads per second from one key, so there are copies. A change raises all of them in its transaction, and a
//! reader takes any one. While a transaction is committed they may differ for a moment, so a reader that finds less than it
//! knows is up to date.

use std::hash::{BuildHasher, RandomState};

use postrider_domain::ids::TenantId;
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Change, Step, Table};
use super::item::{Item, n};
use super::keys::Key;
use crate::fault::unreadable;

/// Enough for 12,000 publishes per second and tenant. Each one more makes every change of a webhook two units dearer.
const COPIES: u64 = 4;
const VERSION: &str = "version";

/// Makes every earlier plan outdated.
pub(super) fn raised(tenant: &TenantId) -> impl Iterator<Item = Step> {
    (0..COPIES).map(|copy| {
        let change = Change::of(Table::Configs, Key::version(tenant, copy));
        Step::Change(change.add(VERSION, n(1)))
    })
}

impl DynamoStore {
    /// Reads any of the copies, strongly consistent.
    pub(super) async fn version(&self, tenant: &TenantId) -> Result<u64> {
        let key = Key::version(tenant, any_copy());
        let item = self.get(Table::Configs, &key).await?;
        item.as_ref().map_or(Ok(0), version_of)
    }
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
