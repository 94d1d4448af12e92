//! Reads what is due now, and when the next row will be.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::schedule::{AgendaEntry, DueRow, Schedule, Turn};
use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::codec;
use super::fault::Fault;
use super::locks::Owners;

/// The next webhook with a free row after this one, and when its first row is due. Stepping from webhook to webhook
/// costs one lookup each, however many rows they have.
pub(super) const NEXT_AWAKE: &str = "SELECT tenant, webhook_id, wake_at FROM webhook_deliveries \
     WHERE (tenant, webhook_id) > (?1, ?2) AND wake_at IS NOT NULL ORDER BY tenant, webhook_id, wake_at LIMIT 1";

/// The next process that holds rows. Usually there is one: this one.
pub(super) const NEXT_PROCESS: &str = "SELECT lease_process FROM webhook_deliveries \
     WHERE lease_process > ?1 ORDER BY lease_process LIMIT 1";

/// The next webhook with rows held by a process, and when the first lease ends.
pub(super) const NEXT_HELD: &str = "SELECT tenant, webhook_id, lease_until FROM webhook_deliveries \
     WHERE lease_process = ?3 AND (tenant, webhook_id) > (?1, ?2) ORDER BY tenant, webhook_id, lease_until LIMIT 1";

/// When the first of the rows that a process holds for a webhook was due. Used for processes that are gone.
pub(super) const FIRST_VOID: &str = "SELECT min(next_retry_at) FROM webhook_deliveries \
     WHERE lease_process = ?1 AND tenant = ?2 AND webhook_id = ?3";

pub(super) const DUE: &str = "SELECT event_id, next_retry_at, attempts_total, paced FROM webhook_deliveries \
     WHERE tenant = ?1 AND webhook_id = ?2 AND wake_at <= ?3 ORDER BY wake_at LIMIT ?4";

/// Rows whose lease ended before `?4`.
pub(super) const DUE_HELD: &str = "SELECT event_id, next_retry_at, attempts_total, paced FROM webhook_deliveries \
     WHERE lease_process = ?1 AND tenant = ?2 AND webhook_id = ?3 AND lease_until < ?4 ORDER BY lease_until LIMIT ?5";

#[async_trait]
impl Schedule for SqliteStore {
    async fn agenda(&self, now: Timestamp) -> Result<Vec<AgendaEntry>> {
        let owners = Arc::clone(&self.owners);
        self.readers.read(move |db| agenda(db, &owners, now)).await
    }

    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<DueRow>> {
        let (owners, tenant) = (Arc::clone(&self.owners), tenant.clone());
        self.readers
            .read(move |db| due(db, &owners, &tenant, webhook, now, limit))
            .await
    }
}

type Entries = BTreeMap<(TenantId, WebhookId), Timestamp>;

fn agenda(
    db: &Connection,
    owners: &Owners,
    now: Timestamp,
) -> std::result::Result<Vec<AgendaEntry>, Fault> {
    let mut first = Entries::new();
    awake(db, |tenant, webhook, wake_at| {
        note(&mut first, tenant, webhook, wake_at);
        Ok(())
    })?;
    for process in processes(db)? {
        let gone = owners.is_gone(&process);
        step(
            db,
            NEXT_HELD,
            Some(&process),
            |tenant, webhook, lease_until| {
                // A lease is valid through its last millisecond.
                let free_at = if gone {
                    first_void(db, &process, &tenant, webhook, now)?
                } else {
                    lease_until.plus(Millis::new(1))
                };
                note(&mut first, tenant, webhook, free_at);
                Ok(())
            },
        )?;
    }
    Ok(first
        .into_iter()
        .map(|((tenant, webhook), due_at)| AgendaEntry {
            tenant,
            webhook,
            due_at,
        })
        .collect())
}

fn note(first: &mut Entries, tenant: TenantId, webhook: WebhookId, at: Timestamp) {
    first
        .entry((tenant, webhook))
        .and_modify(|earliest| *earliest = at.min(*earliest))
        .or_insert(at);
}

