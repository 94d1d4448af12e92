//! Stores what comes from another gateway, and reads what only a move needs.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::Acceptance;
use postrider_ports::transfers::{Adopted, MovedDelivery, MovedEvent, Transfers};

use super::accept::{Gates, ROWS_AT_ONCE};
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
        let gates = self.gates(&moved.event.tenant, &rows).await?;
        let deliveries = moved.deliveries.iter();
        let puts: Vec<_> = deliveries
            .map(|delivery| self.adopt_row(delivery, &gates, now))
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
        };
        let stored_at = now.max(event.created_at);
        let rows = acceptance.rows.iter();
        let waiting = rows.filter(|row| row.status != Status::Delivered);
        let expires_at = self.new_event_expires_at(stored_at, waiting);
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

    /// Stores the details of the attempts, then the row that refers to them. Returns whether the row is new.
    async fn adopt_row(
        &self,
        delivery: &MovedDelivery,
        gates: &Gates,
        now: Timestamp,
    ) -> Result<bool> {
        let stored = Delivery {
            in_backlog: delivery.row.status.is_open() && gates.hold_back(&delivery.row),
            ..delivery.row.clone()
        };
        let mut item = row::item(&stored, self.around(now))?;
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
