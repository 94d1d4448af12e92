//! Reads what is due now, and when the next row will be.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::schedule::{AgendaEntry, AgendaPage, Ask, DueRow, DueRows, Schedule};
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::locks::Owners;
use super::unreadable::readable;
use super::{SqliteStore, codec, stepping};

/// When the first free row of a kind is due.
pub(super) const FIRST_AWAKE: &str = "SELECT wake_at FROM webhook_deliveries \
     WHERE tenant = ?1 AND webhook_id = ?2 AND is_retry = ?3 AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 1";

/// When the first of the rows that a process holds for a webhook was due. Used for processes that are gone.
pub(super) const FIRST_VOID: &str = "SELECT min(next_retry_at) FROM webhook_deliveries \
     WHERE lease_process = ?1 AND tenant = ?2 AND webhook_id = ?3";

/// The first free rows of a kind in a range of time.
pub(super) const FREE: &str = "SELECT event_id, next_retry_at, attempts_total FROM webhook_deliveries \
     WHERE tenant = ?1 AND webhook_id = ?2 AND is_retry = ?3 AND wake_at >= ?4 AND wake_at < ?5 \
     ORDER BY wake_at LIMIT ?6";

/// Rows of a kind in a range of time whose lease ended before `?4`.
pub(super) const DUE_HELD: &str = "SELECT event_id, next_retry_at, attempts_total FROM webhook_deliveries \
     WHERE lease_process = ?1 AND tenant = ?2 AND webhook_id = ?3 AND lease_until < ?4 AND is_retry = ?5 \
     AND next_retry_at >= ?6 AND next_retry_at < ?7 ORDER BY lease_until LIMIT ?8";

#[async_trait]
impl Schedule for SqliteStore {
    async fn agenda(
        &self,
        after: Option<&(TenantId, WebhookId)>,
        limit: usize,
        now: Timestamp,
    ) -> Result<AgendaPage> {
        let (owners, after) = (Arc::clone(&self.owners), after.cloned());
        self.readers
            .read(move |db| agenda(db, &owners, after.as_ref(), limit, now))
            .await
    }

    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asks: &[Ask],
        now: Timestamp,
    ) -> Result<Vec<DueRows>> {
        let (owners, tenant, asks) = (Arc::clone(&self.owners), tenant.clone(), asks.to_vec());
        self.readers
            .read(move |db| due(db, &owners, &tenant, webhook, &asks, now))
            .await
    }
}

type Entries = BTreeMap<(TenantId, WebhookId), Timestamp>;

