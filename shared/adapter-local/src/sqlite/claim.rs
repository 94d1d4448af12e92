//! Claims rows and renews their leases.

use postrider_domain::delivery::{Claimed, Delivery, Unclaimable};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Claim, ClaimedDelivery, Renewed, Wanted};
use rusqlite::params;

use super::codec::Stored;
use super::fault::Fault;
use super::writer::Tx;
use super::{erase, events, health, rows};

pub(super) const HOLD: &str = "UPDATE webhook_deliveries SET generation = ?2, version = ?3, lease_process = ?4, \
     lease_claim = ?5, lease_until = ?6 WHERE id = ?1";

/// Claims one row, or says why it cannot be claimed.
pub(super) fn claim(tx: &mut Tx<'_, '_>, wanted: &Wanted, now: Timestamp) -> Result<Claim, Fault> {
    let Some(stored) = rows::load(tx, &wanted.tenant, wanted.id)? else {
        return Ok(Claim::Missing);
    };
    if wanted.is_written_since(&stored.row) {
        return Ok(Claim::NotFresh);
    }
    let claimed = match stored.row.clone().claim(&wanted.lease, now) {
        Ok(claimed) => claimed,
        Err(why) => return Ok(Claim::Unclaimable(why)),
    };
    if claimed.version() == stored.row.version {
        // The same owner claimed it before: the first answer was lost.
        return hand_over(tx, claimed, &stored, now);
    }
    match health::standing(tx, &wanted.tenant, wanted.id.webhook)? {
        None => end_deliveries_of_deleted_webhooks(tx, &stored, now),
        Some((status, _)) if status.is_stopped() => Ok(Claim::Unclaimable(Unclaimable::InBacklog)),
        Some((_, generation)) => {
            let claimed = claimed.in_generation(generation);
            hold(tx, stored.at, claimed.delivery())?;
            tx.memory.note_place(wanted.id, stored.at);
            hand_over(tx, claimed, &stored, now)
        }
    }
}

fn end_deliveries_of_deleted_webhooks(
    tx: &mut Tx<'_, '_>,
    stored: &Stored,
    now: Timestamp,
) -> Result<Claim, Fault> {
    let dead = stored.row.webhook_deleted();
    rows::change(tx, stored.at, &stored.row, &dead, now)?;
    Ok(Claim::WebhookDeleted)
}

/// Stores only what a claim changes.
fn hold(tx: &Tx<'_, '_>, at: i64, row: &Delivery) -> Result<(), Fault> {
    let owner = row.lease_owner.as_ref();
    tx.execute(
        HOLD,
        params![
            at,
            row.generation,
            row.version.cast_signed(),
            owner.map(|owner| &owner.process),
            owner.map(|owner| owner.claim.cast_signed()),
            row.lease_until.as_millis(),
        ],
    )?;
    Ok(())
}

/// A claimed row with its event. One whose event was erased while it was attempted is ended.
fn hand_over(
    tx: &mut Tx<'_, '_>,
    claimed: Claimed,
    stored: &Stored,
    now: Timestamp,
) -> Result<Claim, Fault> {
    let row = claimed.delivery();
    if let Some(event) = events::at(tx.db(), stored.event, &row.tenant, row.id.event)? {
        return Ok(Claim::Claimed(Box::new(ClaimedDelivery { claimed, event })));
    }
    if erase::erased_at(tx.db(), &row.tenant, row.id.event)?.is_none() {
        let why = format!("the event of {} is missing", row.id);
        return Err(Fault::Unreadable(why));
    }
    erase::erase_row(tx, stored.at, row, now)?;
    Ok(Claim::Unclaimable(Unclaimable::Closed))
}

/// Extends a lease that still holds. The version stays the same, because it identifies the claim.
pub(super) fn renew(
    tx: &Tx<'_, '_>,
    claimed: &Claimed,
    until: Timestamp,
) -> Result<Renewed, Fault> {
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
