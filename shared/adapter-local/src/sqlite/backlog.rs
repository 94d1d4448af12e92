//! Open rows by due time, for functions that are developed against this store. One shard, one lane: the store does not
//! record which rows already have a queue message, and a message sent twice is harmless.

use std::ops::ControlFlow;

use async_trait::async_trait;
use postrider_domain::delivery::Lane;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::backlog::{Backlog, Rows, Stretch};
use postrider_ports::history::Cursor;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::{SqliteStore, codec, health, stepping};

/// Free rows of a webhook, starting at a given position.
pub(super) const FREE: &str = "SELECT event_id, next_retry_at FROM webhook_deliveries WHERE tenant = ?1 \
     AND webhook_id = ?2 AND is_retry = ?7 AND wake_at >= ?3 AND wake_at < ?4 AND (wake_at, event_id) >= (?3, ?5) \
     ORDER BY wake_at, event_id LIMIT ?6";

/// Rows of a webhook that a process holds; there are few.
pub(super) const HELD: &str = "SELECT event_id, next_retry_at FROM webhook_deliveries WHERE lease_process = ?1 \
     AND tenant = ?2 AND webhook_id = ?3 AND next_retry_at >= ?4 AND next_retry_at < ?5";

#[async_trait]
impl Backlog for SqliteStore {
    fn shards(&self) -> u16 {
        1
    }

    async fn rows_between(
        &self,
        stretch: Stretch,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        match stretch.lane {
            Lane::Waiting => {}
            Lane::Queued | Lane::Backlog => {
                return Ok(Rows {
                    messages: Vec::new(),
                    next: None,
                });
            }
        }
        let after = after.map(Position::read).transpose()?;
        self.readers
            .read(move |db| find(db, stretch, limit, after.as_ref()))
            .await
    }
}

fn find(
    db: &Connection,
    stretch: Stretch,
    limit: usize,
    after: Option<&Position>,
) -> std::result::Result<Rows, Fault> {
    let from = after.map_or(stretch.from, |position| position.due_at.max(stretch.from));
    let event = after.map_or_else(String::new, |position| position.event.clone());
    let mut found = Vec::new();
    let mut add = |tenant: &TenantId, webhook, (event, due_at)| {
        let position = Position {
            due_at,
            event,
            tenant: tenant.clone(),
            webhook,
        };
        if after.is_none_or(|after| position > *after) {
            found.push(position);
        }
    };
    let to = stretch.to.as_millis();
    stepping::awake(db, None, |tenant, webhook| {
        // Rows of a stopped webhook wait for it to be resumed.
        if health::status(db, &tenant, webhook)?.is_some_and(WebhookStatus::is_stopped) {
            return Ok(ControlFlow::Continue(()));
        }
        let (name, id) = (tenant.as_str(), webhook.to_string());
        // One more than requested: the first may be where the last page ended.
        let at_most = codec::limit(limit.saturating_add(1));
        for is_retry in [false, true] {
            let rows = codec::all(
                &mut *db.prepare_cached(FREE)?,
                &[
                    &name,
                    &id,
                    &from.as_millis(),
                    &to,
                    &event,
                    &at_most,
                    &is_retry,
                ],
                read_row,
            )?;
            rows.into_iter().for_each(|row| add(&tenant, webhook, row));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    stepping::held(db, |process, tenant, webhook, _| {
        let (name, id) = (tenant.as_str(), webhook.to_string());
        let rows = codec::all(
            &mut *db.prepare_cached(HELD)?,
            &[&process, &name, &id, &from.as_millis(), &to],
            read_row,
        )?;
        rows.into_iter().for_each(|row| add(&tenant, webhook, row));
        Ok(())
    })?;
    found.sort();
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(Position::cursor);
    let messages: std::result::Result<_, Fault> =
        found.into_iter().map(Position::into_message).collect();
    Ok(Rows {
        messages: messages?,
        next,
    })
}

fn read_row(row: &Row<'_>) -> std::result::Result<(String, Timestamp), Fault> {
    Ok((row.get(0)?, codec::instant(row, 1)?))
}

/// A row's position in the order of due times.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    due_at: Timestamp,
    /// The id as text: SQLite compares the text, which sorts differently from the bytes.
    event: String,
    tenant: TenantId,
    webhook: WebhookId,
}

impl Position {
    fn read(cursor: &Cursor) -> Result<Self> {
        let mut parts = cursor.0.split('/');
        let mut part = || parts.next().ok_or(Error::InvalidCursor);
        Ok(Self {
            due_at: Timestamp::from_millis(part()?.parse().map_err(|_| Error::InvalidCursor)?),
            event: part()?.to_owned(),
            tenant: part()?.parse().map_err(|_| Error::InvalidCursor)?,
            webhook: part()?.parse().map_err(|_| Error::InvalidCursor)?,
        })
    }

    fn cursor(&self) -> Cursor {
        let due_at = self.due_at.as_millis();
        Cursor(format!(
            "{due_at}/{}/{}/{}",
            self.event, self.tenant, self.webhook
        ))
    }

    fn into_message(self) -> std::result::Result<AttemptMessage, Fault> {
        let unreadable = |_| Fault::Unreadable("column event_id".to_owned());
        Ok(AttemptMessage {
            tenant: self.tenant,
            id: DeliveryId {
                event: self.event.parse().map_err(unreadable)?,
                webhook: self.webhook,
            },
            next_retry_at: self.due_at,
            fresh: false,
        })
    }
}
