//! What the store should contain of one tenant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Delivery};
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::notification::{Effects, Notification, effects, health_notification};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Store;
use postrider_ports::deliveries::Wanted;
use postrider_ports::history::HourlyStats;

use super::contents::Compared;
use crate::builders;

/// Of each tenant.
pub(super) const WEBHOOKS: u32 = 2;

pub(super) struct Tenancy {
    pub(super) tenant: TenantId,
    pub(super) events: BTreeMap<EventId, Published>,
    pub(super) rows: BTreeMap<DeliveryId, Delivery>,
    pub(super) attempts: BTreeMap<DeliveryId, Vec<Attempt>>,
    /// Those that were deleted, too, so that numbers choose the same ones.
    pub(super) webhooks: BTreeMap<WebhookId, Option<Webhook>>,
    /// Webhooks that were resumed: nothing here opens them.
    pub(super) limited: BTreeSet<WebhookId>,
    /// Every claim that succeeded, with its lease.
    pub(super) claims: Vec<(Claimed, Wanted)>,
    /// Open rows that the watch has not seen, so that no lane leads to them.
    pub(super) unwatched: BTreeSet<DeliveryId>,
    pub(super) version: Version,
    /// The notifications since the last comparison, which ended at this position.
    pub(super) told: Vec<Notification>,
    pub(super) heard_up_to: u64,
    pub(super) counters: BTreeMap<(WebhookId, Timestamp), HourlyStats>,
    pub(super) compared: Compared,
}

/// An event as its publisher sent it.
#[derive(Clone)]
pub(super) struct Published {
    pub(super) event: Arc<Event>,
    pub(super) request_hash: RequestHash,
    /// The webhooks that it was planned for.
    pub(super) plan: Vec<WebhookId>,
    pub(super) state: EventState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventState {
    Stored,
    /// Attempts of it may be under way.
    Erasing(Timestamp),
    Erased(Timestamp),
    /// It has passed its retention: its key can be used again.
    Removed,
}

impl EventState {
    pub(super) const fn erased_at(self) -> Option<Timestamp> {
        match self {
            Self::Erasing(at) | Self::Erased(at) => Some(at),
            Self::Stored | Self::Removed => None,
        }
    }
}

/// The version of the webhooks as it was last read, and whether it has been raised since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Version {
    pub(super) seen: u64,
    pub(super) raised: Raised,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Raised {
    #[default]
    No,
    Perhaps,
    Yes,
}

impl Tenancy {
    pub(super) async fn begin(store: &dyn Store, n: u32) -> Self {
        let tenant = format!("tenant-{n}").parse().unwrap();
        let mut webhooks = BTreeMap::new();
        // Ids are unique across tenants, as outside tests: a backlog is stored under its webhook's id alone.
        for n in n * WEBHOOKS..(n + 1) * WEBHOOKS {
            let webhook = builders::webhook(&tenant, n);
            webhooks.insert(webhook.id, Some(webhook.clone()));
            store.create_webhook(webhook).await.unwrap();
        }
        let seen = store.webhooks_version(&tenant).await.unwrap();
        Self {
            tenant,
            events: BTreeMap::new(),
            rows: BTreeMap::new(),
            attempts: BTreeMap::new(),
            webhooks,
            limited: BTreeSet::new(),
            claims: Vec::new(),
            unwatched: BTreeSet::new(),
            version: Version {
                seen,
                raised: Raised::No,
            },
            told: Vec::new(),
            heard_up_to: 0,
            counters: BTreeMap::new(),
            compared: Compared::default(),
        }
    }

    pub(super) fn status_of(&self, webhook: WebhookId) -> Option<WebhookStatus> {
        self.health_of(webhook).map(|health| health.status)
    }

    pub(super) fn health_of(&self, webhook: WebhookId) -> Option<&Health> {
        let webhook = self.webhooks.get(&webhook)?.as_ref();
        webhook.map(|webhook| &webhook.health)
    }

    pub(super) fn row_at(&self, n: usize) -> Option<DeliveryId> {
        nth(&self.rows, n)
    }

    pub(super) fn event_at(&self, n: usize) -> Option<EventId> {
        nth(&self.events, n)
    }

    pub(super) fn webhook_at(&self, n: usize) -> WebhookId {
        nth(&self.webhooks, n).unwrap()
    }

    pub(super) fn claim_at(&self, n: usize) -> Option<(Claimed, Wanted)> {
        let n = n.checked_rem(self.claims.len())?;
        self.claims.get(n).cloned()
    }

    pub(super) fn rows_of(&self, event: EventId) -> Vec<Delivery> {
        let rows = self.rows.values().filter(|row| row.id.event == event);
        rows.cloned().collect()
    }

    /// Whether an event has been erased, completely or not.
    pub(super) fn is_erased(&self, event: EventId) -> bool {
        let published = self.events.get(&event);
        published.is_some_and(|one| one.state.erased_at().is_some())
    }

    /// Changes a row, with everything that follows.
    pub(super) fn change(&mut self, after: &Delivery, now: Timestamp) {
        let before = self.rows.insert(after.id, after.clone()).unwrap();
        self.follow(&before, after, now);
    }

    /// What follows from a change of a row: the same on every store.
    pub(super) fn follow(&mut self, before: &Delivery, after: &Delivery, now: Timestamp) {
        let webhook = after.id.webhook;
        let known = self.health_of(webhook).cloned().unwrap_or_default();
        let Effects {
            notifications,
            health,
            stats,
        } = effects(before, after, &known, now);
        self.told.extend(notifications);
        if let Some(health) = health {
            self.set_health(webhook, &health, now);
        }
        if let Some(delta) = stats {
            self.counter(webhook, now).add(delta);
        }
    }

    /// Changes the state of a webhook, if it exists.
    pub(super) fn set_health(&mut self, id: WebhookId, after: &Health, now: Timestamp) {
        let Some(Some(webhook)) = self.webhooks.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut webhook.health, after.clone());
        let notification = health_notification(&self.tenant, id, &before, after, now);
        self.told.extend(notification);
        if before.status != after.status {
            let both = [before.status, after.status];
            self.raise(if both.contains(&WebhookStatus::Disabled) {
                Raised::Yes
            } else {
                Raised::Perhaps
            });
        }
    }

    pub(super) fn raise(&mut self, raised: Raised) {
        self.version.raised = self.version.raised.max(raised);
    }

    pub(super) fn counter(&mut self, webhook: WebhookId, at: Timestamp) -> &mut HourlyStats {
        let (hour, counters) = (at.hour(), &mut self.counters);
        let empty = || HourlyStats::empty(webhook, hour);
        counters.entry((webhook, hour)).or_insert_with(empty)
    }
}

fn nth<K: Copy, V>(of: &BTreeMap<K, V>, n: usize) -> Option<K> {
    of.keys().nth(n.checked_rem(of.len())?).copied()
}
