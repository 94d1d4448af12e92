//! What operators and housekeeping do with rows and webhooks.

use postrider_domain::delivery::{Delivery, Force, Requeue};
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::notification::update_notification;
use postrider_domain::time::Millis;
use postrider_domain::webhook::Webhook;
use postrider_ports::configs::{Changed, WebhookChange};
use postrider_ports::drains::Postponed;
use postrider_ports::interventions::Requeued;
use proptest::prelude::*;

use super::Model;
use super::command::Plan;
use super::tenancy::{Raised, Tenancy};
use crate::builders;
use crate::store_suite::WaitingRows;

impl Model<'_> {
    /// Reads the version of the webhooks. It goes up with each change that affects plans, and otherwise only with a status.
    pub(super) async fn look_at_version(&mut self) -> Result<u64, TestCaseError> {
        let version = self.store().webhooks_version(&self.ours.tenant).await;
        let version = version.unwrap();
        let last = std::mem::take(&mut self.ours.version);
        self.ours.version.seen = version;
        let is_right = match last.raised {
            Raised::No => version == last.seen,
            Raised::Perhaps => version >= last.seen,
            Raised::Yes => version > last.seen,
        };
        prop_assert!(is_right, "version {} after {:?}", version, last);
        Ok(version)
    }

    pub(super) async fn requeue(&mut self, row: usize, force: bool) -> Result<(), TestCaseError> {
        let Some(id) = self.ours.row_at(row) else {
            return Ok(());
        };
        let force = if force { Force::Delivered } else { Force::No };
        let expected = [(); 2].map(|()| self.expected_requeue(id, force));
        let (tenant, now) = (&self.ours.tenant, self.now);
        let requeue = async || self.store().requeue(tenant, id, force, now).await;
        self.expect(expected, requeue).await
    }

    /// What *Retry now* does to the row; again, what it finds when it is repeated.
    fn expected_requeue(&mut self, id: DeliveryId, force: Force) -> Requeued {
        let before = self.row(id).unwrap();
        let allowed = before.requeue(force, self.now);
        match (allowed, self.ours.status_of(id.webhook)) {
            (Requeue::InFlight, _) => Requeued::InFlight,
            (Requeue::Delivered, _) => Requeued::Delivered,
            (Requeue::Pending, _) => Requeued::Pending,
            (Requeue::Allowed, _) if self.ours.is_erased(id.event) => Requeued::Erased,
            (Requeue::Allowed, None | Some(WebhookStatus::Disabled)) => Requeued::WebhookDisabled,
            (
                Requeue::Allowed,
                Some(WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused),
            ) => {
                let mut after = before.requeued(self.now);
                after.in_backlog = self.holds_back(id.webhook);
                self.ours.change(&after, self.now);
                Requeued::Done(Box::new(after))
            }
        }
    }

    pub(super) async fn set_status(
        &mut self,
        webhook: usize,
        status: WebhookStatus,
    ) -> Result<(), TestCaseError> {
        let id = self.ours.webhook_at(webhook);
        let before = self.ours.health_of(id);
        if let Some(before) = before.filter(|health| health.status != status) {
            let after = before.set(status, self.now);
            self.ours.set_health(id, &after, self.now);
            if status == WebhookStatus::Active {
                self.ours.limited.insert(id);
            }
        }
        let expected = self.ours.health_of(id).cloned();
        let tenant = &self.ours.tenant;
        let set = async || {
            let store = self.store();
            store.set_webhook_status(tenant, id, status, self.now).await
        };
        prop_assert_eq!(self.call(set).await.said, Ok(expected));
        Ok(())
    }

    pub(super) async fn change_settings(
        &mut self,
        webhook: usize,
        plan: Plan,
    ) -> Result<(), TestCaseError> {
        let id = self.ours.webhook_at(webhook);
        self.drawn += 1;
        let known = self.ours.webhooks[&id].clone();
        let exists = known.is_some();
        let known = known.unwrap_or_else(|| builders::webhook(&self.ours.tenant, 0));
        let mut seen = known.updated_at;
        if plan == Plan::Outdated {
            seen = seen.minus(Millis::new(1));
        }
        let mut settings = known.settings.clone();
        settings.name = format!("change {}", self.drawn);
        let change = WebhookChange {
            seen,
            settings,
            secrets: known.secrets.clone(),
            updated_at: self.now.max(known.updated_at.plus(Millis::new(1))),
        };
        let expected = match plan {
            _ if !exists => Changed::Missing,
            Plan::Outdated => Changed::Outdated,
            Plan::Current => {
                let at = change.updated_at;
                let health = &known.health;
                let notification = update_notification(&self.ours.tenant, id, health, at);
                self.ours.told.push(notification);
                self.ours.raise(Raised::Yes);
                let changed = Webhook {
                    settings: change.settings.clone(),
                    updated_at: at,
                    ..known
                };
                self.ours.webhooks.insert(id, Some(changed));
                Changed::Done
            }
        };
        let tenant = &self.ours.tenant;
        let again = match expected {
            Changed::Done | Changed::Outdated => Changed::Outdated,
            Changed::Missing => Changed::Missing,
        };
        let change = async || {
            let store = self.store();
            store.change_webhook(tenant, id, change.clone()).await
        };
        self.expect([expected, again], change).await
    }

    pub(super) async fn delete(&mut self, webhook: usize) -> Result<(), TestCaseError> {
        let id = self.ours.webhook_at(webhook);
        let was_there = self.ours.webhooks.insert(id, None).flatten().is_some();
        if was_there {
            self.ours.raise(Raised::Yes);
        }
        let tenant = &self.ours.tenant;
        let delete = async || self.store().delete_webhook(tenant, id, self.now).await;
        self.expect([was_there, false], delete).await
    }

    /// Whether a row that is written now goes to the backlog of its webhook.
    fn holds_back(&self, webhook: WebhookId) -> bool {
        let status = self.ours.status_of(webhook);
        let stops = status.is_some_and(WebhookStatus::is_stopped);
        let marks = self.handle().waiting_rows == WaitingRows::InBacklog;
        marks && (stops || self.ours.limited.contains(&webhook))
    }

    pub(super) async fn move_to_backlog(&mut self, row: usize) -> Result<(), TestCaseError> {
        let Some(id) = self.ours.row_at(row) else {
            return Ok(());
        };
        let before = self.row(id).unwrap();
        let is_free = before.status.is_open() && !before.in_backlog && !before.is_held(self.now);
        if is_free && self.handle().waiting_rows == WaitingRows::InBacklog {
            self.ours.change(&before.moved_to_backlog(), self.now);
        }
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let register = async || store.register_backlog(tenant, id.webhook, self.now).await;
        prop_assert_eq!(self.call(register).await.said, Ok(()));
        let row = Postponed {
            tenant: tenant.clone(),
            id,
            kind: AttemptKind::of(&before),
            next_retry_at: before.next_retry_at.unwrap_or(before.created_at),
        };
        let moving = async || {
            let moved = store.move_to_backlog(vec![row.clone()], self.now);
            moved.await.remove(0)
        };
        prop_assert_eq!(self.call(moving).await.said, Ok(()));
        // A store that is too busy leaves the row where it is, without an error.
        prop_assert_eq!(moving().await, Ok(()));
        Ok(())
    }

    /// Ends free rows of deleted webhooks, of all tenants. A store with marks walks through them once in ten minutes, so when it
    /// ends one depends on its earlier walks.
    pub(super) async fn end_deleted(
        &mut self,
        webhook: usize,
        limit: usize,
    ) -> Result<(), TestCaseError> {
        self.delete(webhook).await?;
        if self.handle().waiting_rows == WaitingRows::InBacklog {
            return Ok(());
        }
        while self.end_some(limit).await? > 0 {}
        for _ in 0..2 {
            let now = self.now;
            for row in self.rows_to_end() {
                self.ours.change(&row.webhook_deleted(), now);
            }
            self.turn_to_other_tenant();
        }
        Ok(())
    }

    async fn end_some(&self, limit: usize) -> Result<usize, TestCaseError> {
        let (store, now) = (self.store(), self.now);
        let end = async || store.end_deliveries_of_deleted_webhooks(limit, now).await;
        let ended = self.call(end).await.said;
        ended.map_err(|error| TestCaseError::fail(error.to_string()))
    }

    /// Those that a process holds are ended when it has given them back: their leases may be renewed.
    fn rows_to_end(&self) -> Vec<Delivery> {
        let Tenancy { rows, .. } = &self.ours;
        let rows = rows.keys().filter_map(|id| self.row(*id));
        let is_free = |row: &Delivery| {
            let is_deleted = self.ours.status_of(row.id.webhook).is_none();
            is_deleted && row.status.is_open() && row.lease_owner.is_none()
        };
        rows.filter(is_free).collect()
    }
}
