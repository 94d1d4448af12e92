//! Loads and stores rows in a write transaction, with everything that follows from a change.

use postrider_domain::delivery::Delivery;
use postrider_domain::health::Health;
use postrider_domain::ids::{DeliveryId, EventId, TenantId};
use postrider_domain::notification::{Consequences, Notification, NotificationKind, consequences};
use postrider_domain::time::Timestamp;
use rusqlite::{Connection, params};

use super::codec::{self, Stored};
use super::fault::Fault;
use super::health;
use super::notifications;
use super::stats::{CountedStats, More};
use super::writer::Tx;

pub(super) fn find(
    db: &Connection,
    tenant: &TenantId,
    id: DeliveryId,
) -> Result<Option<Stored>, Fault> {
    let mut statement = db.prepare_cached(&FIND)?;
    let (event, webhook) = (id.event.to_string(), id.webhook.to_string());
    codec::first(
        &mut statement,
        &[&event, &tenant.as_str(), &webhook],
        |row| codec::delivery(row, tenant),
    )
}

/// A delivery is found by the parts of its id: the event by its key, the row by event and webhook.
pub(super) static FIND: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    format!(
        "SELECT {} FROM webhook_deliveries WHERE event = (SELECT id FROM events WHERE event_id = ?1 AND tenant = ?2) \
         AND webhook_id = ?3",
        codec::DELIVERY
    )
});

pub(super) fn of_event(
    db: &Connection,
    tenant: &TenantId,
    event: EventId,
) -> Result<Vec<Delivery>, Fault> {
    let mut statement = db.prepare_cached(&OF_EVENT)?;
    let mut found = statement.query(params![event.to_string(), tenant.as_str()])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(codec::delivery(row, tenant)?.row);
    }
    Ok(rows)
}

/// Uses the same index as [`FIND`].
pub(super) static OF_EVENT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    format!(
        "SELECT {} FROM webhook_deliveries WHERE event = (SELECT id FROM events WHERE event_id = ?1 AND tenant = ?2)",
        codec::DELIVERY
    )
});

/// A row as the domain should see it: a lease whose process is gone is void.
pub(super) fn load(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    id: DeliveryId,
) -> Result<Option<Stored>, Fault> {
    let found = find(tx.db(), tenant, id)?;
    Ok(found.map(|stored| without_void_lease(tx, stored)))
}

/// Frees a row whose lease belongs to a process that is gone.
pub(super) fn without_void_lease(tx: &Tx<'_, '_>, mut stored: Stored) -> Stored {
    if stored
        .row
        .lease_owner
        .as_ref()
        .is_some_and(|owner| tx.owners.is_gone(&owner.process))
    {
        stored.row.lease_owner = None;
        stored.row.lease_until = Timestamp::ZERO;
    }
    stored
}

pub(super) fn save(tx: &Tx<'_, '_>, at: i64, row: &Delivery) -> Result<(), Fault> {
    codec::update(tx, at, row)
}

/// Stores a changed row with its notifications, its counters and its effect on the webhook.
pub(super) fn change(
    tx: &mut Tx<'_, '_>,
    at: i64,
    before: &Delivery,
    after: &Delivery,
    now: Timestamp,
) -> Result<(), Fault> {
    save(tx, at, after)?;
    follow(tx, before, after, now)
}

/// Everything that follows from the change of a row, except the row itself.
pub(super) fn follow(
    tx: &mut Tx<'_, '_>,
    before: &Delivery,
    after: &Delivery,
    now: Timestamp,
) -> Result<(), Fault> {
    let webhook = after.id.webhook;
    let before_health = health::load(tx, &after.tenant, webhook)?;
    let Consequences {
        notification,
        health: changed,
        stats,
    } = consequences(
        before,
        after,
        before_health.as_deref().unwrap_or(&Health::default()),
        now,
    );
    match notification {
        Some(NotificationKind::DeliveryDelivered) => notifications::delivered(tx, after, now)?,
        Some(kind) => notify(tx, &Notification::of_delivery(kind, after, now))?,
        None => {}
    }
    // A deleted webhook has no state to change and nothing to notify about.
    if let (Some(before_health), Some(changed)) = (&before_health, changed) {
        health::change(tx, &after.tenant, webhook, before_health, &changed, now)?;
    }
    if let Some(delta) = stats {
        tx.count(CountedStats {
            tenant: after.tenant.clone(),
            webhook,
            hour: now.hour(),
            more: More::Changed(delta),
        });
    }
    Ok(())
}

/// Adds a notification to the outbox.
pub(super) fn notify(tx: &mut Tx<'_, '_>, notification: &Notification) -> Result<(), Fault> {
    let event = notification.to_cloud_event().to_string();
    notifications::add(
        tx,
        &notification.tenant,
        notification.kind,
        notification.at,
        &event,
    )
}