/// Visits every webhook with free open rows, with the due time of its first row.
pub(super) fn awake(
    db: &Connection,
    visit: impl FnMut(TenantId, WebhookId, Timestamp) -> std::result::Result<(), Fault>,
) -> std::result::Result<(), Fault> {
    step(db, NEXT_AWAKE, None, visit)
}

/// Visits every process that holds rows, with the webhooks they belong to.
pub(super) fn held(
    db: &Connection,
    mut visit: impl FnMut(&str, TenantId, WebhookId) -> std::result::Result<(), Fault>,
) -> std::result::Result<(), Fault> {
    for process in processes(db)? {
        step(db, NEXT_HELD, Some(&process), |tenant, webhook, _| {
            visit(&process, tenant, webhook)
        })?;
    }
    Ok(())
}

/// Visits the webhooks that `sql` steps through.
fn step(
    db: &Connection,
    sql: &str,
    process: Option<&str>,
    mut visit: impl FnMut(TenantId, WebhookId, Timestamp) -> std::result::Result<(), Fault>,
) -> std::result::Result<(), Fault> {
    let mut statement = db.prepare_cached(sql)?;
    let (mut tenant, mut webhook) = (String::new(), String::new());
    loop {
        let read = |row: &Row<'_>| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                codec::instant(row, 2)?,
            ))
        };
        let found = match process {
            Some(process) => codec::first(&mut statement, &[&tenant, &webhook, &process], read)?,
            None => codec::first(&mut statement, &[&tenant, &webhook], read)?,
        };
        let Some((next_tenant, next_webhook, at)) = found else {
            return Ok(());
        };
        (tenant, webhook) = (next_tenant, next_webhook);
        let unreadable = || Fault::Unreadable("column tenant or webhook_id".to_owned());
        visit(
            tenant.parse().map_err(|_| unreadable())?,
            webhook.parse().map_err(|_| unreadable())?,
            at,
        )?;
    }
}

fn processes(db: &Connection) -> std::result::Result<Vec<String>, Fault> {
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

fn first_void(
    db: &Connection,
    process: &str,
    tenant: &TenantId,
    webhook: WebhookId,
    now: Timestamp,
) -> std::result::Result<Timestamp, Fault> {
    let mut statement = db.prepare_cached(FIRST_VOID)?;
    let found = codec::first(
        &mut statement,
        &[&process, &tenant.as_str(), &webhook.to_string()],
        |row| codec::maybe_instant(row, 0),
    )?;
    Ok(found.flatten().unwrap_or(now))
}

fn due(
    db: &Connection,
    owners: &Owners,
    tenant: &TenantId,
    webhook: WebhookId,
    now: Timestamp,
    limit: usize,
) -> std::result::Result<Vec<DueRow>, Fault> {
    let read = |row: &Row<'_>| {
        Ok(DueRow {
            tenant: tenant.clone(),
            id: DeliveryId {
                event: codec::text(row, 0)?,
                webhook,
            },
            next_retry_at: codec::maybe_instant(row, 1)?.unwrap_or(now),
            is_retry: row.get::<_, u32>(2)? > 0,
            turn: Turn::of(row.get(3)?),
        })
    };
    let (name, id, at_most) = (tenant.as_str(), webhook.to_string(), codec::limit(limit));
    let mut found = codec::all(
        &mut *db.prepare_cached(DUE)?,
        &[&name, &id, &now.as_millis(), &at_most],
        read,
    )?;
    for process in processes(db)? {
        let ended = if owners.is_gone(&process) {
            i64::MAX
        } else {
            now.as_millis()
        };
        let mut statement = db.prepare_cached(DUE_HELD)?;
        let held = codec::all(
            &mut statement,
            &[&process, &name, &id, &ended, &at_most],
            read,
        )?;
        found.extend(held.into_iter().filter(|row| row.next_retry_at <= now));
    }
    found.sort_by_key(|row| row.next_retry_at);
    found.truncate(limit);
    Ok(found)
}
