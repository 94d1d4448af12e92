//! Changes to rows by operators and by housekeeping.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force, Requeue};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::interventions::{Interventions, Requeued};
use postrider_ports::queue::AttemptMessage;

use super::DynamoStore;
use super::calls::Table;
use super::chores::Chore;
use super::keys::Key;
use super::release::Room;
use super::row;
use crate::fault;

const MINUTE_MS: i64 = 60_000;
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

    async fn release(
        &self,
        limit: usize,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<AttemptMessage>> {
        self.mark_hourly(now).await?;
        let mut markers = self.markers(Chore::Release).await?;
        // Another webhook goes first each minute: one with more rows to free than fit in a slice must not hold up the
        // others.
        let minutes = usize::try_from(now.as_millis() / MINUTE_MS).unwrap_or(0);
        let first = minutes.checked_rem(markers.len()).unwrap_or(0);
        markers.rotate_left(first);
        let webhooks = markers.iter().map(|one| (one.tenant.clone(), one.webhook));
        let states = self.states(webhooks.collect::<Vec<_>>()).await?;
        let (mut freed, mut trouble) = (Vec::new(), None);
        for marker in markers {
            let state = states.get(&(marker.tenant.clone(), marker.webhook));
            let room = Room {
                limit: limit.saturating_sub(freed.len()),
                until,
            };
            let webhook = (&marker.tenant, marker.webhook);
            let found = self.free(webhook, state, room, now, &mut freed).await;
            // An error of one webhook must not block those behind it.
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(event = "store.release_failed", webhook_id = %marker.webhook, %error, "deliveries on hold could not be released");
                    trouble = Some(error);
                    continue;
                }
            };
            // A webhook that parks rows again is marked again when it is resumed.
            if found == 0 && marker.is_settled(now) {
                let unmarked = self.unmark(&marker).await;
                trouble = unmarked.err().or(trouble);
            }
        }
        match trouble {
            Some(error) if freed.is_empty() => Err(error),
            Some(_) | None => Ok(freed),
        }
    }

    async fn release_webhook(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        limit: usize,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<AttemptMessage>> {
        let state = self.state(tenant, webhook).await?;
        let (room, mut freed) = (Room { limit, until }, Vec::new());
        let freeing = self.free((tenant, webhook), state.as_ref(), room, now, &mut freed);
        match freeing.await {
            Err(error) if freed.is_empty() => Err(error),
            Ok(_) | Err(_) => Ok(freed),
        }
    }

    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let mut ended = 0;
        for marker in self.markers(Chore::EndDeleted).await? {
            if ended < limit {
                ended += self.end_some_deliveries(marker, limit - ended, now).await?;
            }
        }
        Ok(ended)
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
        let state = self.state(tenant, id.webhook).await?;
        let status = match state.map(|state| state.health.status) {
            None | Some(WebhookStatus::Disabled) => return Ok(Some(Requeued::WebhookDisabled)),
            Some(
                status @ (WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused),
            ) => status,
        };
        let mut after = row.requeued(now);
        after.parked = status.parks() || self.is_limited(tenant, id.webhook).await?;
        let expires_at = self.retention.expires_at(&after);
        self.keep_event(tenant, id.event, row.created_at, expires_at)
            .await?;
        let change = row::replace(&after, self.around(now))?;
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
