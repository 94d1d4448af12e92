//! Deletes what is too old.

use async_trait::async_trait;
use postrider_domain::retention::Retention;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::housekeeping::{Expired, Housekeeping};
use rusqlite::params;

use super::expire::Expiry;
use super::notifications;
use super::rejected;
use super::{SqliteStore, codec};

#[async_trait]
impl Housekeeping for SqliteStore {
    async fn expire(&self, retention: Retention, limit: usize, now: Timestamp) -> Result<Expired> {
        let walk: Expiry = self.expiry.lock().clone();
        let (expired, walk) = self
            .writer
            .write(move |tx| {
                let mut next = walk.clone();
                let expired = tx.whole(|tx| next.slice(tx, retention, limit, now))?;
                Ok((expired, next))
            })
            .await?;
        // Advance only past what was committed.
        *self.expiry.lock() = walk;
        Ok(expired)
    }

    async fn delete_old_rejections(&self, before: Timestamp, limit: usize) -> Result<usize> {
        self.writer
            .write(move |tx| {
                let old = params![before.as_millis(), codec::limit(limit)];
                tx.execute(rejected::FORGET, old)
            })
            .await
    }

    async fn delete_old_notifications(
        &self,
        before: Timestamp,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        self.writer
            .write(move |tx| notifications::forget(tx, before, limit, now))
            .await
    }
}
