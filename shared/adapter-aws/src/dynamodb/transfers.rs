//! Stores what comes from another gateway, and reads what only a move needs.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Acceptance, EventIdFrom};
use postrider_ports::transfers::{Adopted, MovedDelivery, MovedEvent, Transfers};

use super::accept::ROWS_AT_ONCE;
use super::calls::Table;
use super::{DynamoStore, event, packed, row};
use crate::fault;

#[async_trait]
impl Transfers for DynamoStore {
    async fn tenants(&self) -> Result<Vec<TenantId>> {
        let mut tenants: BTreeSet<_> = self.listed_tenants().await?.into_iter().collect();
        tenants.insert(TenantId::default());
        Ok(tenants.into_iter().collect())
    }

    async fn event_with_hash(
        &self,
        tenant: &TenantId,
        id: EventId,
    ) -> Result<Option<(Arc<Event>, RequestHash)>> {
        let Some(kept) = self.kept(tenant, id).await? else {
            return Ok(None);
        };
        let request_hash = kept.request_hash;
        let event = self.with_body(kept).await?;
        Ok(event.map(|event| (event, request_hash)))
    }

    async fn adopt_event(&self, moved: MovedEvent, now: Timestamp) -> Result<Adopted> {
        if !self.adopt_without_rows(&moved, now).await? {
            return Ok(Adopted::Conflict);
        }
        let rows: Vec<&Delivery> = moved.deliveries.iter().map(|one| &one.row).collect();
        let waiting = self.webhooks_that_wait(&rows).await?;
        let deliveries = moved.deliveries.iter();
        let puts: Vec<_> = deliveries
            .map(|delivery| self.adopt_row(delivery, &waiting, now))
            .collect();
        // Wait for all of them: a write that is dropped half-way may still take effect later.
        let puts = stream::iter(puts).buffered(ROWS_AT_ONCE);
        let puts: Vec<Result<bool>> = puts.collect().await;
        let mut new = Vec::new();
        for (row, is_new) in rows.iter().zip(puts) {
            if is_new? {
                new.push(row.id);
            }
        }
        Ok(Adopted::Done { new })
    }
}

impl DynamoStore {
    /// Stores the event itself. Returns whether it is the stored one.
    async fn adopt_without_rows(&self, moved: &MovedEvent, now: Timestamp) -> Result<bool> {
        let event = &moved.event;
        let acceptance = Acceptance {
            event: Arc::clone(event),
            request_hash: moved.request_hash,
            rows: moved.deliveries.iter().map(|one| one.row.clone()).collect(),
            config_version: 0,
            event_id: EventIdFrom::Key,
        };
        let stored_at = now.max(event.created_at);
        let rows = acceptance.rows.iter();
        let waiting = rows.filter(|row| row.status != Status::Delivered);
        let expires_at = self.new_event_expires_at(event, stored_at, waiting);
        let body = self.store_body(event, now).await?;
        let item = event::adopted_item(&acceptance, body, expires_at)?;
        let absent = event::absent(now);
        if self.put(Table::Deliveries, item, Some(absent)).await? {
            return Ok(true);
        }
        let kept = self.kept(&event.tenant, event.id).await?;
        let kept = kept.ok_or_else(|| fault::contended("the event"))?;
        Ok(kept.request_hash == moved.request_hash)
    }

    /// The webhooks of these rows that are stopped or limited.
    async fn webhooks_that_wait(&self, rows: &[&Delivery]) -> Result<HashSet<WebhookId>> {
        let webhook = |row: &&Delivery| (row.tenant.clone(), row.id.webhook);
        let webhooks: BTreeSet<_> = rows.iter().map(webhook).collect();
        let webhooks: Vec<_> = webhooks.into_iter().collect();
        let mut waiting = HashSet::new();
        for ((_, webhook), flow) in webhooks.iter().zip(self.read_flows(&webhooks).await?) {
            let waits = flow?.is_some_and(|flow| flow.status.is_stopped() || flow.is_limited());
            waiting.extend(waits.then_some(*webhook));
        }
        Ok(waiting)
    }

    /// Stores the details of the attempts, then the row that refers to them. Returns whether the row is new.
    async fn adopt_row(
        &self,
        delivery: &MovedDelivery,
        waiting: &HashSet<WebhookId>,
        now: Timestamp,
    ) -> Result<bool> {
        let row = &delivery.row;
        let stored = Delivery {
            in_backlog: row.status.is_open() && waiting.contains(&row.id.webhook),
            ..row.clone()
        };
        let mut item = row::item(&stored, self.around(&stored, now))?;
        let skipped = delivery
            .attempts
            .len()
            .saturating_sub(packed::KEPT as usize);
        for attempt in delivery.attempts.iter().skip(skipped) {
            self.record(&stored, attempt).await?;
            item.insert(packed::slot(attempt.number), packed::pack(attempt));
        }
        let absent = event::absent(now);
        self.put(Table::Deliveries, item, Some(absent)).await
    }
}
