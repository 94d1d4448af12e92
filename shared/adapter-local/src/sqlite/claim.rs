//! Claims rows and renews their leases.

use postrider_domain::delivery::{Claimed, Unclaimable};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Claim, ClaimedDelivery, Move, Renewed, Wanted};
use postrider_ports::queue::AttemptMessage;
use rusqlite::params;

use super::codec::Stored;
use super::fault::Fault;
use super::writer::Tx;
use super::{events, health, rows};

/// Claims one row, or says why it cannot be claimed.
pub(super) fn claim(tx: &mut Tx<'_>, wanted: &Wanted, now: Timestamp) -> Result<Claim, Fault> {
    let Some(stored) = rows::load(tx, &wanted.tenant, wanted.id)? else {
        return Ok(Claim::Missing);
    };
    let claimed = match stored.row.clone().claim(&wanted.lease, now) {
        Ok(claimed) => claimed,
        Err(why) => return Ok(Claim::Unclaimable(why)),
    };
    if claimed.version() == stored.row.version {
        // The same owner claimed it before: the first answer was lost.
        return hand_over(tx, claimed);
    }
    match health::standing(tx.db(), &wanted.tenant, wanted.id.webhook)? {
        None => end_deliveries_of_deleted_webhooks(tx, &stored, now),
        Some((status, _)) if status.parks() => Ok(Claim::Unclaimable(Unclaimable::Parked)),
        Some((_, generation)) => {
            let claimed = claimed.in_generation(generation);
            rows::save(tx, stored.at, claimed.delivery())?;
            hand_over(tx, claimed)
        }
    }
}

fn end_deliveries_of_deleted_webhooks(
    tx: &mut Tx<'_>,
    stored: &Stored,
    now: Timestamp,
) -> Result<Claim, Fault> {
    let dead = stored.row.webhook_deleted();
    rows::change(tx, stored.at, &stored.row, &dead, now)?;
    Ok(Claim::WebhookDeleted)
}

fn hand_over(tx: &Tx<'_>, claimed: Claimed) -> Result<Claim, Fault> {
    let row = claimed.delivery();
    let event = events::find(tx.db(), &row.tenant, row.id.event)?
        .ok_or_else(|| Fault::Unreadable(format!("the event of {} is missing", row.id)))?;
    Ok(Claim::Claimed(Box::new(ClaimedDelivery { claimed, event })))
}

/// Extends a lease that still holds. The version stays the same, because it identifies the claim.
pub(super) fn renew(tx: &Tx<'_>, claimed: &Claimed, until: Timestamp) -> Result<Renewed, Fault> {
    let row = claimed.delivery();
    match rows::find(tx.db(), &row.tenant, row.id)? {
        Some(stored) if claimed.still_holds(&stored.row) => {
            tx.execute(
                "UPDATE webhook_deliveries SET lease_until = ?2 WHERE id = ?1",
                params![stored.at, until.as_millis()],
            )?;
            Ok(Renewed::Held)
        }
        Some(_) | None => Ok(Renewed::Lost),
    }
}

/// Moves a row to its turn, unless it is closed, held, parked or has changed since.
pub(super) fn postpone(tx: &Tx<'_>, step: &Move, now: Timestamp) -> Result<(), Fault> {
    match unchanged(tx, &step.tenant, step.id, step.seen, now)? {
        Some(Stored { at, row, .. }) => rows::save(tx, at, &row.moved(step.to)),
        None => Ok(()),
    }
}

/// Parks a row until there is a turn for it, unless it is closed, held, parked or has changed since.
pub(super) fn set_aside(
    tx: &Tx<'_>,
    message: &AttemptMessage,
    now: Timestamp,
) -> Result<(), Fault> {
    match unchanged(tx, &message.tenant, message.id, message.next_retry_at, now)? {
        Some(Stored { at, row, .. }) => rows::save(tx, at, &row.park()),
        None => Ok(()),
    }
}

/// A free open row whose due time has not changed.
fn unchanged(
    tx: &Tx<'_>,
    tenant: &TenantId,
    id: DeliveryId,
    due_at: Timestamp,
    now: Timestamp,
) -> Result<Option<Stored>, Fault> {
    let found = rows::load(tx, tenant, id)?;
    Ok(found.filter(|Stored { row, .. }| {
        let is_free = row.status.is_open() && !row.parked && !row.is_held(now);
        is_free && row.next_retry_at == Some(due_at)
    }))
}
