//! Stores events with their rows: first the event with its plan, then row by row, each with its own conditional put. A
//! caller that repeats an interrupted call finds the event and completes its plan.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Acceptance, Accepted, EventIdFrom};
use postrider_ports::queue::AttemptMessage;

use super::DynamoStore;
use super::calls::Table;
use super::event::{self, Kept};
use super::item::n;
use super::plan::Planned;
use super::row;
use crate::fault;

/// How many events one call processes concurrently, and how many rows of each.
const EVENTS_AT_ONCE: usize = 8;
pub(super) const ROWS_AT_ONCE: usize = 16;

/// Whether a row was stored by this call or was there before.
pub(super) enum Inserted {
    Now,
    Before,
}

impl DynamoStore {
    pub(super) async fn accept_all(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        let versions = self.versions_of(&batch).await;
        let accept = |one: Acceptance| {
            let version = versions.get(&one.event.tenant).cloned();
            self.accept_one(one, version.unwrap_or(Ok(0)))
        };
        let each: Vec<_> = batch.into_iter().map(accept).collect();
        stream::iter(each).buffered(EVENTS_AT_ONCE).collect().await
    }

    /// The version of each tenant's webhooks, read once for all its events.
    async fn versions_of(&self, batch: &[Acceptance]) -> HashMap<TenantId, Result<u64>> {
        let mut versions = HashMap::new();
        for one in batch {
            let tenant = &one.event.tenant;
            if !versions.contains_key(tenant) {
                versions.insert(tenant.clone(), self.version(tenant).await);
            }
        }
        versions
    }

    async fn accept_one(&self, acceptance: Acceptance, version: Result<u64>) -> Result<Accepted> {
        let event = &acceptance.event;
        if version? > acceptance.config_version {
            // A repeated call is still answered as a duplicate, even if nothing could be planned for it today.
            let earlier = self.earlier(&acceptance).await?;
            return Ok(earlier.unwrap_or(Accepted::Outdated));
        }
        let expires_at = self.new_event_expires_at(event, event.created_at, std::iter::empty());
        let body = self.store_body(event, event.created_at).await?;
        let item = event::item(&acceptance, body, expires_at)?;
        let absent = event::absent(event.created_at);
        let is_new = self.put(Table::Deliveries, item, Some(absent)).await?;
        match acceptance.event_id {
            EventIdFrom::Key if !is_new => {
                let earlier = self.earlier(&acceptance).await?;
                earlier.ok_or_else(|| fault::contended("the event"))
            }
            EventIdFrom::Key | EventIdFrom::Chance => {
                let bytes = event.body.len();
                self.insert_all(&acceptance.rows, bytes).await?;
                Ok(Accepted::New)
            }
        }
    }

    /// The answer if an earlier request has the same event id. If that request is identical, the missing part of its
    /// plan is completed.
    async fn earlier(&self, acceptance: &Acceptance) -> Result<Option<Accepted>> {
        let event = &acceptance.event;
        let kept = self.kept(&event.tenant, event.id).await?;
        let current = |kept: &Kept| kept.expires_at >= event.created_at;
        let Some(kept) = kept.filter(current) else {
            return Ok(None);
        };
        if kept.request_hash != acceptance.request_hash {
            return Ok(Some(Accepted::Conflict));
        }
        let rows = planned_rows(&kept, acceptance);
        let inserted = self.insert_all(&rows, event.body.len()).await?;
        let missing = inserted
            .iter()
            .filter_map(|(row, inserted)| match inserted {
                Inserted::Now => Some(AttemptMessage::of(row)),
                Inserted::Before => None,
            });
        Ok(Some(Accepted::Duplicate {
            event: event.id,
            deliveries: rows.iter().map(|row| row.id).collect(),
            completed: missing.collect(),
        }))
    }

