//! Erases the content of one event, or deletes the event.

use postrider_domain::delivery::{DeadCause, Delivery};
use postrider_domain::event::RequestHash;
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::erasures::EventErased;
use rusqlite::{Connection, params};

use super::codec::{self, Stored};
use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{accept, deleted, rows};

/// The hash of the request would confirm a guess of the body. This one is that of a source's request, which a repeated one
/// has as well; no other request has it.
const ERASE_EVENT: &str = "UPDATE events SET payload = x'', session_id = NULL, request_hash = ?2, \
     erased_at = coalesce(erased_at, ?3) WHERE id = ?1";

pub(super) const ROWS: &str = "SELECT id FROM webhook_deliveries WHERE event = ?1";

const ERASE_LABELS: &str = "UPDATE webhook_deliveries SET session_id = NULL, intent = NULL \
     WHERE id = ?1 AND (session_id IS NOT NULL OR intent IS NOT NULL)";

const ERASE_ATTEMPTS: &str =
    "UPDATE attempts SET error = NULL, response_body = NULL WHERE delivery = ?1";

/// What [`Delivery::erased`] does, for a row that cannot be read.
const ERASE_UNREADABLE: &str = "UPDATE webhook_deliveries SET status = 'dead', dead_cause = ?2, next_retry_at = NULL, \
     target_url = '', signature = '', error_detail = NULL, lease_process = NULL, lease_claim = NULL, lease_until = 0, \
     version = version + 1 WHERE id = ?1";

const DELETE_ROW: &str = "DELETE FROM webhook_deliveries WHERE id = ?1";

const DELETE_EVENT: &str = "DELETE FROM events WHERE id = ?1";

pub(super) const ERASED_AT: &str =
    "SELECT erased_at FROM events WHERE event_id = ?1 AND tenant = ?2";

pub(super) const SECURE_DELETE: &str = "secure_delete";

/// What is removed from a page that is written anyway is always overwritten, so that no earlier version of a text is left in
/// it. <https://www.sqlite.org/pragma.html#pragma_secure_delete>
pub(super) const AS_USUAL: &str = "FAST";

/// Runs a change that overwrites everything it removes with zeros. Not for every change, because it also writes pages that
/// are only freed, such as those of a large payload.
pub(super) fn overwriting<T>(
    tx: &mut Tx<'_, '_>,
    change: impl FnOnce(&mut Tx<'_, '_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    tx.db().pragma_update(None, SECURE_DELETE, "ON")?;
    let changed = change(tx);
    tx.db().pragma_update(None, SECURE_DELETE, AS_USUAL)?;
    changed
}

pub(super) fn erased_at(
    db: &Connection,
    tenant: &TenantId,
    id: EventId,
) -> Result<Option<Timestamp>, Fault> {
    let found = codec::first(
        &mut *db.prepare_cached(ERASED_AT)?,
        &[&id.to_string(), &tenant.as_str()],
        |row| codec::maybe_instant(row, 0),
    )?;
    Ok(found.flatten())
}

/// Erases an event and those of its rows that are not being attempted.
pub(super) fn erase(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    id: EventId,
    now: Timestamp,
) -> Result<EventErased, Fault> {
    let Some(event) = accept::place_of(tx, &id.to_string(), tenant)? else {
        return Ok(EventErased::Missing);
    };
    let hash = RequestHash::of_id(id);
    tx.execute(ERASE_EVENT, params![event, hash.0, now.as_millis()])?;
    let rows = rows_of(tx, event)?;
    let (deliveries, mut in_flight) = (rows.len() as u64, false);
    for (at, row) in rows {
        match row {
            Some(row) if row.is_held(now) => in_flight = true,
            Some(row) => erase_row(tx, at, &row, now)?,
            None => {
                let cause = DeadCause::Erased.as_str();
                tx.execute(ERASE_UNREADABLE, params![at, cause])?;
                erase_texts(tx, at)?;
            }
        }
    }
    Ok(if in_flight {
        EventErased::InFlight
    } else {
        EventErased::Done { deliveries }
    })
}

/// Deletes an event with its rows, unless one is being attempted.
pub(super) fn delete(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    id: EventId,
    now: Timestamp,
) -> Result<EventErased, Fault> {
    let Some(event) = accept::place_of(tx, &id.to_string(), tenant)? else {
        return Ok(EventErased::Missing);
    };
    let rows = rows_of(tx, event)?;
    let mut known = rows.iter().filter_map(|(_, row)| row.as_ref());
    if known.any(|row| row.is_held(now)) {
        return Ok(EventErased::InFlight);
    }
    let deliveries = rows.len() as u64;
    for (at, row) in rows {
        if let Some(row) = row.filter(|row| row.status.is_open()) {
            rows::follow(tx, &row, &row.webhook_deleted(), now)?;
        }
        // The attempts are deleted with the row.
        tx.execute(DELETE_ROW, [at])?;
    }
    tx.execute(DELETE_EVENT, [event])?;
    Ok(EventErased::Done { deliveries })
}

/// The rows of an event with their places; `None` stands for one that cannot be read.
fn rows_of(tx: &mut Tx<'_, '_>, event: i64) -> Result<Vec<(i64, Option<Delivery>)>, Fault> {
    let places: Vec<i64> = codec::all(&mut *tx.statement(ROWS)?, &[&event], |row| Ok(row.get(0)?))?;
    let mut rows = Vec::with_capacity(places.len());
    for at in places {
        let found = codec::first(&mut *tx.statement(&deleted::ONE)?, &[&at], |row| {
            let tenant = codec::text(row, 24)?;
            codec::delivery(row, &tenant)
        });
        let stored = readable("deliveries", at, found)?.flatten();
        let row = stored.map(|stored| {
            let Stored { row, .. } = rows::without_void_lease(tx, stored);
            row
        });
        rows.push((at, row));
    }
    Ok(rows)
}

pub(super) fn erase_row(
    tx: &mut Tx<'_, '_>,
    at: i64,
    before: &Delivery,
    now: Timestamp,
) -> Result<(), Fault> {
    if !before.is_erased() {
        let after = before.erased();
        rows::save(tx, at, &after)?;
        if before.status.is_open() {
            rows::follow(tx, before, &after, now)?;
        }
    }
    erase_texts(tx, at)
}

fn erase_texts(tx: &Tx<'_, '_>, at: i64) -> Result<(), Fault> {
    tx.execute(ERASE_LABELS, [at])?;
    tx.execute(ERASE_ATTEMPTS, [at])?;
    Ok(())
}
