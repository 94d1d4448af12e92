//! Freeing rows that wait for nothing but a turn.

use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::pace::Asked;
use postrider_domain::time::Timestamp;
use postrider_ports::queue::Hint;
use postrider_sealed::StoredWebhook;
use rusqlite::Row;

use super::fault::Fault;
use super::writer::Tx;
use super::{codec, health, pace, rows};

/// The next webhook with parked rows after this one.
pub(super) const NEXT_PARKED: &str = "SELECT tenant, webhook_id FROM webhook_deliveries \
     WHERE parked = 1 AND (tenant, webhook_id) > (?1, ?2) ORDER BY tenant, webhook_id LIMIT 1";

/// A webhook's parked rows, the longest due first.
pub(super) const PARKED_OF: &str = "SELECT event_id FROM webhook_deliveries \
     WHERE parked = 1 AND tenant = ?1 AND webhook_id = ?2 ORDER BY next_retry_at LIMIT ?3";

pub(super) const SETTINGS: &str =
    "SELECT settings FROM webhook_configs WHERE tenant = ?1 AND id = ?2";

/// Frees up to `limit` rows, of active webhooks by turns no later than `until`.
pub(super) fn release(
    tx: &Tx<'_>,
    limit: usize,
    until: Timestamp,
    now: Timestamp,
) -> Result<Vec<Hint>, Fault> {
    let mut freed = Vec::new();
    let (mut tenant, mut webhook) = (String::new(), String::new());
    while freed.len() < limit {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let Some(next) =
            codec::first(&mut *tx.statement(NEXT_PARKED)?, &[&tenant, &webhook], read)?
        else {
            break;
        };
        (tenant, webhook) = next;
        let unreadable = || Fault::Unreadable("column tenant or webhook_id".to_owned());
        let of: TenantId = tenant.parse().map_err(|_| unreadable())?;
        let id: WebhookId = webhook.parse().map_err(|_| unreadable())?;
        let left = limit - freed.len();
        match health::status(tx.db(), &of, id)? {
            None => freed.extend(free(tx, &of, parked(tx, &of, id, left)?, &[])?),
            Some(WebhookStatus::Active) => {
                let rows = parked(tx, &of, id, left)?;
                let asked = Asked {
                    count: rows.len(),
                    per_second: retry_rate(tx, &of, id)?,
                    until,
                };
                let turns = pace::reserve(tx, &of, id, asked, now)?.turns;
                let rows = rows.into_iter().take(turns.len()).collect();
                freed.extend(free(tx, &of, rows, &turns)?);
            }
            Some(WebhookStatus::Failed | WebhookStatus::Paused | WebhookStatus::Disabled) => {}
        }
    }
    Ok(freed)
}

fn retry_rate(tx: &Tx<'_>, tenant: &TenantId, webhook: WebhookId) -> Result<u32, Fault> {
    let settings = codec::first(
        &mut *tx.statement(SETTINGS)?,
        &[&tenant.as_str(), &webhook.to_string()],
        |row| Ok(row.get::<_, String>(0)?),
    )?;
    Ok(StoredWebhook::outline(&settings.unwrap_or_default())?.retry_rate)
}

fn parked(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    limit: usize,
) -> Result<Vec<DeliveryId>, Fault> {
    let at_most = codec::limit(limit);
    codec::all(
        &mut *tx.statement(PARKED_OF)?,
        &[&tenant.as_str(), &webhook.to_string(), &at_most],
        |row| {
            Ok(DeliveryId {
                event: codec::text(row, 0)?,
                webhook,
            })
        },
    )
}

/// Frees rows, each at its turn if there are any.
fn free(
    tx: &Tx<'_>,
    tenant: &TenantId,
    ids: Vec<DeliveryId>,
    turns: &[Timestamp],
) -> Result<Vec<Hint>, Fault> {
    let mut freed = Vec::with_capacity(ids.len());
    for (n, id) in ids.into_iter().enumerate() {
        if let Some(stored) = rows::find(tx.db(), tenant, id)? {
            let row = match turns.get(n) {
                Some(turn) => stored.row.unpark_at(*turn),
                None => stored.row.unpark(),
            };
            rows::save(tx, stored.at, &row)?;
            freed.push(Hint::of(&row));
        }
    }
    Ok(freed)
}
