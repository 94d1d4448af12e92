//! What the cases share: a store, a tenant, and shortcuts that bring rows to the state in which a case starts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, DeadCause, Delivery, Lane, Unclaimable};
use postrider_domain::event::Event;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::backlog::Stretch;
use postrider_ports::configs::Created;
use postrider_ports::deliveries::{Acceptance, Accepted, Applied, Claim, Seen, Wanted};
use postrider_ports::history::{Filter, Page};
use postrider_ports::notifications::StoredNotification;

use super::Handle;
use crate::builders::{self, NOW};

/// The length of a lease.
pub(super) const LEASE: Millis = Millis::from_seconds(20);

/// A store as used by one process for one tenant.
pub struct Scene {
    pub handle: Handle,
    pub tenant: TenantId,
    drawn: AtomicU32,
    claims: AtomicU64,
}

impl std::ops::Deref for Scene {
    type Target = dyn postrider_ports::Store;

    fn deref(&self) -> &Self::Target {
        &*self.handle.store
    }
}

impl Scene {
    /// For the default tenant.
    #[must_use]
    pub fn of(handle: Handle) -> Self {
        Self::of_tenant(handle, TenantId::DEFAULT)
    }

    /// For another tenant.
    #[must_use]
    pub fn of_tenant(handle: Handle, tenant: &str) -> Self {
        Self {
            handle,
            tenant: tenant.parse().unwrap(),
            drawn: AtomicU32::new(1),
            claims: AtomicU64::new(1),
        }
    }

    /// A number not used before in this scene.
    pub fn draw(&self) -> u32 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// A new active webhook.
    pub async fn webhook(&self) -> Webhook {
        let webhook = builders::webhook(&self.tenant, self.draw());
        assert_eq!(
            self.create_webhook(webhook.clone()).await,
            Ok(Created::Done)
        );
        webhook
    }

    pub async fn health(&self, id: WebhookId) -> Health {
        let webhook = self.handle.store.webhook(&self.tenant, id).await;
        webhook.unwrap().unwrap().health
    }

    /// Sets a webhook's status at [`NOW`].
    pub async fn set_status(&self, id: WebhookId, status: WebhookStatus) -> Option<Health> {
        let set = self.set_webhook_status(&self.tenant, id, status, NOW);
        set.await.unwrap()
    }

    /// The version of the tenant's webhooks.
    pub async fn version(&self) -> u64 {
        self.webhooks_version(&self.tenant).await.unwrap()
    }

    /// A new event, not stored.
    pub fn event(&self, at: Timestamp) -> Event {
        builders::event(&self.tenant, self.draw(), at)
    }

    /// Plans an event for webhooks, with the current version.
    pub async fn plan(&self, event: Event, webhooks: &[WebhookId]) -> Acceptance {
        builders::acceptance(event, webhooks, self.version().await)
    }

