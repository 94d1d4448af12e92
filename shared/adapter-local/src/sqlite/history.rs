//! What happened: rows, payloads, attempts, counters.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, MAX_EXAMINED, Page};
use rusqlite::{Connection, ToSql};

use super::cursor::{ListKey, Position};
use super::fault::Fault;
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
        let key = ListKey::of(tenant, filter)?;
        let after = cursor.map_or(Ok(Position::START), |cursor| key.position(cursor))?;
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

/// What a list goes by. The first that the filter allows is used; everything else is checked on what it yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Trouble,
    Session,
    Webhook,
    Recent,
}

impl Index {
    pub(super) const fn of(filter: &Filter) -> Self {
        match filter {
            Filter {
                status: Some(Status::Failed | Status::Dead),
                ..
            } => Self::Trouble,
            Filter {
                session_id: Some(_),
                ..
            } => Self::Session,
            Filter {
                webhook_id: Some(_),
                ..
            } => Self::Webhook,
            Filter { .. } => Self::Recent,
        }
    }

    /// Rows of the index before `?2, ?3`, back to `?4`. The index is named, because without figures about the data
    /// SQLite may think that the instants narrow a list down more than the webhook does.
    pub(super) fn sql(self) -> String {
        let (index, condition) = match self {
            Self::Trouble => ("trouble", "status IN ('failed', 'dead') AND status = ?5"),
            Self::Session => ("by_session", "session_id = ?5"),
            Self::Webhook => ("by_webhook", "webhook_id = ?5"),
            Self::Recent => ("recent", "?5 IS NULL"),
        };
        format!(
            "SELECT {} FROM webhook_deliveries INDEXED BY deliveries_{index} WHERE tenant = ?1 AND {condition} \
             AND (created_at, id) < (?2, ?3) AND created_at >= ?4 ORDER BY created_at DESC, id DESC",
            codec::DELIVERY
        )
    }

    fn key(self, filter: &Filter) -> Option<String> {
        match self {
            Self::Trouble => filter.status.map(|status| status.as_str().to_owned()),
            Self::Session => filter
                .session_id
                .as_ref()
                .map(|label| label.as_str().to_owned()),
            Self::Webhook => filter.webhook_id.map(|id| id.to_string()),
            Self::Recent => None,
        }
    }
}

fn list(
    db: &Connection,
    tenant: &TenantId,
    filter: &Filter,
    limit: usize,
    key: ListKey,
    after: Position,
) -> std::result::Result<Page<Delivery>, Fault> {
    let index = Index::of(filter);
    let mut statement = db.prepare_cached(&index.sql())?;
    // `to` is the first instant that is not wanted any more, so the walk may start before it.
    let from_here = filter.to.map_or(after, |to| {
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
    let wanted = index.key(filter);
    let params: [&dyn ToSql; 5] = [
        &tenant.as_str(),
        &from_here.created_at,
        &from_here.at,
        &oldest,
        &wanted,
    ];
    let mut found = statement.query(&params[..])?;
    let mut page = Page {
        items: Vec::new(),
        next: None,
    };
    let mut examined = 0;
    let mut last = from_here;
    while let Some(row) = found.next()? {
        if page.items.len() >= limit.max(1) || examined >= MAX_EXAMINED {
            page.next = Some(key.cursor(last));
            break;
        }
        let stored = codec::delivery(row, tenant)?;
        examined += 1;
        last = Position {
            created_at: stored.row.created_at.as_millis(),
            at: stored.at,
        };
        if matches(filter, &stored.row) {
            page.items.push(stored.row);
        }
    }
    Ok(page)
}

/// What the index has not seen to: `from` and `to` bound the walk itself.
fn matches(filter: &Filter, row: &Delivery) -> bool {
    let Filter {
        session_id,
        status,
        webhook_id,
        event_type,
        from: _,
        to: _,
    } = filter;
    session_id
        .as_ref()
        .is_none_or(|wanted| row.session_id.as_ref() == Some(wanted))
        && status.is_none_or(|wanted| row.status == wanted)
        && webhook_id.is_none_or(|wanted| row.id.webhook == wanted)
        && event_type
            .as_ref()
            .is_none_or(|wanted| row.event_type == *wanted)
}
