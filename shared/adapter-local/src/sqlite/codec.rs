//! Converts domain values to columns and back.

use std::str::FromStr;

use postrider_domain::delivery::{DeadCause, Delivery, LeaseOwner};
use postrider_domain::event::Label;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Row, ToSql, params};

use super::fault::Fault;
use super::writer::Tx;

/// The columns that [`delivery`] reads, in order.
pub(super) const DELIVERY: &str = "id, event, event_id, webhook_id, event_type, session_id, intent, target_url, \
     signature, status, dead_cause, attempt_count, attempts_total, max_attempts, last_attempted_at, next_retry_at, \
     created_at, error_detail, generation, version, lease_process, lease_claim, lease_until, last_status";

/// A delivery with its `rowid` and that of its event.
pub(super) struct Stored {
    pub(super) at: i64,
    pub(super) event: i64,
    pub(super) row: Delivery,
}

pub(super) fn delivery(row: &Row<'_>, tenant: &TenantId) -> Result<Stored, Fault> {
    let delivery = Delivery {
        id: DeliveryId {
            event: text(row, 2)?,
            webhook: text(row, 3)?,
        },
        tenant: tenant.clone(),
        event_type: text(row, 4)?,
        session_id: maybe_text(row, 5)?,
        intent: maybe_text(row, 6)?,
        target_url: row.get(7)?,
        signature: row.get(8)?,
        status: text(row, 9)?,
        dead_cause: dead_cause(row, 10)?,
        attempt_count: row.get(11)?,
        attempts_total: row.get(12)?,
        max_attempts: row.get(13)?,
        last_attempted_at: maybe_instant(row, 14)?,
        next_retry_at: maybe_instant(row, 15)?,
        created_at: instant(row, 16)?,
        error_detail: row.get(17)?,
        generation: row.get(18)?,
        in_backlog: false,
        version: number(row, 19)?,
        lease_owner: lease_owner(row, 20, 21)?,
        lease_until: instant(row, 22)?,
        last_status: row.get(23)?,
    };
    Ok(Stored {
        at: row.get(0)?,
        event: row.get(1)?,
        row: delivery,
    })
}

/// The `rowid` and the acceptance time of a delivery, which can be read even if the rest cannot.
pub(super) fn position(row: &Row<'_>) -> Result<(i64, i64), Fault> {
    Ok((row.get(0)?, row.get(16)?))
}

/// Updates the columns that may change. The columns that lists are sorted by are left out, so their indexes are not
/// touched.
pub(super) const UPDATE_DELIVERY: &str = "UPDATE webhook_deliveries SET target_url = ?2, signature = ?3, status = ?4, \
     dead_cause = ?5, attempt_count = ?6, attempts_total = ?7, last_attempted_at = ?8, next_retry_at = ?9, \
     error_detail = ?10, generation = ?11, version = ?12, lease_process = ?13, lease_claim = ?14, lease_until = ?15, \
     last_status = ?16 WHERE id = ?1";

pub(super) fn update(tx: &Tx<'_, '_>, at: i64, row: &Delivery) -> Result<(), Fault> {
    let owner = row.lease_owner.as_ref();
    let values = params![
        at,
        row.target_url,
        row.signature,
        row.status.as_str(),
        row.dead_cause.map(DeadCause::as_str),
        row.attempt_count,
        row.attempts_total,
        row.last_attempted_at.map(Timestamp::as_millis),
        row.next_retry_at.map(Timestamp::as_millis),
        row.error_detail,
        row.generation,
        row.version.cast_signed(),
        owner.map(|owner| &owner.process),
        owner.map(|owner| owner.claim.cast_signed()),
        row.lease_until.as_millis(),
        row.last_status,
    ];
    tx.execute(UPDATE_DELIVERY, values)?;
    Ok(())
}

/// A new row for the event with the `rowid` `?1`.
pub(super) const INSERT_DELIVERY: &str = "INSERT INTO webhook_deliveries (event, tenant, event_id, webhook_id, \
     event_type, session_id, intent, target_url, signature, status, dead_cause, attempt_count, attempts_total, \
     max_attempts, last_attempted_at, next_retry_at, created_at, error_detail, generation, version, lease_process, \
     lease_claim, lease_until, last_status) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
     ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)";

