//! The state of webhooks, and the version that shows whether a plan is still based on a tenant's current webhooks.

use std::sync::Arc;

use postrider_domain::health::{Health, StatusReason, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::notification::health_notification;
use postrider_domain::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::codec;
use super::fault::Fault;
use super::mail_outbox;
use super::rows;
use super::writer::Tx;

/// The columns that [`read`] reads, in order.
macro_rules! health_columns {
    () => {
        "status, failure_count, generation, reason, changed_at, last_failure, on_probation, tests, next_test_at, again"
    };
}
pub(super) use health_columns;

pub(super) const LOAD: &str = concat!(
    "SELECT ",
    health_columns!(),
    " FROM webhook_configs WHERE tenant = ?1 AND id = ?2"
);

/// The state of a webhook, or `None` if it was deleted.
pub(super) fn load(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    webhook: WebhookId,
) -> Result<Option<Arc<Health>>, Fault> {
    tx.memory.health(tenant, webhook, || {
        codec::first(
            &mut *tx.statement(LOAD)?,
            &[&tenant.as_str(), &webhook.to_string()],
            |row| read(row, 0),
        )
    })
}

/// The status of a webhook and the generation of its state, or `None` if it was deleted. Known even if the rest of its
/// state cannot be read.
pub(super) fn standing(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    webhook: WebhookId,
) -> Result<Option<(WebhookStatus, u32)>, Fault> {
    match load(tx, tenant, webhook) {
        Ok(health) => Ok(health.map(|health| (health.status, health.generation))),
        Err(fault) if fault.is_unreadable() => read_standing(tx.db(), tenant, webhook),
        Err(fault) => Err(fault),
    }
}

fn read_standing(
    db: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
) -> Result<Option<(WebhookStatus, u32)>, Fault> {
    codec::first(
        &mut *db.prepare_cached(LOAD)?,
        &[&tenant.as_str(), &webhook.to_string()],
        |row| Ok((read_status(row, 0)?, row.get(2)?)),
    )
}

/// The status of a webhook, or `None` if it was deleted.
pub(super) fn status(
    db: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
) -> Result<Option<WebhookStatus>, Fault> {
    Ok(read_standing(db, tenant, webhook)?.map(|(status, _)| status))
}

/// Reads a state whose columns begin at `first`.
pub(super) fn read(row: &Row<'_>, first: usize) -> Result<Health, Fault> {
    Ok(Health {
        status: read_status(row, first)?,
        failure_count: row.get(first + 1)?,
        generation: row.get(first + 2)?,
        reason: reason(row, first + 3)?,
        changed_at: codec::maybe_instant(row, first + 4)?,
        last_failure: codec::maybe_json(row, first + 5)?,
        on_probation: row.get(first + 6)?,
        probes: row.get(first + 7)?,
        next_probe_at: codec::maybe_instant(row, first + 8)?,
        again: row.get(first + 9)?,
    })
}

/// Stores a changed state and notifies about it.
pub(super) fn change(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    webhook: WebhookId,
    before: &Health,
    after: &Health,
    now: Timestamp,
) -> Result<(), Fault> {
    save(tx, tenant, webhook, before, after)?;
    tx.memory.forget();
    match health_notification(tenant, webhook, before, after, now) {
        Some(notification) => {
            rows::notify(tx, &notification)?;
            mail_outbox::file(tx, &notification)
        }
        None => Ok(()),
    }
}

/// Stores a changed state. A changed status changes what may be planned, so the version goes up; a change of the
/// failure count does not.
fn save(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    webhook: WebhookId,
    before: &Health,
    after: &Health,
) -> Result<(), Fault> {
    let last_failure = after
        .last_failure
        .as_ref()
        .map(codec::to_json)
        .transpose()?;
    tx.execute(
        "UPDATE webhook_configs SET status = ?3, failure_count = ?4, generation = ?5, reason = ?6, changed_at = ?7, \
         last_failure = ?8, on_probation = ?9, tests = ?10, next_test_at = ?11, again = ?12 WHERE tenant = ?1 AND id = ?2",
        params![
            tenant.as_str(),
            webhook.to_string(),
            after.status.as_str(),
            after.failure_count,
            after.generation,
            after.reason.as_ref().map(codec::to_json).transpose()?,
            after.changed_at.map(Timestamp::as_millis),
            last_failure,
            after.on_probation,
            after.probes,
            after.next_probe_at.map(Timestamp::as_millis),
            after.again,
        ],
    )?;
    if before.status != after.status {
        raise_version(tx, tenant)?;
    }
    Ok(())
}

pub(super) fn version(db: &Connection, tenant: &TenantId) -> Result<u64, Fault> {
    let mut statement =
        db.prepare_cached("SELECT config_version FROM tenants WHERE tenant = ?1")?;
    Ok(codec::first(&mut statement, &[&tenant.as_str()], |row| {
        codec::number(row, 0)
    })?
    .unwrap_or(0))
}

/// Makes every earlier plan outdated.
pub(super) fn raise_version(tx: &Tx<'_, '_>, tenant: &TenantId) -> Result<(), Fault> {
    tx.execute(
        "INSERT INTO tenants (tenant, config_version) VALUES (?1, 1) \
         ON CONFLICT (tenant) DO UPDATE SET config_version = config_version + 1, is_deleted = 0",
        [tenant.as_str()],
    )?;
    tx.memory.forget();
    Ok(())
}

fn read_status(row: &Row<'_>, column: usize) -> Result<WebhookStatus, Fault> {
    let name = row
        .get_ref(column)?
        .as_str()
        .map_err(|_| codec::unreadable(row, column))?;
    let status = WebhookStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == name);
    status.ok_or_else(|| codec::unreadable(row, column))
}

/// Earlier versions stored the text alone, which is not JSON.
fn reason(row: &Row<'_>, column: usize) -> Result<Option<StatusReason>, Fault> {
    let stored: Option<String> = row.get(column)?;
    Ok(stored.map(|text| serde_json::from_str(&text).unwrap_or(StatusReason::Text { text })))
}
