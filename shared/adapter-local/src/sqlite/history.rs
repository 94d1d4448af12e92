//! Reads the history: rows, payloads, attempts, counters.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::Delivery;
use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::{
    Cursor, Filter, History, HourlyStats, ListIndex, MAX_EXAMINED, Page,
};
use postrider_store_format::ListKey;
use rusqlite::{Connection, ToSql};

use super::cursor::Position;
use super::fault::Fault;
use super::unreadable::readable;
use super::{SqliteStore, apply, codec, events, rows, stats};

#[async_trait]
impl History for SqliteStore {
    async fn delivery(&self, tenant: &TenantId, id: DeliveryId) -> Result<Option<Delivery>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| Ok(rows::find(db, &tenant, id)?.map(|stored| stored.row)))
            .await
    }

    async fn event(&self, tenant: &TenantId, id: EventId) -> Result<Option<Arc<Event>>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| events::find(db, &tenant, id))
            .await
    }

    async fn rows_of(&self, tenant: &TenantId, event: EventId) -> Result<Vec<Delivery>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| rows::of_event(db, &tenant, event))
            .await
    }

    async fn attempts(&self, tenant: &TenantId, id: DeliveryId) -> Result<Vec<Attempt>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                let stored = rows::find(db, &tenant, id)?;
                stored.map_or_else(|| Ok(Vec::new()), |stored| apply::attempts(db, stored.at))
            })
            .await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        let key = ListKey::of_deliveries(tenant, filter)?;
        let after = cursor.map_or(Ok(Position::START), |cursor| Position::read(key, cursor))?;
        let (tenant, filter) = (tenant.clone(), filter.clone());
        self.readers
            .read(move |db| list(db, &tenant, &filter, limit, key, after))
            .await
    }

    async fn stats(
        &self,
        tenant: &TenantId,
        webhook: Option<WebhookId>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                let webhooks = webhook
                    .map_or_else(|| stats::webhooks(db, &tenant), |webhook| Ok(vec![webhook]))?;
                let hours = webhooks
                    .into_iter()
                    .map(|webhook| stats::hours(db, &tenant, webhook, from, to));
                Ok(hours.collect::<std::result::Result<Vec<_>, _>>()?.concat())
            })
            .await
    }
}

/// Rows of an index before `?2, ?3`, back to `?4`. The query names its index, because without statistics about the data
/// SQLite may assume that the time range narrows a list down more than the webhook does.
pub(super) fn sql(index: ListIndex<'_>) -> String {
    let (index, condition) = match index {
        ListIndex::Trouble(_) => ("trouble", "status IN ('failed', 'dead') AND status = ?5"),
        ListIndex::Session(_) => ("by_session", "session_id = ?5"),
        ListIndex::Webhook(_) => ("by_webhook", "webhook_id = ?5"),
        ListIndex::Recent => ("recent", "?5 IS NULL"),
    };
    format!(
        "SELECT {} FROM webhook_deliveries INDEXED BY deliveries_{index} WHERE tenant = ?1 AND {condition} \
         AND (created_at, id) < (?2, ?3) AND created_at >= ?4 ORDER BY created_at DESC, id DESC",
        codec::DELIVERY
    )
}

fn list(
    db: &Connection,
    tenant: &TenantId,
    filter: &Filter,
    limit: usize,
    key: ListKey,
    after: Position,
) -> std::result::Result<Page<Delivery>, Fault> {
    let index = filter.index();
    let wanted = match index {
        ListIndex::Trouble(status) => Some(status.as_str().to_owned()),
        ListIndex::Session(session) => Some(session.as_str().to_owned()),
        ListIndex::Webhook(webhook) => Some(webhook.to_string()),
        ListIndex::Recent => None,
    };
    let mut statement = db.prepare_cached(&sql(index))?;
    // `to` is exclusive: the walk starts just before it, or at the cursor if that is older.
    let start_after = filter.to.map_or(after, |to| {
        let start = Position {
            created_at: to.as_millis(),
            at: i64::MIN,
        };
        if (start.created_at, start.at) < (after.created_at, after.at) {
            start
        } else {
            after
        }
    });
    let oldest = filter.from.map_or(i64::MIN, Timestamp::as_millis);
    let params: [&dyn ToSql; 5] = [
        &tenant.as_str(),
        &start_after.created_at,
        &start_after.at,
        &oldest,
        &wanted,
    ];
    let mut found = statement.query(&params[..])?;
    let mut page = Page {
        items: Vec::new(),
        next: None,
    };
    let mut examined = 0;
    let mut last = start_after;
    while let Some(row) = found.next()? {
        if page.items.len() >= limit.max(1) || examined >= MAX_EXAMINED {
            page.next = Some(last.cursor(key));
            break;
        }
        let (at, created_at) = codec::position(row)?;
        examined += 1;
        last = Position { created_at, at };
        let stored = readable("deliveries", at, codec::delivery(row, tenant))?;
        let matching = stored.filter(|stored| filter.matches(&stored.row));
        page.items.extend(matching.map(|stored| stored.row));
    }
    Ok(page)
}
