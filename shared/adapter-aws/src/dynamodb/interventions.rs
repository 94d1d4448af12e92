//! Changes to rows by operators and by housekeeping.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force, Requeue};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::interventions::{Added, Interventions, Requeued};

use super::DynamoStore;
use super::accept::Inserted;
use super::calls::Table;
use super::chores::Chore;
use super::event::Kept;
use super::keys::Key;
use super::row;
use crate::fault;

/// How many times *Retry now* starts over after the row changed under it.
const TRIES: usize = 5;

#[async_trait]
impl Interventions for DynamoStore {
    async fn requeue(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
        now: Timestamp,
    ) -> Result<Requeued> {
        for _ in 0..TRIES {
            if let Some(requeued) = self.try_requeue(tenant, id, force, now).await? {
                return Ok(requeued);
            }
        }
        Err(fault::contended("the row"))
    }

    async fn add_delivery(&self, row: Delivery) -> Result<Added> {
        let (tenant, event, now) = (&row.tenant, row.id.event, row.created_at);
        let kept = self.kept(tenant, event).await?;
        let is_stored = |kept: &Kept| kept.expires_at >= now && kept.erased_at.is_none();
        let Some(kept) = kept.filter(is_stored) else {
            return Ok(Added::EventMissing);
        };
        let needed_until = self.needed_until(&row);
        self.keep_event(tenant, event, needed_until, Some(kept.expires_at), now)
            .await?;
        Ok(match self.insert(&row, None).await? {
            (_, Inserted::Now) => Added::Done,
            (_, Inserted::Before) => Added::Exists,
        })
    }

    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let (mut ended, mut failed) = (0, None);
        for marker in self.markers(Chore::EndDeleted).await? {
            if ended < limit {
                match self.end_some_deliveries(marker, limit - ended, now).await {
                    Ok(more) => ended += more,
                    // One webhook does not hold up the others.
                    Err(error) => failed = Some(error),
                }
            }
        }
        // The caller goes on until nothing is ended, and then hears of it.
        failed.filter(|_| ended == 0).map_or(Ok(ended), Err)
    }
}

impl DynamoStore {
    /// Requeues one row, or returns why not; `None` if another writer changed it in the meantime.
    async fn try_requeue(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
        now: Timestamp,
    ) -> Result<Option<Requeued>> {
        let Some(row) = self.stored(tenant, id).await? else {
            return Ok(Some(Requeued::Missing));
        };
        match row.requeue(force, now) {
            Requeue::InFlight => return Ok(Some(Requeued::InFlight)),
            Requeue::Delivered => return Ok(Some(Requeued::Delivered)),
            Requeue::Pending => return Ok(Some(Requeued::Pending)),
            Requeue::Allowed => {}
        }
        let kept = self.kept(tenant, id.event).await?;
        if kept.as_ref().is_some_and(|kept| kept.erased_at.is_some()) {
            return Ok(Some(Requeued::Erased));
        }
        let state = self.state(tenant, id.webhook).await?;
        let status = match state.map(|state| state.health.status) {
            None | Some(WebhookStatus::Disabled) => return Ok(Some(Requeued::WebhookDisabled)),
            Some(
                status @ (WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused),
            ) => status,
        };
        let expires_at = kept.map(|kept| kept.expires_at);
        let mut after = row.requeued(now);
        after.in_backlog = status.is_stopped() || self.is_limited(tenant, id.webhook).await?;
        let change = self.replace_row(&after, expires_at, now).await?;
        let changed = self.change(change.only_if(row::unchanged(&row))).await?;
        Ok(changed.map(|_| Requeued::Done(Box::new(after))))
    }

    /// One row, strongly consistent.
    pub(super) async fn stored(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>> {
        let key = Key::delivery(tenant, id);
        let item = self.get(Table::Deliveries, &key).await?;
        item.map(row::delivery).transpose()
    }
}
