//! Writing what an attempt came to.

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion};
use postrider_domain::outcome::Timings;
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::Applied;
use rusqlite::{Connection, Row, params};

use super::codec::{self, Stored};
use super::fault::Fault;
use super::rows;
use super::writer::Tx;

pub(super) const ATTEMPTS: &str = "SELECT number, version, at, status_code, error, phase, dns_ms, connect_ms, tls_ms, \
     first_byte_ms, body_ms, total_ms, response_body FROM attempts WHERE delivery = ?1 ORDER BY version";

pub(super) const RECORDED: &str = "SELECT 1 FROM attempts WHERE delivery = ?1 AND version = ?2";

/// Writes the row, the attempt and all that follows, if the claim still holds.
pub(super) fn apply(
    tx: &mut Tx<'_>,
    claimed: &Claimed,
    completion: &Completion,
    now: Timestamp,
) -> Result<Applied, Fault> {
    let Some(stored) = rows::find(tx.db(), &claimed.delivery().tenant, claimed.delivery().id)?
    else {
        return Ok(Applied::Stale);
    };
    if !claimed.still_holds(&stored.row) {
        // The attempt is known by the version at claim: if it is there, an earlier call wrote it.
        let written = tx
            .statement(RECORDED)?
            .exists(params![stored.at, claimed.version().cast_signed()])?;
        return Ok(if written {
            Applied::Done(Box::new(stored.row))
        } else {
            Applied::Stale
        });
    }
    let after = stored.row.completed(completion);
    record(tx, &stored, claimed.version(), &completion.attempt)?;
    rows::change(tx, &stored, &after, now)?;
    Ok(Applied::Done(Box::new(after)))
}

fn record(tx: &Tx<'_>, stored: &Stored, version: u64, attempt: &Attempt) -> Result<(), Fault> {
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
         first_byte_ms, body_ms, total_ms, response_body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            stored.at,
            version.cast_signed(),
            attempt.number,
            attempt.at.as_millis(),
            attempt.status_code,
            attempt.error,
            attempt.phase,
            dns_ms,
            connect_ms,
            tls_ms,
            first_byte_ms,
            body_ms,
            total_ms,
            attempt.response_body,
        ],
    )?;
    Ok(())
}

/// The attempts of the row at this place, the first one first.
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
        phase: row.get(5)?,
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
