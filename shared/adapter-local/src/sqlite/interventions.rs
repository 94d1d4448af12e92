//! What people and housekeeping do to rows.

use async_trait::async_trait;
use postrider_domain::delivery::{Force, Requeue, Retention};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::interventions::{Interventions, Requeued};
use rusqlite::Row;

use super::codec;
use super::expire::Expiry;
use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, health, rows};

/// The next webhook with parked rows after this one.
pub(super) const NEXT_PARKED: &str = "SELECT tenant, webhook_id FROM webhook_deliveries \
     WHERE parked = 1 AND (tenant, webhook_id) > (?1, ?2) ORDER BY tenant, webhook_id LIMIT 1";

/// A webhook's parked rows, the longest due first.
pub(super) const PARKED_OF: &str = "SELECT event_id FROM webhook_deliveries \
     WHERE parked = 1 AND tenant = ?1 AND webhook_id = ?2 ORDER BY next_retry_at LIMIT ?3";

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

    async fn release(&self, limit: usize, _now: Timestamp) -> Result<usize> {
        // Each row is one write, and one that was freed is not found again: no savepoint is needed.
        self.writer.write(move |tx| release(tx, limit)).await
    }

    async fn expire(&self, retention: Retention, limit: usize, now: Timestamp) -> Result<usize> {
        let expiry = std::sync::Arc::clone(&self.expiry);
        self.writer
            .write(move |tx| {
                let mut stored = expiry.lock();
                // A slice that fails is taken again from where it began.
                let mut walk: Expiry = stored.clone();
                let removed = tx.whole(|tx| walk.slice(tx, retention, limit, now))?;
                *stored = walk;
                Ok(removed)
            })
            .await
    }
}

fn requeue(
    tx: &mut Tx<'_>,
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
    let status = match health::status(tx, tenant, id.webhook)? {
        None | Some(WebhookStatus::Disabled) => return Ok(Requeued::WebhookDisabled),
        Some(status @ (WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused)) => {
            status
        }
    };
    let mut after = stored.row.requeued(now);
    after.parked = status.parks();
    rows::change(tx, stored.at, &stored.row, &after, now)?;
    Ok(Requeued::Done(Box::new(after)))
}

fn release(tx: &Tx<'_>, limit: usize) -> std::result::Result<usize, Fault> {
    let mut freed = 0;
    let (mut tenant, mut webhook) = (String::new(), String::new());
    while freed < limit {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let Some(next) =
            codec::first(&mut *tx.statement(NEXT_PARKED)?, &[&tenant, &webhook], read)?
        else {
            break;
        };
        (tenant, webhook) = next;
        let unreadable = || Fault::Unreadable("column tenant or webhook_id".to_owned());
        let of: TenantId = tenant.parse().map_err(|_| unreadable())?;
        let id: WebhookId = webhook.parse().map_err(|_| unreadable())?;
        if health::status(tx, &of, id)?.is_none_or(|status| !status.parks()) {
            freed += free(tx, &of, id, limit - freed)?;
        }
    }
    Ok(freed)
}

fn free(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    limit: usize,
) -> std::result::Result<usize, Fault> {
    let at_most = codec::limit(limit);
    let ids = codec::all(
        &mut *tx.statement(PARKED_OF)?,
        &[&tenant.as_str(), &webhook.to_string(), &at_most],
        |row| {
            Ok(DeliveryId {
                event: codec::text(row, 0)?,
                webhook,
            })
        },
    )?;
    for id in &ids {
        if let Some(stored) = rows::find(tx.db(), tenant, *id)? {
            rows::save(tx, stored.at, &stored.row.unpark())?;
        }
    }
    Ok(ids.len())
}
