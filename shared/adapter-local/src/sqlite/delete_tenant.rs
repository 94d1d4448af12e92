//! Deletes what a tenant has, slice by slice.

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_ports::erasures::DeletedSettings;
use postrider_ports::history::Cursor;
use postrider_ports::{Error, Result as PortResult};
use rusqlite::params;

use super::fault::Fault;
use super::writer::Tx;
use super::{codec, configs, health, rejected};

pub(super) const WEBHOOKS: &str = "SELECT id FROM webhook_configs WHERE tenant = ?1 LIMIT ?2";
pub(super) const SOURCES: &str = "SELECT id FROM sources WHERE tenant = ?1 LIMIT ?2";

/// Events are not indexed by tenant, so all of them are walked in the order of their `rowid`. Only those without deliveries
/// are left when this runs.
pub(super) const EVENTS: &str = "DELETE FROM events WHERE id > ?2 AND id <= ?3 AND tenant = ?1 \
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE event = events.id)";
pub(super) const LAST_EVENT: &str = "SELECT coalesce(max(id), 0) FROM events";

/// The newest notification is emptied and not deleted: the next sequence number follows from it.
pub(super) const NOTIFICATIONS: &str = "UPDATE outbox SET tenant = '', kind = '', event = '' \
     WHERE seq > ?2 AND seq <= ?3 AND tenant = ?1";
pub(super) const LAST_NOTIFICATION: &str = "SELECT coalesce(max(seq), 0) FROM outbox";

/// The tables in which a tenant's rows are found by an index. `?2` is how many of each one call deletes.
pub(super) const INDEXED: [&str; 9] = [
    "DELETE FROM stats WHERE tenant = ?1 AND (webhook_id, hour) IN \
     (SELECT webhook_id, hour FROM stats WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM jobs WHERE tenant = ?1 AND id IN (SELECT id FROM jobs WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM erasures WHERE tenant = ?1 AND id IN (SELECT id FROM erasures WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM letters WHERE id IN (SELECT id FROM letters WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM deleted_webhooks WHERE tenant = ?1 AND webhook_id IN \
     (SELECT webhook_id FROM deleted_webhooks WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM ended_sessions WHERE tenant = ?1 AND id IN (SELECT id FROM ended_sessions WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM refused WHERE id IN (SELECT id FROM refused WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM refused_tallies WHERE tenant = ?1 AND source_id IN \
     (SELECT source_id FROM refused_tallies WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM event_types WHERE tenant = ?1 AND name IN (SELECT name FROM event_types WHERE tenant = ?1 LIMIT ?2)",
];

/// Few exist at a time: a link is valid for a day at most.
const PORTAL_LINKS: &str = "DELETE FROM portal_links WHERE json_extract(link, '$.tenant') = ?1";

/// Deletes up to `limit` settings.
pub(super) fn settings(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    limit: usize,
) -> Result<DeletedSettings, Fault> {
    let mut deleted = DeletedSettings::default();
    let of = params![tenant.as_str()];
    deleted.keys = tx.execute("DELETE FROM api_keys WHERE tenant = ?1", of)? as u64;
    for id in ids(tx, WEBHOOKS, tenant, limit)? {
        // By its text: an id that cannot be read must not stay.
        match id.parse::<WebhookId>() {
            Ok(id) => drop(configs::delete(tx, tenant, id)?),
            Err(_) => drop(tx.execute(
                "DELETE FROM webhook_configs WHERE tenant = ?1 AND id = ?2",
                params![tenant.as_str(), id],
            )?),
        }
        deleted.webhooks += 1;
    }
    for id in ids(tx, SOURCES, tenant, limit)? {
        if let Ok(id) = id.parse() {
            rejected::forget_source(tx, tenant, id)?;
        }
        let key = params![tenant.as_str(), id];
        tx.execute("DELETE FROM sources WHERE tenant = ?1 AND id = ?2", key)?;
        deleted.sources += 1;
    }
    let [.., event_types] = INDEXED;
    let some = params![tenant.as_str(), codec::limit(limit)];
    deleted.event_types = tx.execute(event_types, some)? as u64;
    tx.execute(PORTAL_LINKS, [tenant.as_str()])?;
    Ok(deleted)
}

