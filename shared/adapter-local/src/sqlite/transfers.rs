//! Stores what comes from another gateway, and reads what only a move needs.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::transfers::{Adopted, MovedDelivery, MovedEvent, Transfers};
use rusqlite::params;

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, accept, apply, codec, events};

const TENANTS: &str =
    "SELECT tenant FROM tenants WHERE is_deleted = 0 UNION SELECT tenant FROM api_keys";

const HAS_ROW: &str = "SELECT 1 FROM webhook_deliveries WHERE event = ?1 AND webhook_id = ?2";

#[async_trait]
impl Transfers for SqliteStore {
    async fn tenants(&self) -> Result<Vec<TenantId>> {
        let found = self.readers.read(|db| {
            let mut statement = db.prepare_cached(TENANTS)?;
            codec::all(&mut statement, &[], |row| codec::text(row, 0))
        });
        let mut tenants: BTreeSet<TenantId> = found.await?.into_iter().collect();
        tenants.insert(TenantId::default());
        Ok(tenants.into_iter().collect())
    }

    async fn event_with_hash(
        &self,
        tenant: &TenantId,
        id: EventId,
    ) -> Result<Option<(Arc<Event>, RequestHash)>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                let Some(event) = events::find(db, &tenant, id)? else {
                    return Ok(None);
                };
                let hash = codec::first(
                    &mut *db.prepare_cached(accept::FIND_EARLIER)?,
                    &[&id.to_string(), &tenant.as_str()],
                    |row| Ok(RequestHash(row.get(1)?)),
                )?;
                Ok(hash.map(|hash| (event, hash)))
            })
            .await
    }

    async fn adopt_event(&self, moved: MovedEvent, _: Timestamp) -> Result<Adopted> {
        self.writer
            .write(move |tx| tx.whole(|tx| adopt(tx, &moved)))
            .await
    }
}

fn adopt(tx: &Tx<'_, '_>, moved: &MovedEvent) -> std::result::Result<Adopted, Fault> {
    let event = &*moved.event;
    let event_id = event.id.to_string();
    accept::insert_event(tx, &event_id, event, moved.request_hash)?;
    let stored = codec::first(
        &mut *tx.statement(accept::FIND_EARLIER)?,
        &[&event_id, &event.tenant.as_str()],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)),
    )?;
    let Some((at, _)) = stored.filter(|(_, hash)| *hash == moved.request_hash.0) else {
        return Ok(Adopted::Conflict);
    };
    let mut new = Vec::new();
    for delivery in &moved.deliveries {
        let webhook = delivery.row.id.webhook.to_string();
        if !tx.statement(HAS_ROW)?.exists(params![at, webhook])? {
            insert(tx, at, &event_id, delivery)?;
            new.push(delivery.row.id);
        }
    }
    Ok(Adopted::Done { new })
}

fn insert(
    tx: &Tx<'_, '_>,
    event: i64,
    event_id: &str,
    delivery: &MovedDelivery,
) -> std::result::Result<(), Fault> {
    // A row of a stopped webhook is free like any other: the claim finds out.
    let row = Delivery {
        in_backlog: false,
        ..delivery.row.clone()
    };
    codec::insert(tx, event, event_id, &row)?;
    let at = tx.db().last_insert_rowid();
    for attempt in &delivery.attempts {
        apply::record(tx, at, attempt.version, attempt)?;
    }
    Ok(())
}
