//! Ends the open rows of deleted webhooks. Which webhooks were deleted is written down, so that the sweep does not look for
//! them among all webhooks.

use postrider_domain::delivery::{DeadCause, Delivery};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use rusqlite::{Connection, params};

use super::codec::{self, Stored};
use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{rows, stepping};

pub(super) const ANY: &str = "SELECT EXISTS (SELECT 1 FROM deleted_webhooks)";

pub(super) const NEXT: &str = "SELECT tenant, webhook_id FROM deleted_webhooks AS d \
     WHERE (tenant, webhook_id) > (?1, ?2) AND NOT EXISTS \
     (SELECT 1 FROM webhook_configs AS w WHERE w.tenant = d.tenant AND w.id = d.webhook_id) \
     ORDER BY tenant, webhook_id LIMIT 1";

/// Free rows of a webhook, due or not.
pub(super) const FREE: &str = "SELECT id FROM webhook_deliveries \
     WHERE tenant = ?1 AND webhook_id = ?2 AND wake_at IS NOT NULL LIMIT ?3";

pub(super) const HELD: &str = "SELECT id FROM webhook_deliveries \
     WHERE lease_process = ?1 AND tenant = ?2 AND webhook_id = ?3 LIMIT ?4";

pub(super) static ONE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    format!(
        "SELECT {}, tenant FROM webhook_deliveries WHERE id = ?1",
        codec::DELIVERY
    )
});

const FORGET: &str = "DELETE FROM deleted_webhooks WHERE tenant = ?1 AND webhook_id = ?2";

/// What [`Delivery::webhook_deleted`] does, for a row that cannot be read.
const END_UNREADABLE: &str = "UPDATE webhook_deliveries SET status = 'dead', dead_cause = ?2, next_retry_at = NULL, \
     lease_process = NULL, lease_claim = NULL, lease_until = 0, version = version + 1 WHERE id = ?1";

/// Notes that a webhook was deleted. Its rows are ended later, in slices.
pub(super) fn note(tx: &Tx<'_, '_>, tenant: &TenantId, webhook: WebhookId) -> Result<(), Fault> {
    tx.execute(
        "INSERT OR IGNORE INTO deleted_webhooks (tenant, webhook_id) VALUES (?1, ?2)",
        params![tenant.as_str(), webhook.to_string()],
    )?;
    Ok(())
}

pub(super) fn is_any(db: &Connection) -> Result<bool, Fault> {
    Ok(db.prepare_cached(ANY)?.query_row([], |row| row.get(0))?)
}

/// Ends up to `limit` rows that nothing attempts, and returns how many. A webhook is forgotten when none is left, free or
/// held: the result of an attempt may free one.
pub(super) fn end_deliveries(
    tx: &mut Tx<'_, '_>,
    limit: usize,
    now: Timestamp,
) -> Result<usize, Fault> {
    let mut ended = 0;
    let mut last = (String::new(), String::new());
    while ended < limit {
        let next = codec::first(&mut *tx.statement(NEXT)?, &[&last.0, &last.1], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let Some((tenant, webhook)) = next else { break };
        let open = open_rows(tx, &tenant, &webhook, limit - ended)?;
        for at in &open.to_end {
            end(tx, *at, now)?;
        }
        ended += open.to_end.len();
        if ended < limit && open.attempted == 0 {
            tx.execute(FORGET, params![tenant, webhook])?;
        }
        last = (tenant, webhook);
    }
    Ok(ended)
}

struct OpenRows {
    /// Free rows, and those whose holder is gone.
    to_end: Vec<i64>,
    attempted: usize,
}

fn open_rows(
    tx: &Tx<'_, '_>,
    tenant: &str,
    webhook: &str,
    limit: usize,
) -> Result<OpenRows, Fault> {
    let id = |row: &rusqlite::Row<'_>| Ok(row.get(0)?);
    let at_most = codec::limit(limit);
    let mut to_end = codec::all(
        &mut *tx.statement(FREE)?,
        &[&tenant, &webhook, &at_most],
        id,
    )?;
    let mut attempted = 0;
    for process in stepping::processes(tx.db())? {
        let of = [
            &process as &dyn rusqlite::ToSql,
            &tenant,
            &webhook,
            &at_most,
        ];
        let held = codec::all(&mut *tx.statement(HELD)?, &of, id)?;
        if tx.owners.is_gone(&process) {
            to_end.extend(held);
        } else {
            attempted += held.len();
        }
    }
    to_end.truncate(limit);
    Ok(OpenRows { to_end, attempted })
}

fn end(tx: &mut Tx<'_, '_>, at: i64, now: Timestamp) -> Result<(), Fault> {
    let found = codec::first(&mut *tx.statement(&ONE)?, &[&at], |row| {
        let tenant = codec::text(row, 24)?;
        codec::delivery(row, &tenant)
    });
    match readable("deliveries", at, found)? {
        Some(Some(stored)) => {
            let Stored { row: before, .. } = rows::without_void_lease(tx, stored);
            let dead: Delivery = before.webhook_deleted();
            rows::change(tx, at, &before, &dead, now)
        }
        Some(None) => Ok(()),
        // Otherwise it would be read, and logged, by every sweep.
        None => {
            let cause = DeadCause::WebhookDeleted.as_str();
            tx.execute(END_UNREADABLE, params![at, cause]).map(drop)
        }
    }
}