    pub async fn accept_one(&self, acceptance: Acceptance) -> Result<Accepted> {
        let mut results = self.accept(vec![acceptance]).await;
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    /// Accepts one that must be new.
    pub async fn accept_new(&self, acceptance: Acceptance) {
        let accepted = self.accept_one(acceptance).await;
        assert!(matches!(accepted, Ok(Accepted::New)), "{accepted:?}");
    }

    /// A stored row for a webhook, unclaimed and due at `at`.
    pub async fn row_at(&self, webhook: WebhookId, at: Timestamp) -> DeliveryId {
        let event = self.event(at);
        let id = DeliveryId {
            event: event.id,
            webhook,
        };
        let acceptance = self.plan(event, &[webhook]).await;
        self.accept_new(acceptance).await;
        id
    }

    /// A stored row for a webhook, unclaimed and due at [`NOW`].
    pub async fn row(&self, webhook: WebhookId) -> DeliveryId {
        self.row_at(webhook, NOW).await
    }

    pub async fn stored(&self, id: DeliveryId) -> Delivery {
        let found = self.delivery(&self.tenant, id).await;
        found.unwrap().expect("the row exists")
    }

    /// A claim with an owner that was not used before.
    pub fn wanted(&self, id: DeliveryId, now: Timestamp) -> Wanted {
        let claim = self.claims.fetch_add(1, Ordering::Relaxed);
        Wanted {
            tenant: self.tenant.clone(),
            id,
            lease: builders::lease(&self.handle.process, claim, now.plus(LEASE)),
            seen: Seen::default(),
        }
    }

    pub async fn claim_as(&self, wanted: Wanted, now: Timestamp) -> Claim {
        let mut results = self.handle.store.claim(vec![wanted], now).await;
        assert_eq!(results.len(), 1);
        results.remove(0).unwrap()
    }

    /// Claims with an owner that was not used before.
    pub async fn try_claim(&self, id: DeliveryId, now: Timestamp) -> Claim {
        self.claim_as(self.wanted(id, now), now).await
    }

    /// A claim that must succeed, by a message or by a drain.
    pub async fn claimed(&self, id: DeliveryId, now: Timestamp) -> Claimed {
        let claim = match self.try_claim(id, now).await {
            // Its webhook was resumed and is limited.
            Claim::Unclaimable(Unclaimable::InBacklog) => self.try_drain(id, now).await,
            claim => claim,
        };
        match claim {
            Claim::Claimed(delivery) => delivery.claimed,
            other => panic!("{other:?}"),
        }
    }

    /// The tenant's rows that queue messages are sent for, due before `to`.
    pub async fn backlog(&self, to: Timestamp) -> Vec<(Timestamp, DeliveryId)> {
        self.backlog_in_pages(to, 100).await
    }

    /// The same, read in pages of this size.
    pub async fn backlog_in_pages(
        &self,
        to: Timestamp,
        page: usize,
    ) -> Vec<(Timestamp, DeliveryId)> {
        let mut found = Vec::new();
        for shard in 0..self.shards() {
            for lane in [Lane::Queued, Lane::Waiting] {
                let stretch = Stretch {
                    shard,
                    lane,
                    from: Timestamp::ZERO,
                    to,
                };
                found.extend(self.stretch(stretch, page).await);
            }
        }
        found.sort();
        found
    }

    async fn stretch(&self, stretch: Stretch, page: usize) -> Vec<(Timestamp, DeliveryId)> {
        let (mut found, mut next) = (Vec::new(), None);
        loop {
            let rows = self.rows_between(stretch, page, next.as_ref()).await;
            let rows = rows.unwrap();
            assert!(rows.messages.len() <= page);
            let ours = rows
                .messages
                .into_iter()
                .filter(|message| message.tenant == self.tenant);
            found.extend(ours.map(|message| (message.next_retry_at, message.id)));
            match rows.next {
                Some(cursor) => next = Some(cursor),
                None => return found,
            }
        }
    }

    /// Writes the result of an attempt.
    pub async fn finish(
        &self,
        claimed: &Claimed,
        transition: Transition,
        now: Timestamp,
    ) -> Applied {
        let completion = builders::completion(claimed, transition, now);
        self.apply(claimed, completion, now).await.unwrap()
    }

    /// Claims a row and ends the attempt with `transition`.
    pub async fn attempt(
        &self,
        id: DeliveryId,
        transition: Transition,
        now: Timestamp,
    ) -> Delivery {
        let claimed = self.claimed(id, now).await;
        match self.finish(&claimed, transition, now).await {
            Applied::Done(row) => *row,
            Applied::Stale => panic!("no other process claims this row"),
        }
    }

    /// Ends the attempt of a new row with `transition`, seeing the webhook's current state.
    pub async fn outcome(&self, webhook: WebhookId, transition: Transition, at: Timestamp) {
        let id = self.row_at(webhook, at).await;
        let claimed = self.claimed(id, at).await;
        let mut completion = builders::completion(&claimed, transition, at);
        completion.generation = self.health(webhook).await.generation;
        let applied = self.apply(&claimed, completion, at).await;
        assert!(matches!(applied, Ok(Applied::Done(_))), "{applied:?}");
    }

    pub async fn delivered(&self, webhook: WebhookId) -> DeliveryId {
        let id = self.row(webhook).await;
        self.attempt(id, Transition::Deliver, NOW).await;
        id
    }

    /// A row whose first attempt failed; due a minute after [`NOW`].
    pub async fn failed(&self, webhook: WebhookId) -> DeliveryId {
        let id = self.row(webhook).await;
        self.attempt(id, retry_at(builders::after(60)), NOW).await;
        id
    }

    pub async fn dead(&self, webhook: WebhookId) -> DeliveryId {
        let id = self.row(webhook).await;
        self.attempt(id, die(DeadCause::Exhausted), NOW).await;
        id
    }

    /// The first page of a list.
    pub async fn page(&self, filter: &Filter, limit: usize) -> Page<Delivery> {
        self.list(&self.tenant, filter, limit, None).await.unwrap()
    }

    /// The whole list, in pages of `limit`.
    pub async fn all(&self, filter: &Filter, limit: usize) -> Vec<Delivery> {
        let mut page = self.page(filter, limit).await;
        let mut found = page.items;
        while let Some(cursor) = page.next {
            page = self
                .list(&self.tenant, filter, limit, Some(&cursor))
                .await
                .unwrap();
            assert!(page.items.len() <= limit);
            found.extend(page.items);
        }
        found
    }

    /// All notifications of the tenant.
    /// Without the gaps of a store that keeps notifications only for listeners.
    pub async fn notifications(&self) -> Vec<StoredNotification> {
        let stored = self.notifications_after(&self.tenant, 0, 10_000).await;
        let stored = stored.unwrap().into_iter();
        stored.filter(|one| one.kind != "gap").collect()
    }

    pub async fn notification_kinds(&self) -> Vec<String> {
        let notifications = self.notifications().await;
        notifications.into_iter().map(|one| one.kind).collect()
    }
}

/// Another attempt at `next_retry_at`.
#[must_use]
pub(super) const fn retry_at(next_retry_at: Timestamp) -> Transition {
    Transition::Retry { next_retry_at }
}

#[must_use]
pub(super) const fn die(cause: DeadCause) -> Transition {
    Transition::Die { cause }
}