fn ids(tx: &Tx<'_, '_>, sql: &str, tenant: &TenantId, limit: usize) -> Result<Vec<String>, Fault> {
    let of: [&dyn rusqlite::ToSql; 2] = [&tenant.as_str(), &codec::limit(limit)];
    codec::all(&mut *tx.statement(sql)?, &of, |row| Ok(row.get(0)?))
}

/// What is deleted next.
enum Part {
    /// Events after this `rowid`.
    Events(i64),
    /// Notifications after this number.
    Notifications(i64),
    Indexed,
}

impl Part {
    fn read(cursor: Option<&Cursor>) -> PortResult<Self> {
        let Some(Cursor(text)) = cursor else {
            return Ok(Self::Events(0));
        };
        let after = |text: &str| text.parse().map_err(|_| Error::InvalidCursor);
        match text.split_once(' ') {
            Some(("events", id)) => after(id).map(Self::Events),
            Some(("notifications", seq)) => after(seq).map(Self::Notifications),
            Some(_) => Err(Error::InvalidCursor),
            None => Ok(Self::Indexed),
        }
    }

    fn cursor(&self) -> Cursor {
        Cursor(match self {
            Self::Events(id) => format!("events {id}"),
            Self::Notifications(seq) => format!("notifications {seq}"),
            Self::Indexed => "indexed".to_owned(),
        })
    }
}

/// Deletes a part of the rest, and returns where to continue.
pub(super) fn rest(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Option<Cursor>, Fault> {
    let next = match Part::read(after).map_err(Fault::Port)? {
        Part::Events(after) => {
            let next = window(tx, [EVENTS, LAST_EVENT], tenant, after, limit)?;
            Some(next.map_or(Part::Notifications(0), Part::Events))
        }
        Part::Notifications(after) => {
            let sql = [NOTIFICATIONS, LAST_NOTIFICATION];
            let next = window(tx, sql, tenant, after, limit)?;
            Some(next.map_or(Part::Indexed, Part::Notifications))
        }
        Part::Indexed => indexed(tx, tenant, limit)?.then_some(Part::Indexed),
    };
    Ok(next.map(|part| part.cursor()))
}

/// Changes a window of a table that has no index by tenant, and returns its end; `None` at the end of the table.
fn window(
    tx: &Tx<'_, '_>,
    [change, last]: [&'static str; 2],
    tenant: &TenantId,
    after: i64,
    limit: usize,
) -> Result<Option<i64>, Fault> {
    let until = after.saturating_add(codec::limit(limit));
    tx.execute(change, params![tenant.as_str(), after, until])?;
    let last: i64 = tx.statement(last)?.query_row([], |row| row.get(0))?;
    Ok((until < last).then_some(until))
}

/// Returns whether there is more.
fn indexed(tx: &Tx<'_, '_>, tenant: &TenantId, limit: usize) -> Result<bool, Fault> {
    let mut more = false;
    for sql in INDEXED {
        let deleted = tx.execute(sql, params![tenant.as_str(), codec::limit(limit)])?;
        more |= deleted == limit;
    }
    Ok(more)
}

/// The tenant does not exist from now on.
pub(super) fn forget(tx: &Tx<'_, '_>, tenant: &TenantId) -> Result<(), Fault> {
    health::raise_version(tx, tenant)?;
    let of = [tenant.as_str()];
    tx.execute("UPDATE tenants SET is_deleted = 1 WHERE tenant = ?1", of)?;
    tx.execute("DELETE FROM tenant_records WHERE tenant = ?1", of)?;
    Ok(())
}
