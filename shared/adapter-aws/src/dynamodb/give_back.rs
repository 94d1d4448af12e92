//! Undoes claims whose rows were not attempted.

use postrider_domain::delivery::Claimed;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Change, Table};
use super::claim::is_still;
use super::item::{ms, n};
use super::keys::Key;

impl DynamoStore {
    /// Frees a row that the claim still holds. Like the claim, the write touches no index.
    pub(super) async fn undo_claim(&self, claimed: &Claimed, now: Timestamp) -> Result<()> {
        let row = claimed.delivery();
        let change = Change::of(Table::Deliveries, Key::delivery(&row.tenant, row.id))
            .set("changed_at", ms(now))
            .set("lease_until", n(0))
            .remove("lease_owner")
            .add("version", n(1))
            .only_if(is_still(claimed));
        self.change(change).await?;
        Ok(())
    }
}
