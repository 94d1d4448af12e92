//! Undoes claims whose rows were not attempted.

use postrider_domain::delivery::Claimed;

use super::fault::Fault;
use super::rows;
use super::writer::Tx;

/// Frees a row that the claim still holds.
pub(super) fn give_back(tx: &Tx<'_, '_>, claimed: &Claimed) -> Result<(), Fault> {
    let row = claimed.delivery();
    match rows::find(tx.db(), &row.tenant, row.id)? {
        Some(stored) if claimed.still_holds(&stored.row) => {
            rows::save(tx, stored.at, &stored.row.given_back())
        }
        Some(_) | None => Ok(()),
    }
}
