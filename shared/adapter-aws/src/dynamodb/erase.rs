//! Erases the content of one event, or deletes the event. All items of an event are in one partition.

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::erasures::EventErased;

use super::DynamoStore;
use super::calls::{Change, Query, Table};
use super::event::{self, Kept};
use super::item::Item;
use super::keys::{ATTEMPT_PREFIX, DELIVERY_PREFIX, Key};
use super::row;
use crate::fault::readable;

/// How many items one call changes at the same time.
pub(super) const AT_ONCE: usize = 16;

/// Whether a row could be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Changed,
    /// It is being attempted, or was changed meanwhile.
    Left,
}

/// The items of an event besides itself.
struct Parts {
    rows: Vec<Delivery>,
    /// Rows that cannot be read. They are deleted: no attempt uses them, and what they hold cannot be told.
    unreadable: Vec<Key>,
    attempts: Vec<Key>,
}

impl DynamoStore {
    /// First the event, so that no attempt begins, then its rows with the texts of their attempts.
    pub(super) async fn erase_content(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased> {
        let kept = self.kept(tenant, id).await?;
        if let Some(kept) = &kept {
            if kept.erased_at.is_none() {
                self.change(event::erasing(tenant, id, now)?).await?;
            }
            if kept.object.is_some() {
                self.delete_body(kept).await?;
                self.change(event::without_object(tenant, id)).await?;
            }
        }
        let Parts {
            rows,
            unreadable,
            attempts,
        } = self.parts(tenant, id).await?;
        // A row may outlive its event.
        if kept.is_none() && rows.is_empty() && unreadable.is_empty() {
            return Ok(EventErased::Missing);
        }
        self.remove_all(Table::Deliveries, unreadable).await?;
        let each: Vec<_> = rows
            .iter()
            .map(|row| async {
                match self.erase_row(row, now).await? {
                    Row::Changed => self.remove_attempts(&attempts, row.id.webhook).await,
                    Row::Left => Ok(Row::Left),
                }
            })
            .collect();
        settled(stream::iter(each).buffered(AT_ONCE).collect().await)
    }

    /// First its rows, then the event: the rows lead to it.
    pub(super) async fn delete_whole_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased> {
        let kept = self.kept(tenant, id).await?;
        let Parts {
            rows,
            unreadable,
            attempts,
        } = self.parts(tenant, id).await?;
        let is_empty = rows.is_empty() && unreadable.is_empty() && attempts.is_empty();
        if kept.is_none() && is_empty {
            return Ok(EventErased::Missing);
        }
        // All at once: what is deleted now could not be counted later.
        if rows.iter().any(|row| row.is_held(now)) {
            return Ok(EventErased::InFlight);
        }
        self.remove_all(Table::Deliveries, unreadable).await?;
        let each: Vec<_> = rows
            .iter()
            .map(|row| async {
                self.remove_attempts(&attempts, row.id.webhook).await?;
                self.delete_row(row, now).await
            })
            .collect();
        let done = settled(stream::iter(each).buffered(AT_ONCE).collect().await)?;
        if let EventErased::Done { .. } = done {
            // Also those that no row refers to.
            self.remove_all(Table::Deliveries, attempts).await?;
            if let Some(kept) = kept {
                self.delete_body(&kept).await?;
                self.remove(Table::Deliveries, &Key::event(tenant, id), None)
                    .await?;
            }
        }
        Ok(done)
    }

    async fn parts(&self, tenant: &TenantId, id: EventId) -> Result<Parts> {
        let Key { pk, .. } = Key::event(tenant, id);
        let mut parts = Parts {
            rows: Vec::new(),
            unreadable: Vec::new(),
            attempts: Vec::new(),
        };
        let of_event = Query::partition(Table::Deliveries, pk);
        for item in self.query_all(of_event).await? {
            let key = Key::of(&item)?;
            if key.sk.starts_with(ATTEMPT_PREFIX) {
                parts.attempts.push(key);
            } else if key.sk.starts_with(DELIVERY_PREFIX) {
                match readable(row::delivery(item))? {
                    Some(row) => parts.rows.push(row),
                    None => parts.unreadable.push(key),
                }
            }
        }
        Ok(parts)
    }

    async fn erase_row(&self, before: &Delivery, now: Timestamp) -> Result<Row> {
        if before.is_held(now) {
            return Ok(Row::Left);
        }
        if before.is_erased() {
            return Ok(Row::Changed);
        }
        let change = self.erasing(before, now)?;
        let change = change.only_if(row::unchanged(before));
        Ok(changed(self.change(change).await?.as_ref()))
    }

    /// Replaces a row by what its erasure leaves.
    pub(super) fn erasing(&self, before: &Delivery, now: Timestamp) -> Result<Change> {
        let after = before.erased();
        // Not for longer than the event: there is nothing left that the row would need it for.
        let change = row::replace(&after, self.around(&after, now))?;
        Ok(change.remove("by_session").remove("intent"))
    }

    /// Ends a row that is open, so that its deletion says nothing new, and deletes it.
    async fn delete_row(&self, row: &Delivery, now: Timestamp) -> Result<Row> {
        let mut version = row.clone();
        if row.status.is_open() {
            if !self.end_delivery(row, now).await? {
                return Ok(Row::Left);
            }
            version = row.webhook_deleted();
        }
        let key = Key::delivery(&row.tenant, row.id);
        let unchanged = Some(row::unchanged(&version));
        self.remove(Table::Deliveries, &key, unchanged).await?;
        Ok(Row::Changed)
    }

    async fn remove_attempts(&self, attempts: &[Key], webhook: WebhookId) -> Result<Row> {
        let prefix = format!("{ATTEMPT_PREFIX}{webhook}#");
        let of_row = attempts.iter().filter(|key| key.sk.starts_with(&prefix));
        self.remove_all(Table::Deliveries, of_row.cloned().collect())
            .await?;
        Ok(Row::Changed)
    }

    pub(super) async fn remove_all(&self, table: Table, keys: Vec<Key>) -> Result<()> {
        let each: Vec<_> = keys
            .iter()
            .map(|key| self.remove(table, key, None))
            .collect();
        let removed: Vec<Result<()>> = stream::iter(each).buffered(AT_ONCE).collect().await;
        removed.into_iter().collect()
    }

    async fn delete_body(&self, kept: &Kept) -> Result<()> {
        match &kept.object {
            Some(object) => self.bucket()?.delete(object).await,
            None => Ok(()),
        }
    }
}

fn changed(item: Option<&Item>) -> Row {
    if item.is_some() {
        Row::Changed
    } else {
        Row::Left
    }
}

/// All of them are done before the first error is returned.
fn settled(rows: Vec<Result<Row>>) -> Result<EventErased> {
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(if rows.contains(&Row::Left) {
        EventErased::InFlight
    } else {
        EventErased::Done {
            deliveries: rows.len() as u64,
        }
    })
}
