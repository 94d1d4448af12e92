//! Reads events. One that was erased is not found.

use std::sync::Arc;

use bytes::Bytes;
use postrider_domain::event::Event;
use postrider_domain::ids::{EventId, TenantId};
use rusqlite::{Connection, Row};

use super::codec;
use super::fault::Fault;

pub(super) const BY_ID: &str = "SELECT event_type, session_id, content_type, origin, created_at, payload \
     FROM events WHERE event_id = ?1 AND tenant = ?2 AND erased_at IS NULL";

pub(super) fn find(
    db: &Connection,
    tenant: &TenantId,
    id: EventId,
) -> Result<Option<Arc<Event>>, Fault> {
    let mut statement = db.prepare_cached(BY_ID)?;
    codec::first(
        &mut statement,
        &[&id.to_string(), &tenant.as_str()],
        |row| read(row, tenant, id),
    )
}

pub(super) const AT: &str = "SELECT event_type, session_id, content_type, origin, created_at, payload \
     FROM events WHERE id = ?1 AND erased_at IS NULL";

/// The event with this `rowid`.
pub(super) fn at(
    db: &Connection,
    at: i64,
    tenant: &TenantId,
    id: EventId,
) -> Result<Option<Arc<Event>>, Fault> {
    let mut statement = db.prepare_cached(AT)?;
    codec::first(&mut statement, &[&at], |row| read(row, tenant, id))
}

fn read(row: &Row<'_>, tenant: &TenantId, id: EventId) -> Result<Arc<Event>, Fault> {
    Ok(Arc::new(Event {
        id,
        tenant: tenant.clone(),
        event_type: codec::text(row, 0)?,
        session_id: codec::maybe_text(row, 1)?,
        content_type: codec::text(row, 2)?,
        origin: codec::text(row, 3)?,
        created_at: codec::instant(row, 4)?,
        body: Bytes::from(row.get::<_, Vec<u8>>(5)?),
    }))
}
