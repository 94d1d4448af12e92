//! Promises about what is no longer stored: rows that were deleted, events that are gone, and what is left in the end.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use postrider_domain::delivery::Status;
use postrider_domain::retention::Retention;
use postrider_domain::time::Millis;

use super::{Audit, Promise, Row};

/// How far clocks may be off together: the one that wrote a row, and the one by which it is deleted.
const CLOCKS_MS: i64 = 5 * 3_600_000;

/// Rows that were still open when they were deleted, and those that were reported.
#[derive(Default)]
pub(super) struct Expired {
    open: Mutex<BTreeSet<String>>,
    /// Rows whose event may be gone.
    without_event: Mutex<BTreeSet<String>>,
    reported: Mutex<BTreeSet<String>>,
}

fn ms(span: Millis) -> i64 {
    i64::try_from(span.get()).unwrap()
}

impl Row {
    /// Until when it has to be stored.
    fn kept_until_ms(self) -> i64 {
        let retention = Retention::default();
        match self.status {
            Status::Delivered => self.touched_ms + ms(retention.delivered),
            Status::Dead => self.touched_ms + ms(retention.dead),
            Status::Pending | Status::Failed => {
                self.touched_ms.max(self.due_ms) + ms(retention.dead)
            }
        }
    }

    /// Whether another row takes its place, which is allowed once it has expired.
    pub(super) fn is_replaced_by(self, after: Self, now_ms: i64) -> bool {
        after.created_ms > self.created_ms && self.kept_until_ms() < now_ms + CLOCKS_MS
    }

    /// Whether its event may be gone: it was due for as long as delivered rows are stored, and nothing attempted it. In a
    /// backlog it may wait for as long as it is stored.
    fn may_have_lost_event(self, now_ms: i64) -> bool {
        let overdue_ms = now_ms - self.due_ms;
        self.is_open()
            && !self.in_backlog
            && overdue_ms + CLOCKS_MS > ms(Retention::default().delivered)
    }
}

impl Audit {
    pub(crate) fn row_removed(&self, id: &str, row: Row, now_ms: i64) {
        if row.is_open() {
            self.expired.open.lock().insert(id.to_owned());
        }
        let early_ms = row.kept_until_ms() - now_ms;
        if early_ms > CLOCKS_MS {
            let (status, hours) = (row.status.as_str(), early_ms / 3_600_000);
            let detail = format!("{id} is {status} and was deleted {hours} h too early");
            self.violate(Promise::Retained, detail);
        }
    }

    /// A row changed. If it was ended because its event was gone, that has to be allowed.
    pub(super) fn event_may_be_gone(&self, id: &str, before: Row, after: Row, now_ms: i64) {
        let mut excused = self.expired.without_event.lock();
        if before.may_have_lost_event(now_ms) {
            // It may be moved to a backlog before that is noticed.
            excused.insert(id.to_owned());
        }
        let is_excused = excused.contains(id);
        drop(excused);
        if after.has_lost_event && !before.has_lost_event && !is_excused {
            let detail = format!("{id} was ended because its event is gone");
            self.violate(Promise::Outlived, detail);
        }
    }

    /// An event was deleted that this row belongs to.
    pub(crate) fn event_removed(&self, id: &str, row: Row, now_ms: i64) {
        let is_excused = self.expired.without_event.lock().contains(id);
        if !row.has_lost_event && !row.may_have_lost_event(now_ms) && !is_excused {
            let status = row.status.as_str();
            let detail = format!("{id} is {status} and stored, and its event was deleted");
            self.violate(Promise::Outlived, detail);
        }
    }

    /// It was reported that this delivery had expired.
    pub(crate) fn expiry_reported(&self, id: &str) {
        self.expired.reported.lock().insert(id.to_owned());
    }

    /// What has to hold when all has expired; `left` is what is still stored of deliveries.
    pub(crate) fn expired_at_rest(&self, left: &[String]) {
        let (open, reported) = (self.expired.open.lock(), self.expired.reported.lock());
        let unreported: Vec<_> = open.difference(&reported).cloned().collect();
        drop((open, reported));
        if !unreported.is_empty() {
            let detail = format!("open and expired, and not reported as dead: {unreported:?}");
            self.violate(Promise::ExpiryReported, detail);
        }
        if !left.is_empty() {
            let detail = format!("still stored: {}", left.join(", "));
            self.violate(Promise::Cleared, detail);
        }
    }
}
