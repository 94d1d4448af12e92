//! Frees rows that wait for nothing but a turn.

use postrider_domain::delivery::Delivery;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::pace::Asked;
use postrider_domain::time::Timestamp;
use postrider_ports::Error;
use postrider_ports::queue::AttemptMessage;
use postrider_store_format::StoredWebhook;
use rusqlite::Row;

use super::codec::{self, Stored};
use super::fault::Fault;
use super::writer::Tx;
use super::{health, pace, rows};

/// The next webhook with parked rows after this one.
pub(super) const NEXT_PARKED: &str = "SELECT tenant, webhook_id FROM webhook_deliveries \
     WHERE parked = 1 AND (tenant, webhook_id) > (?1, ?2) ORDER BY tenant, webhook_id LIMIT 1";

/// A webhook's parked rows, longest due first.
pub(super) const PARKED_OF: &str = "SELECT event_id FROM webhook_deliveries \
     WHERE parked = 1 AND tenant = ?1 AND webhook_id = ?2 ORDER BY next_retry_at LIMIT ?3";

pub(super) const SETTINGS: &str =
    "SELECT settings FROM webhook_configs WHERE tenant = ?1 AND id = ?2";

/// How many more rows than needed are read, because some may be unreadable.
const UNREADABLE: usize = 100;

/// How many rows may be freed, and until when turns are given to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) limit: usize,
    pub(super) until: Timestamp,
}

/// Frees rows of all webhooks; those of active webhooks get turns. A webhook whose rows or settings cannot be read is
/// skipped.
pub(super) fn release(
    tx: &Tx<'_>,
    room: Room,
    now: Timestamp,
) -> Result<Vec<AttemptMessage>, Fault> {
    let mut freed = Vec::new();
    let (mut tenant, mut webhook) = (String::new(), String::new());
    while freed.len() < room.limit {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let Some(next) =
            codec::first(&mut *tx.statement(NEXT_PARKED)?, &[&tenant, &webhook], read)?
        else {
            break;
        };
        (tenant, webhook) = next;
        let left = Room {
            limit: room.limit - freed.len(),
            ..room
        };
        match parse(&tenant, &webhook)
            .and_then(|(tenant, id)| release_webhook(tx, &tenant, id, left, now))
        {
            Ok(messages) => freed.extend(messages),
            Err(fault) => skip(&webhook, fault)?,
        }
    }
    Ok(freed)
}

/// Frees rows of one webhook: with turns if it is active, immediately if it was deleted. Reads no more rows than there
/// are turns.
pub(super) fn release_webhook(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    room: Room,
    now: Timestamp,
) -> Result<Vec<AttemptMessage>, Fault> {
    match health::status(tx.db(), tenant, webhook)? {
        None => {
            let rows = parked(tx, tenant, webhook, room.limit)?;
            let freed = rows.into_iter().map(|stored| {
                let row = stored.row.unpark();
                (stored, row)
            });
            save(tx, freed)
        }
        Some(WebhookStatus::Active) => {
            let asked = Asked {
                count: room.limit,
                per_second: retry_rate(tx, tenant, webhook)?,
                until: room.until,
            };
            let (available, _) = pace::load(tx.db(), tenant, webhook)?.reserve(asked, now);
            let rows = parked(tx, tenant, webhook, available.turns.len())?;
            let asked = Asked {
                count: rows.len(),
                ..asked
            };
            let turns = pace::reserve(tx, tenant, webhook, asked, now)?.turns;
            let freed = rows.into_iter().zip(turns).map(|(stored, turn)| {
                let row = stored.row.unpark_at(turn);
                (stored, row)
            });
            save(tx, freed)
        }
        Some(WebhookStatus::Failed | WebhookStatus::Paused | WebhookStatus::Disabled) => {
            Ok(Vec::new())
        }
    }
}

fn parse(tenant: &str, webhook: &str) -> Result<(TenantId, WebhookId), Fault> {
    let unreadable = || Fault::Unreadable("column tenant or webhook_id".to_owned());
    let tenant = tenant.parse().map_err(|_| unreadable())?;
    Ok((tenant, webhook.parse().map_err(|_| unreadable())?))
}

/// What cannot be read is logged and left in place, so that it does not block the rows behind it. A failing disk is
/// returned as an error instead.
fn skip(webhook: &str, fault: Fault) -> Result<(), Fault> {
    let error = Error::from(fault);
    if error.is_transient() {
        return Err(error.into());
    }
    tracing::warn!(event = "store.release_failed", webhook_id = webhook, %error, "deliveries on hold could not be released");
    Ok(())
}

pub(super) fn retry_rate(tx: &Tx<'_>, tenant: &TenantId, webhook: WebhookId) -> Result<u32, Fault> {
    let settings = codec::first(
        &mut *tx.statement(SETTINGS)?,
        &[&tenant.as_str(), &webhook.to_string()],
        |row| Ok(row.get::<_, String>(0)?),
    )?;
    Ok(StoredWebhook::outline(&settings.unwrap_or_default())?.retry_rate)
}

/// A webhook's first parked rows. A row that cannot be read is logged and left in place.
fn parked(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    limit: usize,
) -> Result<Vec<Stored>, Fault> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let at_most = codec::limit(limit + UNREADABLE);
    let events: Vec<String> = codec::all(
        &mut *tx.statement(PARKED_OF)?,
        &[&tenant.as_str(), &webhook.to_string(), &at_most],
        |row| Ok(row.get(0)?),
    )?;
    let mut rows = Vec::new();
    for event in events {
        if rows.len() == limit {
            break;
        }
        match stored(tx, tenant, webhook, &event) {
            Ok(found) => rows.extend(found),
            Err(fault) => skip(&webhook.to_string(), fault)?,
        }
    }
    Ok(rows)
}

fn stored(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    event: &str,
) -> Result<Option<Stored>, Fault> {
    let unreadable = |_| Fault::Unreadable("column event_id".to_owned());
    let event = event.parse().map_err(unreadable)?;
    rows::find(tx.db(), tenant, DeliveryId { event, webhook })
}

/// Saves the freed rows and returns their queue messages.
fn save(
    tx: &Tx<'_>,
    freed: impl Iterator<Item = (Stored, Delivery)>,
) -> Result<Vec<AttemptMessage>, Fault> {
    let saved = freed.map(|(parked, row)| {
        rows::save(tx, parked.at, &row)?;
        Ok(AttemptMessage::of_released(&parked.row, &row))
    });
    saved.collect()
}
