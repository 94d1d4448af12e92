//! Steps through the webhooks that have free or held rows, by their indexes. A step costs one lookup, however many rows a
//! webhook has.

use std::ops::ControlFlow;

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use rusqlite::{Connection, Row};

use super::codec;
use super::fault::Fault;
use super::unreadable::readable;

/// The next webhook of a tenant with a free row. Two queries, because `(tenant, webhook_id) > (?1, ?2)` would read every row
/// of the webhook that it starts from. Without a hint, SQLite takes the index of all rows, closed ones included.
pub(super) const NEXT_AWAKE: &str = "SELECT tenant, webhook_id FROM webhook_deliveries \
     INDEXED BY deliveries_wake WHERE tenant = ?1 AND webhook_id > ?2 AND wake_at IS NOT NULL ORDER BY webhook_id LIMIT 1";

/// The first webhook with a free row of the next tenant.
pub(super) const NEXT_TENANT_AWAKE: &str = "SELECT tenant, webhook_id FROM webhook_deliveries \
     INDEXED BY deliveries_wake WHERE tenant > ?1 AND wake_at IS NOT NULL ORDER BY tenant, webhook_id LIMIT 1";

/// The next process that holds rows. Usually there is one: this one.
pub(super) const NEXT_PROCESS: &str = "SELECT lease_process FROM webhook_deliveries \
     WHERE lease_process > ?1 ORDER BY lease_process LIMIT 1";

/// The next webhook of a tenant with rows held by a process, and when the first lease ends.
pub(super) const NEXT_HELD: &str = "SELECT tenant, webhook_id, lease_until FROM webhook_deliveries \
     WHERE lease_process = ?3 AND tenant = ?1 AND webhook_id > ?2 ORDER BY webhook_id, lease_until LIMIT 1";

/// The first webhook with rows held by a process of the next tenant.
pub(super) const NEXT_TENANT_HELD: &str = "SELECT tenant, webhook_id, lease_until FROM webhook_deliveries \
     WHERE lease_process = ?2 AND tenant > ?1 ORDER BY tenant, webhook_id, lease_until LIMIT 1";

/// Visits the webhooks with free open rows, starting after the given one.
pub(super) fn awake(
    db: &Connection,
    after: Option<&(TenantId, WebhookId)>,
    mut visit: impl FnMut(TenantId, WebhookId) -> Result<ControlFlow<()>, Fault>,
) -> Result<(), Fault> {
    let mut next_webhook = db.prepare_cached(NEXT_AWAKE)?;
    let mut next_tenant = db.prepare_cached(NEXT_TENANT_AWAKE)?;
    let (mut tenant, mut webhook) = match after {
        Some((tenant, webhook)) => (tenant.to_string(), webhook.to_string()),
        None => (String::new(), String::new()),
    };
    loop {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let next = match codec::first(&mut next_webhook, &[&tenant, &webhook], read)? {
            Some(next) => Some(next),
            None => codec::first(&mut next_tenant, &[&tenant], read)?,
        };
        let Some(next) = next else {
            return Ok(());
        };
        (tenant, webhook) = next;
        let Some(key) = readable("deliveries", &webhook, parse(&tenant, &webhook))? else {
            continue;
        };
        if visit(key.0, key.1)?.is_break() {
            return Ok(());
        }
    }
}

/// Visits the processes that hold rows, with the webhooks they belong to and the end of the first lease.
pub(super) fn held(
    db: &Connection,
    mut visit: impl FnMut(&str, TenantId, WebhookId, Timestamp) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for process in processes(db)? {
        let mut next_held = db.prepare_cached(NEXT_HELD)?;
        let mut next_tenant = db.prepare_cached(NEXT_TENANT_HELD)?;
        let (mut tenant, mut webhook) = (String::new(), String::new());
        loop {
            let read = |row: &Row<'_>| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    codec::instant(row, 2)?,
                ))
            };
            let found = match codec::first(&mut next_held, &[&tenant, &webhook, &process], read)? {
                Some(found) => Some(found),
                None => codec::first(&mut next_tenant, &[&tenant, &process], read)?,
            };
            let Some((found_tenant, found_webhook, lease_until)) = found else {
                break;
            };
            (tenant, webhook) = (found_tenant, found_webhook);
            if let Some(key) = readable("deliveries", &webhook, parse(&tenant, &webhook))? {
                visit(&process, key.0, key.1, lease_until)?;
            }
        }
    }
    Ok(())
}

/// The processes that hold rows.
pub(super) fn processes(db: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = db.prepare_cached(NEXT_PROCESS)?;
    let mut found: Vec<String> = Vec::new();
    loop {
        let last = found.last().map_or("", String::as_str);
        match codec::first(&mut statement, &[&last], |row| Ok(row.get(0)?))? {
            Some(next) => found.push(next),
            None => return Ok(found),
        }
    }
}

fn parse(tenant: &str, webhook: &str) -> Result<(TenantId, WebhookId), Fault> {
    let unreadable = || Fault::Unreadable("column tenant or webhook_id".to_owned());
    Ok((
        tenant.parse().map_err(|_| unreadable())?,
        webhook.parse().map_err(|_| unreadable())?,
    ))
}
