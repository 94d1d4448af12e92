//! Rows that cannot be claimed because the store cannot read them. They are left alone for a while, so that they do not
//! take the place of the rows behind them.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};

use super::slots::Key;

/// How long a row is left alone. A newer version of the gateway may be able to read it.
const LEFT_FOR: Millis = Millis::from_seconds(3600);
/// More rows of one webhook are not remembered: reading past them would take too long.
const MOST: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Spoiled(Mutex<HashMap<Key, HashMap<DeliveryId, Timestamp>>>);

impl Spoiled {
    pub(super) fn add(&self, key: &Key, id: DeliveryId, now: Timestamp) {
        let mut spoiled = self.0.lock();
        let rows = spoiled.entry(key.clone()).or_default();
        if rows.len() < MOST {
            rows.insert(id, now);
        }
    }

    /// How many rows of a webhook are left alone.
    pub(super) fn count(&self, key: &Key, now: Timestamp) -> usize {
        let mut spoiled = self.0.lock();
        let Some(rows) = spoiled.get_mut(key) else {
            return 0;
        };
        rows.retain(|_, since| now.since(since.not_after(now)) < LEFT_FOR);
        let count = rows.len();
        if count == 0 {
            spoiled.remove(key);
        }
        count
    }

    pub(super) fn contains(&self, key: &Key, id: DeliveryId) -> bool {
        let spoiled = self.0.lock();
        spoiled.get(key).is_some_and(|rows| rows.contains_key(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::ids::TenantId;
    use postrider_testkit::builders::{NOW, after, event_id, webhook_id};

    fn key() -> Key {
        (TenantId::default(), webhook_id(1))
    }

    fn id(n: u32) -> DeliveryId {
        DeliveryId {
            event: event_id(n),
            webhook: webhook_id(1),
        }
    }

    #[test]
    fn a_row_is_left_alone_for_an_hour() {
        let (spoiled, key, id) = (Spoiled::default(), key(), id(1));
        assert_eq!(spoiled.count(&key, NOW), 0);
        spoiled.add(&key, id, NOW);
        assert_eq!(spoiled.count(&key, after(3599)), 1);
        assert!(spoiled.contains(&key, id));
        assert_eq!(spoiled.count(&key, after(3600)), 0);
        assert!(!spoiled.contains(&key, id));
    }

    #[test]
    fn at_most_a_thousand_rows_of_a_webhook_are_left_alone() {
        let (spoiled, key) = (Spoiled::default(), key());
        for n in 1..=1001 {
            spoiled.add(&key, id(n), NOW);
        }
        assert_eq!(spoiled.count(&key, NOW), 1000);
        assert!(!spoiled.contains(&key, id(1001)));
    }
}
