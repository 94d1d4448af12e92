//! The paces of webhooks. A webhook that was never slowed down and never gave a turn has no row.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pace::{Asked, Given, Pace, Signal, Slowed};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::pace::Pacing;
use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec};

pub(super) const LOAD: &str = "SELECT free_at_us, rate_milli, halved_at, changed_at FROM pace \
     WHERE tenant = ?1 AND webhook_id = ?2";

#[async_trait]
impl Pacing for SqliteStore {
    async fn paces(&self, tenant: &TenantId, webhooks: &[WebhookId]) -> Result<Vec<Pace>> {
        let (tenant, webhooks) = (tenant.clone(), webhooks.to_vec());
        let all = move |db: &Connection| webhooks.iter().map(|id| load(db, &tenant, *id)).collect();
        self.readers.read(all).await
    }

    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asked: Asked,
        now: Timestamp,
    ) -> Result<Given> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| reserve(tx, &tenant, webhook, asked, now))
            .await
    }

    async fn report(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        signal: Signal,
        per_second: u32,
        now: Timestamp,
    ) -> Result<()> {
        let seen = self.paces(tenant, &[webhook]).await?;
        let changes = |pace: &Pace| pace.signalled(signal, per_second, now).is_some();
        if !seen.iter().any(changes) {
            return Ok(());
        }
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let pace = load(tx.db(), &tenant, webhook)?;
                match pace.signalled(signal, per_second, now) {
                    Some(after) => save(tx, &tenant, webhook, &after),
                    None => Ok(()),
                }
            })
            .await
    }
}

/// Takes turns and stores when the next one is free.
pub(super) fn reserve(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    asked: Asked,
    now: Timestamp,
) -> std::result::Result<Given, Fault> {
    let (given, after) = load(tx.db(), tenant, webhook)?.reserve(asked, now);
    if !given.turns.is_empty() {
        save(tx, tenant, webhook, &after)?;
    }
    Ok(given)
}

pub(super) fn load(
    db: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
) -> std::result::Result<Pace, Fault> {
    let found = codec::first(
        &mut *db.prepare_cached(LOAD)?,
        &[&tenant.as_str(), &webhook.to_string()],
        read,
    )?;
    Ok(found.unwrap_or_default())
}

fn read(row: &Row<'_>) -> std::result::Result<Pace, Fault> {
    let rate_milli: Option<u32> = row.get(1)?;
    let at = |column| codec::maybe_instant(row, column);
    let (halved_at, changed_at) = (at(2)?, at(3)?);
    Ok(Pace {
        free_at_us: row.get(0)?,
        slowed: rate_milli.map(|rate_milli| Slowed {
            rate_milli,
            halved_at: halved_at.unwrap_or_default(),
            changed_at: changed_at.unwrap_or_default(),
        }),
    })
}

fn save(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    pace: &Pace,
) -> std::result::Result<(), Fault> {
    tx.execute(
        "INSERT OR REPLACE INTO pace (tenant, webhook_id, free_at_us, rate_milli, halved_at, changed_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            tenant.as_str(),
            webhook.to_string(),
            pace.free_at_us,
            pace.slowed.map(|slowed| slowed.rate_milli),
            pace.slowed.map(|slowed| slowed.halved_at.as_millis()),
            pace.slowed.map(|slowed| slowed.changed_at.as_millis()),
        ],
    )?;
    Ok(())
}
