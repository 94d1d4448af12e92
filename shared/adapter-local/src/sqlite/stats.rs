//! Hourly counters.

use std::collections::BTreeMap;

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::stats::{KEPT_FOR, StatsDelta};
use postrider_domain::time::Timestamp;
use postrider_ports::history::HourlyStats;
use rusqlite::{Connection, Row, params};

use super::codec;
use super::fault::Fault;
use super::memory::Memory;
use super::unreadable::readable;
use super::writer::Tx;

/// What one change adds to the counters of a webhook and hour.
pub(super) struct CountedStats {
    pub(super) tenant: TenantId,
    pub(super) webhook: WebhookId,
    pub(super) hour: Timestamp,
    pub(super) more: More,
}

pub(super) enum More {
    /// A delivery changed.
    Changed(StatsDelta),
    /// An event was published whose first delivery is to this webhook.
    Published { bytes: u64 },
}

pub(super) const HOUR: &str = "SELECT webhook_id, hour, delivered, dead, attempts, retried, retries, latency, \
     published, bytes FROM stats WHERE tenant = ?1 AND webhook_id = ?2 AND hour >= ?3 AND hour < ?4";

/// The first webhook with counters after this one; steps from webhook to webhook without reading their hours.
pub(super) const NEXT_WEBHOOK: &str = "SELECT webhook_id FROM stats WHERE tenant = ?1 AND webhook_id > ?2 ORDER BY webhook_id LIMIT 1";

/// The same across all tenants.
pub(super) const NEXT_COUNTED: &str = "SELECT tenant, webhook_id FROM stats \
     WHERE (tenant, webhook_id) > (?1, ?2) ORDER BY tenant, webhook_id LIMIT 1";

pub(super) const FORGET: &str =
    "DELETE FROM stats WHERE tenant = ?1 AND webhook_id = ?2 AND hour < ?3";

/// Deletes old counters webhook by webhook: an index by hour would be written on every commit.
pub(super) fn forget(tx: &Tx<'_, '_>, now: Timestamp) -> Result<(), Fault> {
    let before = now.minus(KEPT_FOR).as_millis();
    let mut last = (String::new(), String::new());
    while let Some(next) = next_counted(tx, &last)? {
        tx.execute(FORGET, params![next.0, next.1, before])?;
        last = next;
    }
    Ok(())
}

fn next_counted(
    tx: &Tx<'_, '_>,
    (tenant, webhook): &(String, String),
) -> Result<Option<(String, String)>, Fault> {
    codec::first(
        &mut *tx.statement(NEXT_COUNTED)?,
        &[tenant, webhook],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Adds everything that a transaction counted.
pub(super) fn add_up(
    db: &Connection,
    memory: &Memory,
    counted: &[CountedStats],
) -> Result<(), Fault> {
    let mut sums: BTreeMap<(&TenantId, WebhookId, Timestamp), Vec<&More>> = BTreeMap::new();
    for one in counted {
        sums.entry((&one.tenant, one.webhook, one.hour))
            .or_default()
            .push(&one.more);
    }
    for ((tenant, webhook, hour), counted) in sums {
        let mut stats = match memory.take_stats(tenant, webhook, hour) {
            Some(stats) => stats,
            None => stored(db, tenant, webhook, hour)?,
        };
        for more in counted {
            match more {
                More::Changed(delta) => stats.add(*delta),
                More::Published { bytes } => stats.publish(*bytes),
            }
        }
        save(db, tenant, &stats)?;
        memory.keep_stats(tenant, stats);
    }
    Ok(())
}

/// Counters that cannot be read start again: they must not fail the work that is committed with them.
fn stored(
    db: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
    hour: Timestamp,
) -> Result<HourlyStats, Fault> {
    let next_hour = Timestamp::from_millis(hour.as_millis().saturating_add(1));
    let found = hours(db, tenant, webhook, hour, next_hour)?;
    let empty = || HourlyStats::empty(webhook, hour);
    Ok(found.into_iter().next().unwrap_or_else(empty))
}

/// The counters of one webhook for the hours from `from` to before `to`. Those that cannot be read are left out.
pub(super) fn hours(
    db: &Connection,
    tenant: &TenantId,
    webhook: WebhookId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<HourlyStats>, Fault> {
    let mut statement = db.prepare_cached(HOUR)?;
    let (from, to) = (from.as_millis(), to.as_millis());
    let found = codec::all(
        &mut statement,
        &[&tenant.as_str(), &webhook.to_string(), &from, &to],
        |row| readable("stats", webhook, read(row)),
    )?;
    Ok(found.into_iter().flatten().collect())
}

/// Every webhook of the tenant that has counters.
pub(super) fn webhooks(db: &Connection, tenant: &TenantId) -> Result<Vec<WebhookId>, Fault> {
    let mut statement = db.prepare_cached(NEXT_WEBHOOK)?;
    let (mut found, mut last) = (Vec::new(), String::new());
    while let Some((next, webhook)) =
        codec::first(&mut statement, &[&tenant.as_str(), &last], |row| {
            let next: String = row.get(0)?;
            let webhook = readable("stats", &next, codec::text::<WebhookId>(row, 0))?;
            Ok((next, webhook))
        })?
    {
        found.extend(webhook);
        last = next;
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<HourlyStats, Fault> {
    Ok(HourlyStats {
        webhook: codec::text(row, 0)?,
        hour: codec::instant(row, 1)?,
        delivered: codec::number(row, 2)?,
        dead: codec::number(row, 3)?,
        attempts: codec::number(row, 4)?,
        retried: codec::number(row, 5)?,
        retries: codec::number(row, 6)?,
        latency: codec::json(row, 7)?,
        published: codec::number(row, 8)?,
        bytes: codec::number(row, 9)?,
    })
}

fn save(db: &Connection, tenant: &TenantId, stats: &HourlyStats) -> Result<(), Fault> {
    let mut statement = db.prepare_cached(
        "INSERT OR REPLACE INTO stats (tenant, webhook_id, hour, delivered, dead, attempts, retried, retries, latency, \
         published, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    statement.execute(params![
        tenant.as_str(),
        stats.webhook.to_string(),
        stats.hour.as_millis(),
        stats.delivered.cast_signed(),
        stats.dead.cast_signed(),
        stats.attempts.cast_signed(),
        stats.retried.cast_signed(),
        stats.retries.cast_signed(),
        codec::to_json(&stats.latency)?,
        stats.published.cast_signed(),
        stats.bytes.cast_signed(),
    ])?;
    Ok(())
}
