//! Writes the result of an attempt. The webhook's health, the counters and the notifications follow from the stream.

use postrider_domain::delivery::{Claimed, Completion, Delivery};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::Applied;

use super::DynamoStore;
use super::calls::Table;
use super::claim::is_still;
use super::keys::Key;
use super::{packed, row};
use crate::fault::unreadable;

impl DynamoStore {
    /// Writes the attempt, then the row that refers to it, if the claim still holds.
    pub(super) async fn complete(
        &self,
        claimed: &Claimed,
        completion: &Completion,
        now: Timestamp,
    ) -> Result<Applied> {
        let after = claimed.delivery().completed(completion);
        let attempt = &completion.attempt;
        let replaced = self
            .replace_row(&after, claimed.event_expires_at(), now)
            .await?;
        self.record(&after, attempt).await?;
        let change = replaced
            .set(&packed::slot(attempt.number), packed::pack(attempt))
            .only_if(is_still(claimed));
        match self.change(change).await? {
            Some(_) => Ok(Applied::Done(Box::new(after))),
            None => self.recognise(claimed, attempt.number).await,
        }
    }

    /// An attempt is identified by the version at claim: if the row refers to it, an earlier call wrote it.
    async fn recognise(&self, claimed: &Claimed, number: u32) -> Result<Applied> {
        let row = claimed.delivery();
        let key = Key::delivery(&row.tenant, row.id);
        let Some(item) = self.get(Table::Deliveries, &key).await? else {
            self.remove_details(claimed).await?;
            return Ok(Applied::Stale);
        };
        let stored = row::delivery(item.clone());
        if stored.as_ref().is_ok_and(Delivery::is_erased) {
            self.remove_details(claimed).await?;
        }
        let attempts = packed::unpack_all(&item).ok_or_else(|| unreadable("an attempt"))?;
        let is_its = |version, its| version == claimed.version() && its == number;
        if attempts.iter().any(|one| is_its(one.version, one.number)) {
            return Ok(Applied::Done(Box::new(stored?)));
        }
        Ok(Applied::Stale)
    }

    /// Removes what this call wrote about an attempt of a row that was erased or deleted before: the erasure is over, so
    /// nothing else would.
    async fn remove_details(&self, claimed: &Claimed) -> Result<()> {
        let row = claimed.delivery();
        let key = Key::attempt(&row.tenant, row.id, claimed.version());
        self.remove(Table::Deliveries, &key, None).await
    }
}
