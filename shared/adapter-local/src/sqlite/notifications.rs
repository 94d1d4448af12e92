//! The outbox of notifications.

use std::time::Duration;

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::TenantId;
use postrider_domain::notification::{About, Notification, NotificationKind};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::notifications::{NotificationListener, Notifications, StoredNotification};
use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec};

/// Notifications written by other processes on the same file are seen at most this much later.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) const AFTER: &str =
    "SELECT seq, kind, event, at FROM outbox WHERE seq > ?2 AND tenant = ?1 ORDER BY seq LIMIT ?3";

pub(super) const NEWEST: &str = "SELECT max(seq) FROM outbox";

/// Sequence numbers grow with time, so only the first ones are examined. Those that a clock running ahead has dated are
/// passed over: they must not keep the others.
pub(super) const FORGET: &str = "DELETE FROM outbox WHERE seq IN \
     (SELECT seq FROM outbox WHERE at <= ?3 ORDER BY seq LIMIT ?2) AND at < ?1 \
     AND seq < (SELECT max(seq) FROM outbox)";

/// The newest one is emptied, so that no tenant sees it: the next sequence number follows from it.
pub(super) const EMPTY_NEWEST: &str = "UPDATE outbox SET tenant = '', kind = '', event = '' \
     WHERE seq = (SELECT max(seq) FROM outbox) AND tenant <> '' AND at < ?1 AND at <= ?2";

/// Forgets up to `limit` notifications from before `before`.
pub(super) fn forget(
    tx: &Tx<'_, '_>,
    before: Timestamp,
    limit: usize,
    now: Timestamp,
) -> std::result::Result<usize, Fault> {
    let (before, now) = (before.as_millis(), now.as_millis());
    let deleted = tx.execute(FORGET, params![before, codec::limit(limit), now])?;
    if deleted >= limit {
        return Ok(deleted);
    }
    Ok(deleted + tx.execute(EMPTY_NEWEST, params![before, now])?)
}

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
                    |row| read(row, &tenant),
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

/// Adds a notification that is stored as its CloudEvents JSON.
pub(super) fn add(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    kind: NotificationKind,
    at: Timestamp,
    event: &str,
) -> std::result::Result<(), Fault> {
    tx.execute(
        "INSERT INTO outbox (tenant, kind, at, event) VALUES (?1, ?2, ?3, ?4)",
        params![tenant.as_str(), kind.as_str(), at.as_millis(), event],
    )?;
    tx.notified(tx.db().last_insert_rowid());
    Ok(())
}

/// Adds the notification about a delivered row: the facts only, because few are ever read and the JSON is five times as
/// long.
pub(super) fn delivered(
    tx: &mut Tx<'_, '_>,
    row: &Delivery,
    at: Timestamp,
) -> std::result::Result<(), Fault> {
    let about = About::from(row);
    let facts = facts(&about);
    let kind = NotificationKind::DeliveryDelivered;
    add(tx, about.tenant, kind, at, &facts)
}

/// Separated by spaces, the session last: it alone may contain some.
fn facts(about: &About<'_>) -> String {
    let About {
        id,
        event_type,
        session_id,
        attempt_count,
        version,
        ..
    } = about;
    let mut facts = format!("{id} {version} {attempt_count} {event_type}");
    if let Some(session) = session_id {
        facts.push(' ');
        facts.push_str(session);
    }
    facts
}

fn read(row: &Row<'_>, tenant: &TenantId) -> std::result::Result<StoredNotification, Fault> {
    let stored = row
        .get_ref(2)?
        .as_str()
        .map_err(|_| codec::unreadable(row, 2))?;
    let event = if stored.starts_with('{') {
        stored.to_owned()
    } else {
        let about = about(stored, tenant).ok_or_else(|| codec::unreadable(row, 2))?;
        let notification = Notification::delivered(&about, codec::instant(row, 3)?);
        notification.to_cloud_event().to_string()
    };
    Ok(StoredNotification {
        seq: codec::number(row, 0)?,
        kind: row.get(1)?,
        event,
    })
}

/// The opposite of [`facts`].
fn about<'a>(facts: &'a str, tenant: &'a TenantId) -> Option<About<'a>> {
    let mut parts = facts.splitn(5, ' ');
    Some(About {
        id: parts.next()?.parse().ok()?,
        tenant,
        version: parts.next()?.parse().ok()?,
        attempt_count: parts.next()?.parse().ok()?,
        event_type: parts.next()?,
        session_id: parts.next(),
        status: Status::Delivered,
    })
}

#[cfg(test)]
mod tests {
    use postrider_testkit::builders::{self, NOW};

    use super::*;

    #[test]
    fn a_notification_made_from_its_facts_is_the_same_as_one_made_from_the_row() {
        let tenant = TenantId::default();
        for session in [None, Some("a session".parse().unwrap())] {
            let event = builders::event(&tenant, 1, NOW);
            let mut row = builders::acceptance(event, &[builders::webhook_id(1)], 1)
                .rows
                .remove(0);
            row.session_id = session;
            row.status = Status::Delivered;
            (row.attempt_count, row.version) = (3, 7);
            let facts = facts(&About::from(&row));
            let read = Notification::delivered(&about(&facts, &tenant).unwrap(), NOW);
            let kind = NotificationKind::DeliveryDelivered;
            assert_eq!(read, Notification::of_delivery(kind, &row, NOW));
        }
    }
}
