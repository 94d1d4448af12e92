//! Compares notifications and counters, which follow from every change.

use std::collections::BTreeMap;

use postrider_domain::notification::Notification;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::history::HourlyStats;
use postrider_ports::notifications::StoredNotification;
use proptest::prelude::*;

use super::Model;
use crate::store_suite::WaitingRows;

const PAGE: usize = 1000;

impl Model<'_> {
    /// Compares the notifications since the last comparison, where the store keeps all of them.
    pub(super) async fn compare_told(&mut self) -> Result<(), TestCaseError> {
        let told = std::mem::take(&mut self.ours.told);
        if self.handle().waiting_rows == WaitingRows::InBacklog {
            return Ok(());
        }
        let (tenant, seen) = (&self.ours.tenant, self.ours.heard_up_to);
        let stored = self.store().notifications_after(tenant, seen, PAGE).await;
        let stored: Vec<StoredNotification> = stored.unwrap();
        prop_assert!(stored.is_sorted_by(|a, b| a.seq < b.seq));
        self.ours.heard_up_to = stored.last().map_or(seen, |last| last.seq);
        let json = |one: &Notification| one.to_cloud_event().to_string();
        let mut expected: Vec<_> = told.iter().map(json).collect();
        let mut stored: Vec<_> = stored.into_iter().map(|one| one.event).collect();
        // A command that changes many rows does so in an order of its own.
        expected.sort();
        stored.sort();
        prop_assert_eq!(stored, expected);
        Ok(())
    }

    pub(super) async fn compare_counters(&self) -> Result<(), TestCaseError> {
        let until = self.now.plus(Millis::from_seconds(3_600));
        let tenant = &self.ours.tenant;
        let stats = self.store().stats(tenant, None, Timestamp::ZERO, until);
        let marks = self.handle().waiting_rows == WaitingRows::InBacklog;
        // A store on a network counts an event with its first attempt.
        let comparable = |mut stats: HourlyStats| {
            if marks {
                (stats.published, stats.bytes) = (0, 0);
            }
            let is_empty = stats == HourlyStats::empty(stats.webhook, stats.hour);
            (!is_empty).then_some(((stats.webhook, stats.hour), stats))
        };
        let stored = stats.await.unwrap().into_iter().filter_map(comparable);
        let expected = self.ours.counters.values().cloned();
        let expected: BTreeMap<_, _> = expected.filter_map(comparable).collect();
        prop_assert_eq!(stored.collect::<BTreeMap<_, _>>(), expected);
        Ok(())
    }
}
