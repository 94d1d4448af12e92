//! Rows that this process is attempting. Their leases may lapse when the clock jumps or the disk stays full; they are not
//! attempted a second time meanwhile.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;

use super::slots::Key;

/// By webhook, with the end of the lease. A renewed lease ends later than noted, which does no harm.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<HashMap<Key, HashMap<DeliveryId, Timestamp>>>);

impl UnderWay {
    pub(super) fn add(&self, row: &Delivery) {
        let key = (row.tenant.clone(), row.id.webhook);
        let mut under_way = self.0.lock();
        let rows = under_way.entry(key).or_default();
        rows.insert(row.id, row.lease_until);
    }

    pub(super) fn remove(&self, tenant: &TenantId, id: DeliveryId) {
        let key = (tenant.clone(), id.webhook);
        let mut under_way = self.0.lock();
        if let Some(rows) = under_way.get_mut(&key) {
            rows.remove(&id);
            if rows.is_empty() {
                under_way.remove(&key);
            }
        }
    }

    pub(super) fn contains(&self, key: &Key, id: DeliveryId) -> bool {
        let under_way = self.0.lock();
        under_way
            .get(key)
            .is_some_and(|rows| rows.contains_key(&id))
    }

    /// How many rows of a webhook the store takes for free.
    pub(super) fn lapsed(&self, key: &Key, now: Timestamp) -> usize {
        let under_way = self.0.lock();
        under_way.get(key).map_or(0, |rows| {
            rows.values().filter(|until| **until < now).count()
        })
    }
}

#[cfg(test)]
mod tests {
    use postrider_testkit::builders::{self, NOW, after};

    use super::*;

    #[test]
    fn only_rows_whose_lease_has_lapsed_are_counted() {
        let tenant = TenantId::default();
        let event = builders::event(&tenant, 1, NOW);
        let webhook = builders::webhook_id(1);
        let mut row = builders::acceptance(event, &[webhook], 1).rows.remove(0);
        row.lease_until = after(20);
        let (key, under_way) = ((tenant.clone(), webhook), UnderWay::default());
        under_way.add(&row);
        assert_eq!(under_way.lapsed(&key, after(20)), 0);
        assert_eq!(under_way.lapsed(&key, after(21)), 1);
        assert!(under_way.contains(&key, row.id));
        under_way.remove(&tenant, row.id);
        assert!(!under_way.contains(&key, row.id));
        assert_eq!(under_way.lapsed(&key, after(21)), 0);
    }
}
