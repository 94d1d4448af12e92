//! Waits for the deliveries of a bulk retry by listing them, if the live feed left out some of their changes.

use std::time::Duration;

use postrider_domain::delivery::Status;

use super::bulk::Bulk;
use crate::edge;
use crate::failure::Failure;
use crate::pages;

const POLL_EVERY: Duration = Duration::from_secs(2);
/// How many dead deliveries are counted at most.
const MAX_COUNTED: usize = 10_000;

impl Bulk<'_> {
    /// Waits until no delivery that matches the filter is open; returns how many are dead.
    pub(super) async fn dead_once_settled(&self) -> Result<u64, Failure> {
        while self.has_open().await? {
            edge::pause(POLL_EVERY).await;
        }
        let dead = self.count(Status::Dead, MAX_COUNTED).await?;
        Ok(dead as u64)
    }

    async fn has_open(&self) -> Result<bool, Failure> {
        for status in [Status::Pending, Status::Failed] {
            if self.count(status, 1).await? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn count(&self, status: Status, limit: usize) -> Result<usize, Failure> {
        let (path, conditions) = (["v1", "deliveries"], self.in_status(status));
        let listing = pages::first(self.client, &path, &conditions, limit).await?;
        Ok(listing.items.len())
    }
}
