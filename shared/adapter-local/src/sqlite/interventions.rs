//! Changes to rows by operators and by housekeeping.

use std::ops::ControlFlow;

use async_trait::async_trait;
use postrider_domain::delivery::{Force, Requeue};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::interventions::{Interventions, Requeued};
use rusqlite::Connection;

use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{SqliteStore, codec, health, rows, stepping};

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

    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let deleted_webhooks = self.readers.read(deleted_webhooks).await?;
        if deleted_webhooks.is_empty() {
            return Ok(0);
        }
        self.writer
            .write(move |tx| {
                tx.whole(|tx| end_deliveries_of_deleted_webhooks(tx, &deleted_webhooks, limit, now))
            })
            .await
    }
}

/// Free rows of a webhook, due or not.
pub(super) const FREE_OF_WEBHOOK: &str = "SELECT event_id FROM webhook_deliveries \
     WHERE tenant = ?1 AND webhook_id = ?2 AND wake_at IS NOT NULL LIMIT ?3";

type DeletedWebhooks = Vec<(TenantId, WebhookId)>;

/// Deleted webhooks that still have free open rows.
fn deleted_webhooks(db: &Connection) -> std::result::Result<DeletedWebhooks, Fault> {
    let mut found = DeletedWebhooks::new();
    stepping::awake(db, None, |tenant, webhook| {
        if health::status(db, &tenant, webhook)?.is_none() {
            found.push((tenant, webhook));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn end_deliveries_of_deleted_webhooks(
    tx: &mut Tx<'_>,
    deleted_webhooks: &DeletedWebhooks,
    limit: usize,
    now: Timestamp,
) -> std::result::Result<usize, Fault> {
    let mut ended = 0;
    for (tenant, webhook) in deleted_webhooks {
        let at_most = codec::limit(limit - ended);
        let ids = codec::all(
            &mut *tx.statement(FREE_OF_WEBHOOK)?,
            &[&tenant.as_str(), &webhook.to_string(), &at_most],
            |row| {
                Ok(DeliveryId {
                    event: codec::text(row, 0)?,
                    webhook: *webhook,
                })
            },
        )?;
        for id in ids {
            let stored = readable("deliveries", id, rows::load(tx, tenant, id))?;
            if let Some(stored) = stored.flatten()
                && health::status(tx.db(), tenant, *webhook)?.is_none()
            {
                let dead = stored.row.webhook_deleted();
                rows::change(tx, stored.at, &stored.row, &dead, now)?;
                ended += 1;
            }
        }
    }
    Ok(ended)
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
    match health::status(tx.db(), tenant, id.webhook)? {
        None | Some(WebhookStatus::Disabled) => return Ok(Requeued::WebhookDisabled),
        Some(WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused) => {}
    }
    let mut after = stored.row.requeued(now);
    after.in_backlog = false;
    rows::change(tx, stored.at, &stored.row, &after, now)?;
    Ok(Requeued::Done(Box::new(after)))
}
