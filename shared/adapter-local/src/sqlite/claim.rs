//! Claims rows and renews their leases.

use postrider_domain::delivery::{Claimed, Unclaimable};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Claim, ClaimedDelivery, Renewed, Wanted};
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
        Some((status, _)) if status.is_stopped() => Ok(Claim::Unclaimable(Unclaimable::InBacklog)),
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
