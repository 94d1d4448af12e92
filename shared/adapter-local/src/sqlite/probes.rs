//! Probes of failed webhooks.

use async_trait::async_trait;
use postrider_domain::health::{Health, PROBES_APART};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::probes::Probes;
use postrider_store_format::StoredWebhook;
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{SqliteStore, codec, health};

/// Failed webhooks whose next probe is due, whether or not their owners enabled probes; there are few.
pub(super) const DUE: &str = "SELECT tenant, id, settings FROM webhook_configs \
     WHERE next_test_at IS NOT NULL AND next_test_at <= ?1 ORDER BY next_test_at";

/// Those whose next probe was dated by a clock that ran ahead.
pub(super) const DUE_BEYOND: &str = "SELECT tenant, id, settings FROM webhook_configs \
     WHERE next_test_at IS NOT NULL AND next_test_at > ?1 ORDER BY next_test_at";

#[async_trait]
impl Probes for SqliteStore {
    async fn probes_due(&self, limit: usize, now: Timestamp) -> Result<Vec<(TenantId, WebhookId)>> {
        let mut due = self
            .readers
            .read(move |db| {
                let mut due = wanted(db, DUE, now)?;
                due.extend(wanted(db, DUE_BEYOND, now.plus(PROBES_APART))?);
                Ok(due)
            })
            .await?;
        due.truncate(limit);
        Ok(due)
    }

    async fn begin_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<Option<Health>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let testing = |health: &Health| health.probe_begun(now);
                tx.whole(|tx| alter(tx, &tenant, id, testing, now))
            })
            .await
    }

    async fn give_back_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        probes: u32,
        now: Timestamp,
    ) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let given_back = |health: &Health| health.probe_given_back(probes, now);
                tx.whole(|tx| alter(tx, &tenant, id, given_back, now))
            })
            .await?;
        Ok(())
    }

    async fn probe_passed(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        generation: u32,
        now: Timestamp,
    ) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let passed = |health: &Health| health.passed_probe(generation, now);
                tx.whole(|tx| alter(tx, &tenant, id, passed, now))
            })
            .await?;
        Ok(())
    }
}

fn wanted(
    db: &Connection,
    query: &str,
    at: Timestamp,
) -> std::result::Result<Vec<(TenantId, WebhookId)>, Fault> {
    let found = codec::all(&mut *db.prepare_cached(query)?, &[&at.as_millis()], |row| {
        let webhook: String = row.get(1)?;
        readable("webhooks", webhook, wants_probes(row))
    })?;
    Ok(found.into_iter().flatten().flatten().collect())
}

fn wants_probes(row: &Row<'_>) -> std::result::Result<Option<(TenantId, WebhookId)>, Fault> {
    let wants_probes = StoredWebhook::outline(&row.get::<_, String>(2)?)?.auto_resume;
    let webhook = (codec::text(row, 0)?, codec::text(row, 1)?);
    Ok(wants_probes.then_some(webhook))
}

/// Changes a webhook's state, if there is something to change.
fn alter(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    id: WebhookId,
    change: impl FnOnce(&Health) -> Option<Health>,
    now: Timestamp,
) -> std::result::Result<Option<Health>, Fault> {
    let Some(before) = health::load(tx, tenant, id)? else {
        return Ok(None);
    };
    let after = change(&before);
    if let Some(after) = &after {
        health::change(tx, tenant, id, &before, after, now)?;
    }
    Ok(after)
}
