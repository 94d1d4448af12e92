//! What the live feed of a tenant gets: nothing while no listener reads it, and never more than its one partition can take.
//! What is left out is reported as a gap.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::ids::TenantId;
use postrider_domain::notification::Notification;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use tracing::warn;

use super::super::DynamoStore;
use super::super::notifications::{Entry, PER_SECOND};

/// How long the answer whether a tenant has listeners is used.
const LOOK_EVERY: Millis = Millis::from_seconds(5);
/// A process that has seen more tenants than this starts over.
const MAX_TENANTS: usize = 10_000;

/// What this process knows about the feeds that it writes to.
#[derive(Default)]
pub(super) struct Feed(Mutex<HashMap<TenantId, Known>>);

#[derive(Clone, Copy, Default)]
struct Known {
    /// When this process last looked for listeners, if there were any, and if there were none.
    heard_at: Option<Timestamp>,
    unheard_at: Option<Timestamp>,
    second: i64,
    /// How many notifications it wrote in that second; [`PER_SECOND`] once others have used it up.
    written: usize,
    /// When it last left something out without telling.
    untold: Option<Timestamp>,
}

impl Feed {
    pub(super) async fn add(
        &self,
        store: &DynamoStore,
        tenant: &TenantId,
        notifications: &[Notification],
        now: Timestamp,
    ) {
        let mut known = self.0.lock().get(tenant).copied().unwrap_or_default();
        if let Err(reason) = known.write(store, tenant, notifications, now).await {
            warn!(event = "changes.not_in_feed", %reason, "notifications are missing from the live feed");
            known.untold = Some(now);
        }
        let mut feeds = self.0.lock();
        if feeds.len() >= MAX_TENANTS {
            feeds.clear();
        }
        feeds.insert(tenant.clone(), known);
    }
}

impl Known {
    async fn write(
        &mut self,
        store: &DynamoStore,
        tenant: &TenantId,
        notifications: &[Notification],
        now: Timestamp,
    ) -> Result<()> {
        if !self.is_heard(store, tenant, now).await? {
            self.untold = Some(now);
            return Ok(());
        }
        let fitting = self
            .reserve(store, tenant, notifications.len(), now)
            .await?;
        let (fitting, left_out) = notifications.split_at(fitting);
        let mut entries = Vec::with_capacity(fitting.len() + 2);
        entries.extend(self.untold.map(|_| Entry::gap()));
        entries.extend(fitting.iter().map(Entry::of));
        entries.extend(left_out.first().map(|_| Entry::gap()));
        // In a second without room, one gap is enough: the rest is reported with the next one.
        if fitting.is_empty() && self.written > PER_SECOND {
            self.untold = Some(now);
            return Ok(());
        }
        store.add_to_feed(tenant, entries, now).await?;
        self.written += fitting.len() + left_out.first().map_or(0, |_| 1);
        self.untold = None;
        Ok(())
    }

    /// How many of the notifications may be written now. Their second is shared with other publishers.
    async fn reserve(
        &mut self,
        store: &DynamoStore,
        tenant: &TenantId,
        wanted: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let room = self.room(now).min(wanted);
        if room == 0 || store.reserve_in_feed(tenant, room, now).await? {
            return Ok(room);
        }
        self.written = PER_SECOND;
        Ok(0)
    }

    /// How many more notifications this process may write in this second.
    fn room(&mut self, now: Timestamp) -> usize {
        if self.second != now.as_seconds() {
            (self.second, self.written) = (now.as_seconds(), 0);
        }
        PER_SECOND.saturating_sub(self.written)
    }

    async fn is_heard(
        &mut self,
        store: &DynamoStore,
        tenant: &TenantId,
        now: Timestamp,
    ) -> Result<bool> {
        let is_fresh = |at: Timestamp| at <= now && now.since(at) < LOOK_EVERY;
        if self.heard_at.is_some_and(is_fresh) {
            return Ok(true);
        }
        if self.unheard_at.is_some_and(is_fresh) {
            return Ok(false);
        }
        let is_heard = store.is_heard(tenant, now).await?;
        (self.heard_at, self.unheard_at) = if is_heard {
            (Some(now), None)
        } else {
            (None, Some(now))
        };
        Ok(is_heard)
    }
}
