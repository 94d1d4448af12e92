//! What people and housekeeping do to rows.

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use postrider_domain::delivery::{Delivery, Force, Lane, Requeue};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::interventions::{Interventions, Requeued};
use postrider_ports::queue::Hint;

use super::DynamoStore;
use super::backlog::{due_between, hint};
use super::calls::{Order, Query, Table};
use super::chores::{Chore, Marker};
use super::keys::{self, Key};
use super::row;
use super::tables::Index;
use crate::fault;

/// How many shards, and rows, one call works on at once.
const AT_ONCE: usize = 16;

/// How often *Retry now* looks again when the row changed under it.
const TRIES: usize = 5;

/// After every row.
const END_OF_TIME: Timestamp = Timestamp::from_millis(i64::MAX);

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

    async fn release(&self, limit: usize, now: Timestamp) -> Result<Vec<Hint>> {
        self.mark_hourly(now).await?;
        let markers = self.markers(Chore::Release).await?;
        let webhooks = markers.iter().map(|one| (one.tenant.clone(), one.webhook));
        let states = self.states(webhooks.collect::<Vec<_>>()).await?;
        let mut freed = Vec::new();
        for marker in markers {
            let state = states.get(&(marker.tenant.clone(), marker.webhook));
            let parks = state.is_some_and(|state| state.health.status.parks());
            let found = if parks {
                0
            } else {
                let left = limit.saturating_sub(freed.len());
                self.free(&marker, left, now, &mut freed).await?
            };
            // One that parks again is marked anew when it is resumed.
            if found == 0 && marker.is_settled(now) {
                self.unmark(&marker).await?;
            }
        }
        Ok(freed)
    }

    async fn bury(&self, limit: usize, now: Timestamp) -> Result<usize> {
        let mut buried = 0;
        for marker in self.markers(Chore::Bury).await? {
            if buried < limit {
                buried += self.bury_some(marker, limit - buried, now).await?;
            }
        }
        Ok(buried)
    }
}

impl DynamoStore {
    /// Puts one row back, or says why not; none when somebody changed it meanwhile.
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
        after.parked = status.parks();
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

    /// Frees up to `limit` parked rows of a webhook, the longest due first. Returns how many the index still named.
    async fn free(
        &self,
        marker: &Marker,
        limit: usize,
        now: Timestamp,
        freed: &mut Vec<Hint>,
    ) -> Result<usize> {
        // One at least is looked for, so that a marker is not taken for done when the limit is used up.
        let shards = (0..self.shards).map(|shard| self.parked(marker, shard, limit.max(1)));
        let shards = stream::iter(shards.collect::<Vec<_>>()).buffered(AT_ONCE);
        let found: Vec<Vec<Hint>> = shards.try_collect().await?;
        // Ids of webhooks are unique, but nothing is staked on that: what another tenant parked is not ours.
        let mut hints: Vec<_> = found
            .into_iter()
            .flatten()
            .filter(|hint| hint.tenant == marker.tenant)
            .collect();
        hints.sort_by_key(|hint| (hint.next_retry_at, hint.id));
        let count = hints.len();
        hints.truncate(limit);
        let each: Vec<_> = hints
            .into_iter()
            .map(|hint| self.unpark(hint, now))
            .collect();
        let each = stream::iter(each).buffered(AT_ONCE);
        let unparked: Vec<Option<Hint>> = each.try_collect().await?;
        freed.extend(unparked.into_iter().flatten());
        Ok(count)
    }

    async fn parked(&self, marker: &Marker, shard: u16, limit: usize) -> Result<Vec<Hint>> {
        let lane = keys::lane(Lane::Parked, marker.webhook, shard);
        let query = Query {
            table: Table::Deliveries,
            index: Some(Index::Due),
            keys: due_between(&lane, Timestamp::ZERO, END_OF_TIME),
            order: Order::Ascending,
            limit: Some(limit),
            after: None,
        };
        self.query(query).await?.items.iter().map(hint).collect()
    }

    async fn unpark(&self, hint: Hint, now: Timestamp) -> Result<Option<Hint>> {
        let Some(row) = self.stored(&hint.tenant, hint.id).await? else {
            return Ok(None);
        };
        if !row.parked {
            // The index lags behind.
            return Ok(None);
        }
        let free = row.unpark();
        let change = row::replace(&free, self.around(now))?;
        let changed = self.change(change.only_if(row::unchanged(&row))).await?;
        Ok(changed.map(|_| Hint::of(&free)))
    }
}
