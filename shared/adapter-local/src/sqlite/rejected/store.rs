//! Writes rejected requests and their counts.

use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::notification::rejection_notification;
use postrider_domain::rejected::{RING, RejectedRequest, RejectionCounts};
use rusqlite::{Connection, params};

use super::super::fault::Fault;
use super::super::writer::Tx;
use super::super::{codec, rows};
use super::{COUNTS, OVERTAKEN};

/// Stores a request and notifies about it if its source's limits allow; otherwise only counts it.
pub(in crate::sqlite) fn store(
    tx: &mut Tx<'_, '_>,
    rejected: &RejectedRequest,
    sealed: &[u8],
) -> Result<Option<RejectedId>, Fault> {
    let (tenant, source) = (&rejected.tenant, rejected.source);
    let (counts, place) = counts(tx.db(), tenant, source)?.with_one_more(rejected.at);
    save(tx, tenant, source, counts)?;
    let Some(place) = place else {
        return Ok(None);
    };
    insert(tx, rejected, place, sealed)?;
    if let Some(overtaken) = place.checked_sub(RING) {
        let key = params![tenant.as_str(), source.to_string(), overtaken.cast_signed()];
        tx.execute(OVERTAKEN, key)?;
    }
    let id = RejectedId::of(rejected.at, place);
    let notification = rejection_notification(
        tenant,
        source,
        id,
        rejected.reason,
        rejected.at,
        counts.counted,
    );
    if let Some(notification) = notification {
        rows::notify(tx, &notification)?;
    }
    Ok(Some(id))
}

/// Counts requests that are not stored.
pub(in crate::sqlite) fn count(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    source: SourceId,
    more: u64,
) -> Result<(), Fault> {
    if more == 0 {
        return Ok(());
    }
    let before = counts(tx.db(), tenant, source)?;
    let counted = before.counted.saturating_add(more);
    save(tx, tenant, source, RejectionCounts { counted, ..before })
}

fn insert(
    tx: &Tx<'_, '_>,
    rejected: &RejectedRequest,
    place: u64,
    sealed: &[u8],
) -> Result<(), Fault> {
    tx.execute(
        "INSERT INTO refused (tenant, source_id, place, at, reason, body_bytes, is_cut, sealed) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            rejected.tenant.as_str(),
            rejected.source.to_string(),
            place.cast_signed(),
            rejected.at.as_millis(),
            rejected.reason.code(),
            rejected.body_bytes.cast_signed(),
            rejected.is_cut,
            sealed,
        ],
    )?;
    Ok(())
}

pub(in crate::sqlite) fn counts(
    db: &Connection,
    tenant: &TenantId,
    source: SourceId,
) -> Result<RejectionCounts, Fault> {
    let mut statement = db.prepare_cached(COUNTS)?;
    let found = codec::first(
        &mut statement,
        &[&tenant.as_str(), &source.to_string()],
        |row| {
            Ok(RejectionCounts {
                stored: codec::number(row, 0)?,
                counted: codec::number(row, 1)?,
                minute: row.get(2)?,
                in_minute: row.get(3)?,
            })
        },
    )?;
    Ok(found.unwrap_or_default())
}

fn save(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    source: SourceId,
    counts: RejectionCounts,
) -> Result<(), Fault> {
    tx.execute(
        "INSERT INTO refused_tallies (tenant, source_id, kept, counted, minute, in_minute) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant, source_id) DO UPDATE \
         SET kept = ?3, counted = ?4, minute = ?5, in_minute = ?6",
        params![
            tenant.as_str(),
            source.to_string(),
            counts.stored.cast_signed(),
            counts.counted.cast_signed(),
            counts.minute,
            counts.in_minute,
        ],
    )?;
    Ok(())
}

/// Deletes everything stored about a source's rejected requests.
pub(in crate::sqlite) fn forget_source(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    source: SourceId,
) -> Result<(), Fault> {
    let key = (tenant.as_str(), source.to_string());
    tx.execute(OVERTAKEN, params![key.0, key.1, i64::MAX])?;
    tx.execute(
        "DELETE FROM refused_tallies WHERE tenant = ?1 AND source_id = ?2",
        params![key.0, key.1],
    )?;
    Ok(())
}