pub(super) fn insert(
    tx: &Tx<'_, '_>,
    event: i64,
    event_id: &str,
    row: &Delivery,
) -> Result<(), Fault> {
    let owner = row.lease_owner.as_ref();
    let values = params![
        event,
        row.tenant.as_str(),
        event_id,
        row.id.webhook.to_string(),
        row.event_type.as_str(),
        row.session_id.as_ref().map(Label::as_str),
        row.intent.as_ref().map(Label::as_str),
        row.target_url,
        row.signature,
        row.status.as_str(),
        row.dead_cause.map(DeadCause::as_str),
        row.attempt_count,
        row.attempts_total,
        row.max_attempts,
        row.last_attempted_at.map(Timestamp::as_millis),
        row.next_retry_at.map(Timestamp::as_millis),
        row.created_at.as_millis(),
        row.error_detail,
        row.generation,
        row.version.cast_signed(),
        owner.map(|owner| &owner.process),
        owner.map(|owner| owner.claim.cast_signed()),
        row.lease_until.as_millis(),
        row.last_status,
    ];
    tx.execute(INSERT_DELIVERY, values)?;
    Ok(())
}

/// The owner of a lease, stored in two columns.
pub(super) fn lease_owner(
    row: &Row<'_>,
    process: usize,
    claim: usize,
) -> Result<Option<LeaseOwner>, Fault> {
    let process: Option<String> = row.get(process)?;
    let claim: Option<i64> = row.get(claim)?;
    Ok(process.zip(claim).map(|(process, claim)| LeaseOwner {
        process,
        claim: claim.cast_unsigned(),
    }))
}

/// Parses a text column: an id, a label, a status.
pub(super) fn text<T: FromStr>(row: &Row<'_>, column: usize) -> Result<T, Fault> {
    maybe_text(row, column)?.ok_or_else(|| unreadable(row, column))
}

pub(super) fn maybe_text<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Option<T>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => {
            let value = std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.parse().ok());
            value.map(Some).ok_or_else(|| unreadable(row, column))
        }
        ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            Err(unreadable(row, column))
        }
    }
}

pub(super) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> Result<T, Fault> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(|_| unreadable(row, column))?;
    serde_json::from_str(text).map_err(|_| unreadable(row, column))
}

pub(super) fn maybe_json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<T>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(_) | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            json(row, column).map(Some)
        }
    }
}

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Unreadable(error.to_string()))
}

pub(super) fn instant(row: &Row<'_>, column: usize) -> Result<Timestamp, Fault> {
    Ok(Timestamp::from_millis(row.get(column)?))
}

pub(super) fn maybe_instant(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, Fault> {
    Ok(row
        .get::<_, Option<i64>>(column)?
        .map(Timestamp::from_millis))
}

/// An integer column that is never negative.
pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| unreadable(row, column))
}

pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn dead_cause(row: &Row<'_>, column: usize) -> Result<Option<DeadCause>, Fault> {
    let Some(name) = row.get::<_, Option<String>>(column)? else {
        return Ok(None);
    };
    let cause = DeadCause::ALL
        .into_iter()
        .find(|cause| cause.as_str() == name);
    cause.map(Some).ok_or_else(|| unreadable(row, column))
}

/// Names the column, never the value in it.
pub(super) fn unreadable(row: &Row<'_>, column: usize) -> Fault {
    let name = row.as_ref().column_name(column).unwrap_or("?").to_owned();
    Fault::Unreadable(format!("column {name}"))
}

pub(super) fn first<T>(
    statement: &mut rusqlite::Statement<'_>,
    params: &[&dyn ToSql],
    decode: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut rows = statement.query(params)?;
    rows.next()?.map(decode).transpose()
}

pub(super) fn all<T>(
    statement: &mut rusqlite::Statement<'_>,
    params: &[&dyn ToSql],
    mut decode: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(decode(row)?);
    }
    Ok(found)
}
