//! Writes the result of an attempt.

use std::str::FromStr;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion};
use postrider_domain::outcome::{FailureKind, Phase, Timings};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::Applied;
use rusqlite::{Connection, Row, params};

use super::codec;
use super::fault::Fault;
use super::rows;
use super::writer::Tx;

pub(super) const ATTEMPTS: &str = "SELECT number, version, at, status_code, error, phase, dns_ms, connect_ms, tls_ms, \
     first_byte_ms, body_ms, total_ms, response_body, kind FROM attempts WHERE delivery = ?1 ORDER BY version";

pub(super) const RECORDED: &str = "SELECT 1 FROM attempts WHERE delivery = ?1 AND version = ?2";

/// Reads only what decides whether a claim still holds. Applies are frequent, and the claim already carries the row.
pub(super) const FENCE: &str = "SELECT id, version, lease_process, lease_claim FROM webhook_deliveries \
     WHERE event = (SELECT id FROM events WHERE event_id = ?1 AND tenant = ?2) AND webhook_id = ?3";

/// Writes the row, the attempt and everything that follows from them, if the claim still holds.
pub(super) fn apply(
    tx: &mut Tx<'_>,
    claimed: &Claimed,
    completion: &Completion,
    now: Timestamp,
) -> Result<Applied, Fault> {
    let row = claimed.delivery();
    let (event, webhook) = (row.id.event.to_string(), row.id.webhook.to_string());
    let fence = codec::first(
        &mut *tx.statement(FENCE)?,
        &[&event, &row.tenant.as_str(), &webhook],
        |found| {
            let owner = codec::lease_owner(found, 2, 3)?;
            Ok((
                found.get(0)?,
                claimed.is_still(codec::number(found, 1)?, owner.as_ref()),
            ))
        },
    )?;
    match fence {
        Some((at, true)) => {
            let after = row.completed(completion);
            record(tx, at, claimed.version(), &completion.attempt)?;
            rows::change(tx, at, row, &after, now)?;
            Ok(Applied::Done(Box::new(after)))
        }
        Some((at, false)) => recognise(tx, claimed, at),
        None => Ok(Applied::Stale),
    }
}

/// An attempt is identified by the version at claim: if it is stored, an earlier call wrote it.
fn recognise(tx: &Tx<'_>, claimed: &Claimed, at: i64) -> Result<Applied, Fault> {
    let version = claimed.version().cast_signed();
    if !tx.statement(RECORDED)?.exists(params![at, version])? {
        return Ok(Applied::Stale);
    }
    let row = claimed.delivery();
    let stored = rows::find(tx.db(), &row.tenant, row.id)?;
    Ok(stored.map_or(Applied::Stale, |stored| Applied::Done(Box::new(stored.row))))
}

pub(super) fn record(tx: &Tx<'_>, at: i64, version: u64, attempt: &Attempt) -> Result<(), Fault> {
    let Timings {
        dns_ms,
        connect_ms,
        tls_ms,
        first_byte_ms,
        body_ms,
        total_ms,
    } = attempt.timings;
    tx.execute(
        "INSERT INTO attempts (delivery, version, number, at, status_code, error, phase, dns_ms, connect_ms, tls_ms, \
         first_byte_ms, body_ms, total_ms, response_body, kind) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            at,
            version.cast_signed(),
            attempt.number,
            attempt.at.as_millis(),
            attempt.status_code,
            attempt.error,
            attempt.phase.map(Phase::as_str),
            dns_ms,
            connect_ms,
            tls_ms,
            first_byte_ms,
            body_ms,
            total_ms,
            attempt.response_body,
            attempt.kind.map(FailureKind::as_str),
        ],
    )?;
    Ok(())
}

/// The attempts of the row with this `rowid`, oldest first.
pub(super) fn attempts(db: &Connection, at: i64) -> Result<Vec<Attempt>, Fault> {
    codec::all(&mut *db.prepare_cached(ATTEMPTS)?, &[&at], read)
}

fn read(row: &Row<'_>) -> Result<Attempt, Fault> {
    Ok(Attempt {
        number: row.get(0)?,
        version: codec::number(row, 1)?,
        at: codec::instant(row, 2)?,
        status_code: row.get(3)?,
        error: row.get(4)?,
        kind: name(row, 13)?,
        phase: name(row, 5)?,
        timings: Timings {
            dns_ms: row.get(6)?,
            connect_ms: row.get(7)?,
            tls_ms: row.get(8)?,
            first_byte_ms: row.get(9)?,
            body_ms: row.get(10)?,
            total_ms: row.get(11)?,
        },
        response_body: row.get(12)?,
    })
}

/// A kind or phase by its name. An unknown one, perhaps from a newer version, is skipped: the error text still
/// describes it.
fn name<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Option<T>, Fault> {
    let name: Option<String> = row.get(column)?;
    Ok(name.and_then(|name| name.parse().ok()))
}
