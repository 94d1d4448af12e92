//! Changes to rows by operators and by housekeeping.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Force, Requeue};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::interventions::{Added, Interventions, Requeued};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, accept, codec, deleted, erase, health, rows};

#[async_trait]
impl Interventions for SqliteStore {
    async fn requeue(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
        now: Timestamp,
    ) -> Result<Requeued> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| requeue(tx, &tenant, id, force, now)))
            .await
    }

    async fn add_delivery(&self, row: Delivery) -> Result<Added> {
        self.writer
            .write(move |tx| tx.whole(|tx| add_delivery(tx, &row)))
            .await
    }

    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        if !self.readers.read(deleted::is_any).await? {
            return Ok(0);
        }
        self.writer
            .write(move |tx| tx.whole(|tx| deleted::end_deliveries(tx, limit, now)))
            .await
    }
}

fn requeue(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    id: DeliveryId,
    force: Force,
    now: Timestamp,
) -> std::result::Result<Requeued, Fault> {
    let Some(stored) = rows::load(tx, tenant, id)? else {
        return Ok(Requeued::Missing);
    };
    match stored.row.requeue(force, now) {
        Requeue::InFlight => return Ok(Requeued::InFlight),
        Requeue::Delivered => return Ok(Requeued::Delivered),
        Requeue::Pending => return Ok(Requeued::Pending),
        Requeue::Allowed => {}
    }
    if erase::erased_at(tx.db(), tenant, id.event)?.is_some() {
        return Ok(Requeued::Erased);
    }
    match health::status(tx.db(), tenant, id.webhook)? {
        None | Some(WebhookStatus::Disabled) => return Ok(Requeued::WebhookDisabled),
        Some(WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused) => {}
    }
    let after = stored.row.requeued(now);
    rows::change(tx, stored.at, &stored.row, &after, now)?;
    Ok(Requeued::Done(Box::new(after)))
}

fn add_delivery(tx: &mut Tx<'_, '_>, row: &Delivery) -> std::result::Result<Added, Fault> {
    if erase::erased_at(tx.db(), &row.tenant, row.id.event)?.is_some() {
        return Ok(Added::EventMissing);
    }
    let event_id = row.id.event.to_string();
    let Some(event) = accept::place_of(tx, &event_id, &row.tenant)? else {
        return Ok(Added::EventMissing);
    };
    if rows::load(tx, &row.tenant, row.id)?.is_some() {
        return Ok(Added::Exists);
    }
    codec::insert(tx, event, &event_id, row)?;
    Ok(Added::Done)
}
