//! Writes the result of an attempt.

use std::str::FromStr;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion, DeadCause, Delivery};
use postrider_domain::outcome::{FailureKind, Phase, Timings};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::Applied;
use rusqlite::{Connection, Row, params};

use super::codec;
use super::fault::Fault;
use super::first_attempt;
use super::rows;
use super::writer::Tx;

pub(super) const ATTEMPTS: &str = "SELECT number, version, at, status_code, error, phase, dns_ms, connect_ms, tls_ms, \
     first_byte_ms, body_ms, total_ms, response_body, kind FROM attempts WHERE delivery = ?1 ORDER BY version";

pub(super) const RECORDED: &str = "SELECT 1 FROM attempts WHERE delivery = ?1 AND version = ?2";

pub(super) const PLACE: &str = "SELECT id FROM webhook_deliveries \
     WHERE event = (SELECT id FROM events WHERE event_id = ?1 AND tenant = ?2) AND webhook_id = ?3";

pub(super) const FIRST_ATTEMPT: &str = "SELECT first_attempt FROM webhook_deliveries WHERE id = ?1";

/// Changes the row only if the claim still holds it: its version and the random number of the claim are unique.
pub(super) const COMPLETE: &str = "UPDATE webhook_deliveries SET target_url = ?2, signature = ?3, status = ?4, \
     dead_cause = ?5, attempt_count = ?6, attempts_total = ?7, last_attempted_at = ?8, next_retry_at = ?9, \
     error_detail = ?10, generation = ?11, version = ?12, lease_process = NULL, lease_claim = NULL, lease_until = 0, \
     last_status = ?13, first_attempt = coalesce(?14, first_attempt) \
     WHERE id = ?1 AND version = ?15 AND lease_process = ?16 AND lease_claim = ?17 AND tenant = ?18";

/// Writes the row, the attempt and everything that follows from them, if the claim still holds.
pub(super) fn apply(
    tx: &mut Tx<'_, '_>,
    claimed: &Claimed,
    completion: &Completion,
    now: Timestamp,
) -> Result<Applied, Fault> {
    let row = claimed.delivery();
    let after = row.completed(completion);
    let remembered = tx.memory.take_place(row.id);
    if let Some(at) = remembered
        && complete(tx, at, claimed, &after, &completion.attempt)?
    {
        rows::follow(tx, row, &after, now)?;
        return Ok(Applied::Done(Box::new(after)));
    }
    let Some(at) = place(tx, row)? else {
        return Ok(Applied::Stale);
    };
    if remembered != Some(at) && complete(tx, at, claimed, &after, &completion.attempt)? {
        rows::follow(tx, row, &after, now)?;
        return Ok(Applied::Done(Box::new(after)));
    }
    recognise(tx, claimed, at)
}

fn place(tx: &Tx<'_, '_>, row: &Delivery) -> Result<Option<i64>, Fault> {
    let (event, webhook) = (row.id.event.to_string(), row.id.webhook.to_string());
    codec::first(
        &mut *tx.statement(PLACE)?,
        &[&event, &row.tenant.as_str(), &webhook],
        |found| Ok(found.get(0)?),
    )
}

/// Stores the row and its attempt; `false` if the claim does not hold the row at this place.
fn complete(
    tx: &Tx<'_, '_>,
    at: i64,
    claimed: &Claimed,
    after: &Delivery,
    attempt: &Attempt,
) -> Result<bool, Fault> {
    let owner = claimed.owner();
    let first = first_attempt::to_text(attempt);
    let changed = tx.execute(
        COMPLETE,
        params![
            at,
            after.target_url,
            after.signature,
            after.status.as_str(),
            after.dead_cause.map(DeadCause::as_str),
            after.attempt_count,
            after.attempts_total,
            after.last_attempted_at.map(Timestamp::as_millis),
            after.next_retry_at.map(Timestamp::as_millis),
            after.error_detail,
            after.generation,
            after.version.cast_signed(),
            after.last_status,
            first,
            claimed.version().cast_signed(),
            owner.process,
            owner.claim.cast_signed(),
            after.tenant.as_str(),
        ],
    )?;
    if changed == 1 && first.is_none() {
        record(tx, at, claimed.version(), attempt)?;
    }
    Ok(changed == 1)
}

/// An attempt is identified by the version at claim: if it is stored, an earlier call wrote it.
fn recognise(tx: &Tx<'_, '_>, claimed: &Claimed, at: i64) -> Result<Applied, Fault> {
    let version = claimed.version();
    let recorded = tx
        .statement(RECORDED)?
        .exists(params![at, version.cast_signed()])?;
    let is_first = || Ok::<_, Fault>(first(tx.db(), at)?.is_some_and(|one| one.version == version));
    if !recorded && !is_first()? {
        return Ok(Applied::Stale);
    }
    let row = claimed.delivery();
    let stored = rows::find(tx.db(), &row.tenant, row.id)?;
    Ok(stored.map_or(Applied::Stale, |stored| Applied::Done(Box::new(stored.row))))
}

pub(super) fn record(
    tx: &Tx<'_, '_>,
    at: i64,
    version: u64,
    attempt: &Attempt,
) -> Result<(), Fault> {
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
    let mut attempts: Vec<_> = first(db, at)?.into_iter().collect();
    attempts.extend(codec::all(
        &mut *db.prepare_cached(ATTEMPTS)?,
        &[&at],
        read,
    )?);
    Ok(attempts)
}

/// The attempt that is stored in the row.
fn first(db: &Connection, at: i64) -> Result<Option<Attempt>, Fault> {
    let mut statement = db.prepare_cached(FIRST_ATTEMPT)?;
    let found = codec::first(&mut statement, &[&at], |row| {
        let text: Option<String> = row.get(0)?;
        let read =
            |text: String| first_attempt::from_text(&text).ok_or_else(|| codec::unreadable(row, 0));
        text.map(read).transpose()
    })?;
    Ok(found.flatten())
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
