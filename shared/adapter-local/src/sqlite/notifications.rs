//! The outbox of notifications.

use std::time::Duration;

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::notifications::{NotificationListener, Notifications, StoredNotification};
use rusqlite::Connection;

use super::fault::Fault;
use super::{SqliteStore, codec};

/// Notifications written by other processes on the same file are seen at most this much later.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) const AFTER: &str =
    "SELECT seq, kind, event FROM outbox WHERE seq > ?2 AND tenant = ?1 ORDER BY seq LIMIT ?3";

pub(super) const NEWEST: &str = "SELECT max(seq) FROM outbox";

/// Sequence numbers grow with time, so only the first ones are examined. Those that a clock running ahead has dated are
/// passed over: they must not keep the others.
pub(super) const FORGET: &str = "DELETE FROM outbox WHERE seq IN \
     (SELECT seq FROM outbox WHERE at <= ?3 ORDER BY seq LIMIT ?2) AND at < ?1";

#[async_trait]
impl Notifications for SqliteStore {
    async fn notifications_after(
        &self,
        tenant: &TenantId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<StoredNotification>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(AFTER)?;
                let after = i64::try_from(seq).unwrap_or(i64::MAX);
                codec::all(
                    &mut statement,
                    &[&tenant.as_str(), &after, &codec::limit(limit)],
                    |row| {
                        Ok(StoredNotification {
                            seq: codec::number(row, 0)?,
                            kind: row.get(1)?,
                            event: row.get(2)?,
                        })
                    },
                )
            })
            .await
    }

    async fn newest_notification(&self, _tenant: &TenantId) -> Result<u64> {
        // The newest of all tenants: they share one sequence, and no index is kept per tenant.
        self.readers.read(newest).await
    }

    async fn listening(&self, _: &TenantId, _: Timestamp) -> Result<()> {
        // It keeps all of them.
        Ok(())
    }
}

#[async_trait]
impl NotificationListener for SqliteStore {
    async fn notification_past(&self, seq: u64) {
        let mut committed = self.writer.newest_notification();
        // Whether notified or timed out, the caller reads again, and sees what other processes wrote.
        let _ =
            tokio::time::timeout(POLL_INTERVAL, committed.wait_for(|newest| *newest > seq)).await;
    }
}

/// The sequence number of the newest notification, or 0.
pub(super) fn newest(db: &Connection) -> std::result::Result<u64, Fault> {
    let seq: Option<i64> = db.prepare_cached(NEWEST)?.query_row([], |row| row.get(0))?;
    Ok(seq.map_or(0, i64::unsigned_abs))
}