pub(super) fn agenda(
    db: &Connection,
    owners: &Owners,
    after: Option<&(TenantId, WebhookId)>,
    limit: usize,
    now: Timestamp,
) -> std::result::Result<AgendaPage, Fault> {
    let mut first = Entries::new();
    let (mut left, mut last, mut next) = (limit, None, None);
    stepping::awake(db, after, |tenant, webhook| {
        if left == 0 {
            next = last.take();
            return Ok(ControlFlow::Break(()));
        }
        left -= 1;
        last = Some((tenant.clone(), webhook));
        if let Some(wake_at) = first_awake(db, &tenant, webhook)? {
            note(&mut first, tenant, webhook, wake_at);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if after.is_none() {
        stepping::held(db, |process, tenant, webhook, lease_until| {
            // A lease is valid through its last millisecond.
            let free_at = if owners.is_gone(process) {
                first_void(db, process, &tenant, webhook, now)?
            } else {
                lease_until.plus(Millis::new(1))
            };
            note(&mut first, tenant, webhook, free_at);
            Ok(())
        })?;
    }
    let entries = first
        .into_iter()
        .map(|((tenant, webhook), due_at)| AgendaEntry {
            tenant,
            webhook,
            due_at,
        });
    Ok(AgendaPage {
        entries: entries.collect(),
        next,
    })
}

fn note(first: &mut Entries, tenant: TenantId, webhook: WebhookId, at: Timestamp) {
    first
        .entry((tenant, webhook))
        .and_modify(|earliest| *earliest = at.min(*earliest))
        .or_insert(at);
}

fn first_awake(
    db: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
) -> std::result::Result<Option<Timestamp>, Fault> {
    let mut statement = db.prepare_cached(FIRST_AWAKE)?;
    let (name, id) = (tenant.as_str(), webhook.to_string());
    let mut first = None;
    for is_retry in [false, true] {
        let wake_at = codec::first(&mut statement, &[&name, &id, &is_retry], |row| {
            codec::instant(row, 0)
        })?;
        first = [first, wake_at].into_iter().flatten().min();
    }
    Ok(first)
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

pub(super) fn due(
    db: &Connection,
    owners: &Owners,
    tenant: &TenantId,
    webhook: WebhookId,
    asks: &[Ask],
    now: Timestamp,
) -> std::result::Result<Vec<DueRows>, Fault> {
    let processes = stepping::processes(db)?;
    let mut statement = db.prepare_cached(FREE)?;
    let (name, id) = (tenant.as_str(), webhook.to_string());
    let answer = |ask: &Ask| {
        let is_retry = ask.kind == AttemptKind::Retry;
        let (from, until) = (ask.from.as_millis(), ask.until.as_millis());
        // One more than asked for, to name the time of the next one.
        let at_most = codec::limit(ask.limit.saturating_add(1));
        let found = codec::all(
            &mut statement,
            &[&name, &id, &is_retry, &from, &until, &at_most],
            |row| readable("deliveries", webhook, read(row, tenant, webhook, now)),
        )?;
        let mut rows: Vec<_> = found.into_iter().flatten().collect();
        let mut held = Vec::new();
        for process in &processes {
            let ended_before = if owners.is_gone(process) {
                Timestamp::from_millis(i64::MAX)
            } else {
                now
            };
            held.extend(lapsed(
                db,
                process,
                ended_before,
                (tenant, webhook),
                ask,
                now,
            )?);
        }
        // Names of processes are random; what is due at the same time has an order that does not depend on them.
        held.sort_by_key(|row| row.id);
        rows.extend(held);
        Ok(first_due(rows, ask.limit, now))
    };
    asks.iter().map(answer).collect()
}

/// Up to `limit` due rows, and when the next one is due.
fn first_due(mut rows: Vec<DueRow>, limit: usize, now: Timestamp) -> DueRows {
    rows.sort_by_key(|row| row.next_retry_at);
    let due = rows.partition_point(|row| row.next_retry_at <= now);
    let next_at = rows.get(due.min(limit)).map(|row| row.next_retry_at);
    rows.truncate(due.min(limit));
    DueRows { rows, next_at }
}

/// Due rows of a process whose lease has ended.
fn lapsed(
    db: &Connection,
    process: &str,
    ended_before: Timestamp,
    (tenant, webhook): (&TenantId, WebhookId),
    ask: &Ask,
    now: Timestamp,
) -> std::result::Result<Vec<DueRow>, Fault> {
    let (is_retry, from) = (ask.kind == AttemptKind::Retry, ask.from.as_millis());
    let until = ask.until.min(now.plus(Millis::new(1))).as_millis();
    let found = codec::all(
        &mut *db.prepare_cached(DUE_HELD)?,
        &[
            &process,
            &tenant.as_str(),
            &webhook.to_string(),
            &ended_before.as_millis(),
            &is_retry,
            &from,
            &until,
            &codec::limit(ask.limit.saturating_add(1)),
        ],
        |row| readable("deliveries", webhook, read(row, tenant, webhook, now)),
    )?;
    Ok(found.into_iter().flatten().collect())
}

fn read(
    row: &Row<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    now: Timestamp,
) -> std::result::Result<DueRow, Fault> {
    Ok(DueRow {
        tenant: tenant.clone(),
        id: DeliveryId {
            event: codec::text(row, 0)?,
            webhook,
        },
        next_retry_at: codec::maybe_instant(row, 1)?.unwrap_or(now),
        is_retry: row.get::<_, u32>(2)? > 0,
    })
}