    /// Puts the rows of an event. The one with the lowest id carries the length of the body, whichever call puts it, so that the
    /// event is counted once, with its first attempt.
    async fn insert_all<'a>(
        &self,
        rows: &'a [Delivery],
        bytes: usize,
    ) -> Result<Vec<(&'a Delivery, Inserted)>> {
        let counted = rows.iter().map(|row| row.id).min();
        let published = |row: &Delivery| (Some(row.id) == counted).then_some(bytes);
        let puts = rows.iter().map(|row| self.insert(row, published(row)));
        let puts: Vec<_> = puts.collect();
        // Wait for all of them: a write that is dropped half-way may still take effect later, when no caller expects
        // it.
        let puts = stream::iter(puts).buffered(ROWS_AT_ONCE);
        let puts: Vec<Result<_>> = puts.collect().await;
        puts.into_iter().collect()
    }

    /// Puts a row. One that exists stays as it is.
    pub(super) async fn insert<'a>(
        &self,
        row: &'a Delivery,
        published: Option<usize>,
    ) -> Result<(&'a Delivery, Inserted)> {
        let mut item = row::accepted_item(row, self.around(row, row.created_at))?;
        item.extend(published.map(|bytes| (row::PUBLISHED_BYTES.to_owned(), n(bytes))));
        let absent = event::absent(row.created_at);
        let is_new = self.put(Table::Deliveries, item, Some(absent)).await?;
        Ok((
            row,
            if is_new {
                Inserted::Now
            } else {
                Inserted::Before
            },
        ))
    }
}

/// The rows of a stored plan, free. The plan does not hold URLs, to stay small: a row that was missing gets the one that
/// the repeated call planned with, if it still plans for this webhook; the first attempt sets it anyway.
fn planned_rows(kept: &Kept, repeated: &Acceptance) -> Vec<Delivery> {
    let url_of = |webhook| {
        let found = repeated.rows.iter().find(|row| row.id.webhook == webhook);
        found.map_or_else(String::new, |row| row.target_url.clone())
    };
    let mut rows: Vec<_> = kept
        .plan
        .iter()
        .flat_map(|group| group.webhooks.iter().map(move |webhook| (group, *webhook)))
        .map(|(group, webhook)| planned_row(kept, group, webhook, url_of(webhook)))
        .collect();
    rows.sort_by_key(|row| row.id);
    rows
}

fn planned_row(kept: &Kept, group: &Planned, webhook: WebhookId, target_url: String) -> Delivery {
    let event = &kept.about;
    Delivery {
        id: DeliveryId {
            event: event.id,
            webhook,
        },
        tenant: event.tenant.clone(),
        event_type: event.event_type.clone(),
        session_id: group.session_id.clone(),
        intent: group.intent.clone(),
        target_url,
        signature: String::new(),
        status: Status::Pending,
        dead_cause: None,
        attempt_count: 0,
        attempts_total: 0,
        max_attempts: group.max_attempts,
        last_attempted_at: None,
        next_retry_at: Some(event.created_at),
        created_at: event.created_at,
        error_detail: None,
        last_status: None,
        generation: 0,
        in_backlog: false,
        version: 0,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use postrider_testkit::builders::{self, NOW, after, webhook_id};

    use super::*;

    #[test]
    fn a_missing_row_gets_the_url_that_the_repeated_call_plans_with() {
        let event = builders::event(&TenantId::default(), 1, NOW);
        let (first, second, deleted) = (webhook_id(1), webhook_id(2), webhook_id(3));
        let mut repeated = builders::acceptance(event.clone(), &[first, second], 1);
        for row in &mut repeated.rows {
            row.target_url = format!("https://example.com/{}", row.id.webhook);
        }
        let kept = Kept {
            about: event,
            object: None,
            request_hash: repeated.request_hash,
            plan: vec![Planned {
                session_id: None,
                intent: None,
                max_attempts: 10,
                webhooks: vec![first, second, deleted],
            }],
            expires_at: after(86_400),
            erased_at: None,
        };
        let rows = planned_rows(&kept, &repeated);
        let url_of = |webhook| {
            let row = rows.iter().find(|row| row.id.webhook == webhook);
            row.unwrap().target_url.clone()
        };
        for webhook in [first, second] {
            assert_eq!(url_of(webhook), format!("https://example.com/{webhook}"));
        }
        assert_eq!(url_of(deleted), "");
    }
}
