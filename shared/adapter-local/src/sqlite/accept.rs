//! Stores events with their rows.

use std::sync::Arc;

use postrider_domain::delivery::{Claimed, Delivery, Lease};
use postrider_domain::event::{Event, Label, RequestHash};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::notification::event_notification;
use postrider_ports::deliveries::{Acceptance, Accepted, ClaimedDelivery};
use postrider_ports::start_now::Reservation;
use rusqlite::params;

use super::codec;
use super::fault::Fault;
use super::health;
use super::rows::notify;
use super::stats::{CountedStats, More};
use super::writer::Tx;

/// Only an event that was sent with a key can have the id of an earlier one.
const INSERT_EVENT: &str = "INSERT INTO events (event_id, tenant, event_type, session_id, content_type, origin, \
     request_hash, created_at, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
     ON CONFLICT (event_id, tenant) DO NOTHING";

pub(super) const FIND_EARLIER: &str =
    "SELECT id, request_hash FROM events WHERE event_id = ?1 AND tenant = ?2";

pub(super) const ROWS_OF_EVENT: &str =
    "SELECT webhook_id FROM webhook_deliveries WHERE event = ?1 ORDER BY webhook_id";

/// Stores one event with its rows, all or nothing. Rows of reserved webhooks are inserted claimed if they may start.
pub(super) fn accept(
    tx: &mut Tx<'_, '_>,
    acceptance: &Acceptance,
    reserved: &[Reservation],
) -> Result<(Accepted, Vec<ClaimedDelivery>), Fault> {
    let free = |accepted| (accepted, Vec::new());
    let Acceptance {
        event,
        request_hash,
        rows,
        config_version,
        event_id: _,
    } = acceptance;
    let event_id = event.id.to_string();
    if current_version(tx, &event.tenant)? != *config_version {
        // A repeated call is still answered as a duplicate, even if nothing could be planned for it today.
        let earlier = earlier(tx, event, &event_id, *request_hash)?;
        return Ok(free(earlier.unwrap_or(Accepted::Outdated)));
    }
    if !insert_event(tx, &event_id, event, *request_hash)? {
        let earlier = earlier(tx, event, &event_id, *request_hash)?;
        return Ok(free(earlier.unwrap_or(Accepted::Conflict)));
    }
    let at = tx.db().last_insert_rowid();
    let mut claimed = Vec::with_capacity(reserved.len());
    for row in rows {
        let reservation = reserved.iter().find(|one| one.webhook == row.id.webhook);
        let lease = reservation.map(|one| &one.lease);
        let held = insert_row(tx, at, &event_id, row, lease)?;
        claimed.extend(held.map(|claimed| ClaimedDelivery {
            claimed,
            event: Arc::clone(event),
        }));
    }
    if let Some(first) = rows.first() {
        tx.count(CountedStats {
            tenant: event.tenant.clone(),
            webhook: first.id.webhook,
            hour: event.created_at.hour(),
            more: More::Published {
                bytes: event.body.len() as u64,
            },
        });
    }
    if let Some(notification) = event_notification(event, rows.len()) {
        notify(tx, &notification)?;
    }
    Ok((Accepted::New, claimed))
}

fn current_version(tx: &Tx<'_, '_>, tenant: &TenantId) -> Result<u64, Fault> {
    tx.memory
        .config_version(tenant, || health::version(tx.db(), tenant))
}

/// Inserts a row as claimed or free. A row of a stopped webhook is free like any other: the claim finds out.
fn insert_row(
    tx: &Tx<'_, '_>,
    event: i64,
    event_id: &str,
    row: &Delivery,
    lease: Option<&Lease>,
) -> Result<Option<Claimed>, Fault> {
    if let Some(lease) = lease
        && !is_stopped(tx, row)?
    {
        let due_at = row.next_retry_at.unwrap_or(row.created_at);
        if let Ok(claimed) = row.clone().claim(lease, due_at) {
            codec::insert(tx, event, event_id, claimed.delivery())?;
            tx.memory.note_place(row.id, tx.db().last_insert_rowid());
            return Ok(Some(claimed));
        }
    }
    codec::insert(tx, event, event_id, row)?;
    Ok(None)
}

fn is_stopped(tx: &Tx<'_, '_>, row: &Delivery) -> Result<bool, Fault> {
    let standing = health::standing(tx, &row.tenant, row.id.webhook)?;
    Ok(standing.is_some_and(|(status, _)| status.is_stopped()))
}

pub(super) fn insert_event(
    tx: &Tx<'_, '_>,
    event_id: &str,
    event: &Event,
    request_hash: RequestHash,
) -> Result<bool, Fault> {
    let inserted = tx.execute(
        INSERT_EVENT,
        params![
            event_id,
            event.tenant.as_str(),
            event.event_type.as_str(),
            event.session_id.as_ref().map(Label::as_str),
            event.content_type.as_str(),
            event.origin.to_string(),
            request_hash.0,
            event.created_at.as_millis(),
            &event.body[..],
        ],
    )?;
    Ok(inserted == 1)
}

/// Where an event is stored.
pub(super) fn place_of(
    tx: &Tx<'_, '_>,
    event_id: &str,
    tenant: &TenantId,
) -> Result<Option<i64>, Fault> {
    codec::first(
        &mut *tx.statement(FIND_EARLIER)?,
        &[&event_id, &tenant.as_str()],
        |row| Ok(row.get(0)?),
    )
}

fn earlier(
    tx: &Tx<'_, '_>,
    event: &Event,
    event_id: &str,
    request_hash: RequestHash,
) -> Result<Option<Accepted>, Fault> {
    let found = codec::first(
        &mut *tx.statement(FIND_EARLIER)?,
        &[&event_id, &event.tenant.as_str()],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)),
    )?;
    let Some((at, hash)) = found else {
        return Ok(None);
    };
    if hash != request_hash.0 {
        return Ok(Some(Accepted::Conflict));
    }
    let deliveries = codec::all(&mut *tx.statement(ROWS_OF_EVENT)?, &[&at], |row| {
        Ok(DeliveryId {
            event: event.id,
            webhook: codec::text(row, 0)?,
        })
    })?;
    Ok(Some(Accepted::Duplicate {
        event: event.id,
        deliveries,
        // Event and rows are stored in one transaction, so none can be missing.
        completed: Vec::new(),
    }))
}
