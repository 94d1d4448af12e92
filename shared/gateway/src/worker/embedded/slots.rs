//! How many attempts are under way, for each webhook and in all.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use tokio::sync::Notify;

pub(super) type Key = (TenantId, WebhookId);

/// One webhook may have under way at most this part of the places that are left: the more receivers hang, the fewer
/// places the next one may fill, so that dozens of them still leave room for one that is well.
const SHARE_OF_REST: usize = 8;

/// Counts attempts against their bounds.
pub(super) struct Slots {
    per_webhook: usize,
    in_all: usize,
    counts: Mutex<Counts>,
    emptied: Notify,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_webhook: HashMap<Key, usize>,
    /// Webhooks with due rows that found no room. Their fresh rows wait behind those.
    backlog: HashSet<Key>,
    closed: bool,
}

impl Slots {
    pub(super) fn new(per_webhook: usize, in_all: usize) -> Self {
        Self {
            per_webhook,
            in_all,
            counts: Mutex::default(),
            emptied: Notify::new(),
        }
    }

    /// Takes one place for a fresh row, unless it would overtake rows that wait.
    pub(super) fn take(&self, tenant: &TenantId, webhook: WebhookId) -> bool {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        if counts.backlog.contains(&key) {
            return false;
        }
        if self.room(&counts, &key) == 0 {
            counts.backlog.insert(key);
            return false;
        }
        counts.total += 1;
        *counts.by_webhook.entry(key).or_default() += 1;
        true
    }

    /// Takes up to `wanted` places, at most a fair share of what is left in all when `sharers` want some; returns how
    /// many. None left marks a backlog.
    pub(super) fn take_many(&self, tenant: &TenantId, webhook: WebhookId, sharers: usize) -> usize {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        let left = self.in_all.saturating_sub(counts.total);
        let share = left.div_ceil(sharers.max(1));
        let taken = share.min(self.room(&counts, &key));
        if taken == 0 {
            counts.backlog.insert(key);
            return 0;
        }
        counts.total += taken;
        *counts.by_webhook.entry(key).or_default() += taken;
        taken
    }

    /// How many more attempts this webhook may have under way.
    fn room(&self, counts: &Counts, key: &Key) -> usize {
        if counts.closed {
            return 0;
        }
        let left = self.in_all.saturating_sub(counts.total);
        let bound = self.per_webhook.min((left / SHARE_OF_REST).max(1));
        let under_way = counts.by_webhook.get(key).copied().unwrap_or(0);
        bound.saturating_sub(under_way).min(left)
    }

    /// Gives back places that were taken and not needed; `drained` tells that no due row was left waiting.
    pub(super) fn settle(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        unused: usize,
        drained: bool,
    ) {
        for _ in 0..unused {
            self.finished(tenant, webhook);
        }
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        if drained {
            counts.backlog.remove(&key);
        } else {
            counts.backlog.insert(key);
        }
    }

    /// Gives one place back. Returns whether rows wait for it.
    pub(super) fn finished(&self, tenant: &TenantId, webhook: WebhookId) -> bool {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        counts.total = counts.total.saturating_sub(1);
        if let Some(count) = counts.by_webhook.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.by_webhook.remove(&key);
            }
        }
        if counts.total == 0 {
            self.emptied.notify_waiters();
        }
        !counts.backlog.is_empty()
    }

    /// Forgets backlogs of webhooks that have nothing due any more.
    pub(super) fn keep_backlogs_of(&self, due: &HashSet<Key>) {
        self.counts.lock().backlog.retain(|key| due.contains(key));
    }

    pub(super) fn has_backlog(&self) -> bool {
        !self.counts.lock().backlog.is_empty()
    }

    pub(super) fn close(&self) {
        self.counts.lock().closed = true;
    }

    pub(super) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.counts.lock().total == 0 {
                return;
            }
            emptied.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(n: u8) -> WebhookId {
        WebhookId::from_bytes([n; 16])
    }

    #[test]
    fn one_webhook_cannot_take_everything() {
        let load = Slots::new(2, 100);
        let tenant = TenantId::default();
        assert!(load.take(&tenant, webhook(1)) && load.take(&tenant, webhook(1)));
        assert!(!load.take(&tenant, webhook(1)));
        assert!(load.take(&tenant, webhook(2)));
    }

    #[test]
    fn many_webhooks_that_hang_leave_room_for_one_that_is_well() {
        let load = Slots::new(64, 1024);
        let tenant = TenantId::default();
        for hanging in 0..40 {
            while load.take(&tenant, webhook(hanging)) {}
        }
        assert!(load.take(&tenant, webhook(200)));
    }

    #[test]
    fn a_fresh_row_does_not_overtake_those_that_wait() {
        let load = Slots::new(1, 100);
        let tenant = TenantId::default();
        assert!(load.take(&tenant, webhook(1)));
        assert!(!load.take(&tenant, webhook(1)));
        assert!(load.finished(&tenant, webhook(1)), "somebody waits");
        assert!(
            !load.take(&tenant, webhook(1)),
            "the waiting row comes first"
        );
        load.settle(&tenant, webhook(1), 0, true);
        assert!(load.take(&tenant, webhook(1)));
    }

    #[test]
    fn what_is_left_in_all_is_shared() {
        let load = Slots::new(64, 16);
        let tenant = TenantId::default();
        assert_eq!(load.take_many(&tenant, webhook(1), 16), 1);
        assert_eq!(
            load.take_many(&tenant, webhook(1), 1),
            0,
            "no more than its part"
        );
        let taken: usize = (2..40)
            .map(|n| load.take_many(&tenant, webhook(n), 1))
            .sum();
        assert_eq!(taken, 15, "one each, until none is left");
    }

    #[test]
    fn a_closed_courier_takes_nothing() {
        let load = Slots::new(64, 1024);
        let tenant = TenantId::default();
        load.close();
        assert!(!load.take(&tenant, webhook(1)));
        assert_eq!(load.take_many(&tenant, webhook(1), 1), 0);
    }
}
