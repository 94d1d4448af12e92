//! The slots of attempts in flight, per webhook and in total.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use tokio::sync::Notify;

pub(super) type Key = (TenantId, WebhookId);

/// One webhook may take at most this fraction (one eighth) of the free slots. The more receivers hang, the fewer slots the
/// next one gets, so that dozens of them still leave room for a healthy one.
const SHARE_OF_REST: usize = 8;

pub(super) struct Slots {
    per_webhook: usize,
    max_total: usize,
    counts: Mutex<Counts>,
    emptied: Notify,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_webhook: HashMap<Key, usize>,
    /// Webhooks with due rows that wait for a slot, by when their turn comes. Their new rows wait behind those.
    backlog: HashMap<Key, u64>,
    next_turn: u64,
    closed: bool,
}

impl Counts {
    /// Lets a webhook wait for a slot, behind those that wait already.
    fn queue(&mut self, key: Key) {
        let turn = self.next_turn;
        self.backlog.entry(key).or_insert(turn);
        self.next_turn += 1;
    }
}

impl Slots {
    pub(super) fn new(per_webhook: usize, max_total: usize) -> Self {
        Self {
            per_webhook,
            max_total,
            counts: Mutex::default(),
            emptied: Notify::new(),
        }
    }

    /// Takes one slot for a new row, unless the row would overtake waiting rows. `most` is the webhook's own maximum.
    pub(super) fn take(&self, tenant: &TenantId, webhook: WebhookId, most: Option<u32>) -> bool {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        if counts.backlog.contains_key(&key) {
            return false;
        }
        if self.room(&counts, &key, most) == 0 {
            counts.queue(key);
            return false;
        }
        counts.total += 1;
        *counts.by_webhook.entry(key).or_default() += 1;
        true
    }

    /// Takes slots for a webhook, at most a fair share of the free ones among `sharers` webhooks; returns how many. If it
    /// gets none, the webhook has a backlog.
    pub(super) fn take_many(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        most: Option<u32>,
        sharers: usize,
    ) -> usize {
        let key = (tenant.clone(), webhook);
        let mut counts = self.counts.lock();
        let left = self.max_total.saturating_sub(counts.total);
        let share = left.div_ceil(sharers.max(1));
        let taken = share.min(self.room(&counts, &key, most));
        if taken == 0 {
            counts.queue(key);
            return 0;
        }
        // It had its turn: what is left of its backlog waits behind the others.
        counts.backlog.remove(&key);
        counts.total += taken;
        *counts.by_webhook.entry(key).or_default() += taken;
        taken
    }

    /// How many more slots this webhook may take.
    fn room(&self, counts: &Counts, key: &Key, most: Option<u32>) -> usize {
        if counts.closed {
            return 0;
        }
        let left = self.max_total.saturating_sub(counts.total);
        let most = most.and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(usize::MAX).min(self.per_webhook);
        let bound = most.min((left / SHARE_OF_REST).max(1));
        let under_way = counts.by_webhook.get(key).copied().unwrap_or(0);
        bound.saturating_sub(under_way).min(left)
    }

    /// Returns unused slots.
    pub(super) fn give_back(&self, key: &Key, unused: usize) {
        for _ in 0..unused {
            self.finished(&key.0, key.1);
        }
    }

    /// The webhook has due rows that only wait for a slot.
    pub(super) fn note_backlog(&self, key: &Key) {
        self.counts.lock().queue(key.clone());
    }

    /// Returns one slot. The result says whether rows wait for it.
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

    /// The webhooks with due rows that wait for a slot, those that have waited longest first.
    pub(super) fn backlogs(&self) -> Vec<Key> {
        let counts = self.counts.lock();
        let mut waiting: Vec<_> = counts.backlog.iter().collect();
        waiting.sort_by_key(|(_, turn)| **turn);
        waiting.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// The webhook has no due row that could start.
    pub(super) fn clear_backlog(&self, key: &Key) {
        self.counts.lock().backlog.remove(key);
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
        let slots = Slots::new(2, 100);
        let tenant = TenantId::default();
        assert!(slots.take(&tenant, webhook(1), None) && slots.take(&tenant, webhook(1), None));
        assert!(!slots.take(&tenant, webhook(1), None));
        assert!(slots.take(&tenant, webhook(2), None));
    }

    #[test]
    fn a_webhook_keeps_to_its_own_maximum() {
        let slots = Slots::new(64, 1024);
        let tenant = TenantId::default();
        assert_eq!(slots.take_many(&tenant, webhook(1), Some(3), 1), 3);
        assert!(!slots.take(&tenant, webhook(1), Some(3)));
        assert_eq!(slots.take_many(&tenant, webhook(2), Some(100), 1), 64);
    }

    #[test]
    fn many_hanging_webhooks_leave_room_for_a_healthy_one() {
        let slots = Slots::new(64, 1024);
        let tenant = TenantId::default();
        for hanging in 0..40 {
            while slots.take(&tenant, webhook(hanging), None) {}
        }
        assert!(slots.take(&tenant, webhook(200), None));
    }

    #[test]
    fn a_new_row_does_not_overtake_waiting_rows() {
        let slots = Slots::new(1, 100);
        let tenant = TenantId::default();
        assert!(slots.take(&tenant, webhook(1), None));
        assert!(!slots.take(&tenant, webhook(1), None));
        assert!(slots.finished(&tenant, webhook(1)), "a row waits");
        assert!(
            !slots.take(&tenant, webhook(1), None),
            "the waiting row comes first"
        );
        slots.clear_backlog(&(tenant.clone(), webhook(1)));
        assert!(slots.take(&tenant, webhook(1), None));
    }

    #[test]
    fn free_slots_are_shared() {
        let slots = Slots::new(64, 16);
        let tenant = TenantId::default();
        assert_eq!(slots.take_many(&tenant, webhook(1), None, 16), 1);
        assert_eq!(
            slots.take_many(&tenant, webhook(1), None, 1),
            0,
            "no more than its share"
        );
        let taken: usize = (2..40)
            .map(|n| slots.take_many(&tenant, webhook(n), None, 1))
            .sum();
        assert_eq!(taken, 15, "one each, until none is left");
    }

    #[test]
    fn webhooks_that_wait_for_a_slot_take_turns() {
        let slots = Slots::new(1, 2);
        let tenant = TenantId::default();
        let key = |n| (tenant.clone(), webhook(n));
        for n in [1, 2] {
            assert_eq!(slots.take_many(&tenant, webhook(n), None, 1), 1);
        }
        for n in [9, 1, 2] {
            assert_eq!(slots.take_many(&tenant, webhook(n), None, 1), 0);
        }
        assert_eq!(slots.backlogs(), [key(9), key(1), key(2)]);
        slots.finished(&tenant, webhook(1));
        assert_eq!(slots.take_many(&tenant, webhook(9), None, 1), 1);
        slots.note_backlog(&key(9));
        assert_eq!(slots.backlogs(), [key(1), key(2), key(9)]);
    }

    #[test]
    fn a_closed_worker_takes_no_slots() {
        let slots = Slots::new(64, 1024);
        let tenant = TenantId::default();
        slots.close();
        assert!(!slots.take(&tenant, webhook(1), None));
        assert_eq!(slots.take_many(&tenant, webhook(1), None, 1), 0);
    }
}
