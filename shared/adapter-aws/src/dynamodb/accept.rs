//! Stores events with their rows: first the event with its plan, then row by row, each with its own conditional put. A
//! caller that repeats an interrupted call finds the event and completes its plan.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Acceptance, Accepted};
use postrider_ports::queue::AttemptMessage;

use super::DynamoStore;
use super::calls::Table;
use super::event::{self, Kept, Planned};
use super::keys::Key;
use super::row;
use super::state::{State, version_of};
use crate::fault;

/// How many events one call processes concurrently, and how many rows of each.
const EVENTS_AT_ONCE: usize = 8;
const ROWS_AT_ONCE: usize = 16;

type States = HashMap<(TenantId, WebhookId), State>;

/// Whether a row was stored by this call or was there before.
enum Inserted {
    Now,
    Before,
}

impl DynamoStore {
    pub(super) async fn accept_all(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        let each: Vec<_> = batch.into_iter().map(|one| self.accept_one(one)).collect();
        stream::iter(each).buffered(EVENTS_AT_ONCE).collect().await
    }

    async fn accept_one(&self, acceptance: Acceptance) -> Result<Accepted> {
        let event = &acceptance.event;
        let (version, states) = self.read_versions_and_states(&acceptance).await?;
        if version != acceptance.config_version {
            // A repeated call is still answered as a duplicate, even if nothing could be planned for it today.
            let earlier = self.earlier(&acceptance).await?;
            return Ok(earlier.unwrap_or(Accepted::Outdated));
        }
        let item = event::item(&acceptance, self.retention)?;
        let absent = event::absent(event.created_at);
        if !self.put(Table::Deliveries, item, Some(absent)).await? {
            let earlier = self.earlier(&acceptance).await?;
            return earlier.ok_or_else(|| fault::contended("the event"));
        }
        self.insert_all(&acceptance.rows, &states).await?;
        Ok(Accepted::New)
    }

    /// Reads the version of the tenant's webhooks and the states of the planned ones, in one call.
    async fn read_versions_and_states(&self, acceptance: &Acceptance) -> Result<(u64, States)> {
        let tenant = &acceptance.event.tenant;
        let state = |row: &Delivery| (Table::Deliveries, Key::state(tenant, row.id.webhook));
        let mut keys: Vec<_> = acceptance.rows.iter().map(state).collect();
        keys.push((Table::Configs, Key::version(tenant)));
        let (mut version, mut states) = (0, States::new());
        for (table, item) in self.get_all(keys).await? {
            match table {
                Table::Configs => version = version_of(&item)?,
                Table::Deliveries => {
                    states.insert(Key::of(&item)?.as_webhook()?, State::of(item)?);
                }
            }
        }
        Ok((version, states))
    }

    /// The answer if an earlier request has the same event id. If that request is identical, the missing part of its
    /// plan is completed.
    async fn earlier(&self, acceptance: &Acceptance) -> Result<Option<Accepted>> {
        let event = &acceptance.event;
        let kept = self.kept(&event.tenant, event.id).await?;
        let current = |kept: &Kept| kept.expires_at >= event.created_at.as_seconds();
        let Some(kept) = kept.filter(current) else {
            return Ok(None);
        };
        if kept.request_hash != acceptance.request_hash {
            return Ok(Some(Accepted::Conflict));
        }
        let rows = planned_rows(&kept, acceptance);
        let webhooks = rows
            .iter()
            .map(|row| (event.tenant.clone(), row.id.webhook));
        let states = self.states(webhooks.collect::<Vec<_>>()).await?;
        let inserted = self.insert_all(&rows, &states).await?;
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

    async fn insert_all<'a>(
        &self,
        rows: &'a [Delivery],
        states: &States,
    ) -> Result<Vec<(&'a Delivery, Inserted)>> {
        let puts: Vec<_> = rows.iter().map(|row| self.insert(row, states)).collect();
        // Wait for all of them: a write that is dropped half-way may still take effect later, when no caller expects
        // it.
        let puts = stream::iter(puts).buffered(ROWS_AT_ONCE);
        let puts: Vec<Result<_>> = puts.collect().await;
        puts.into_iter().collect()
    }

    /// Puts a row, parked or free. A row that exists stays as it is.
    async fn insert<'a>(
        &self,
        row: &'a Delivery,
        states: &States,
    ) -> Result<(&'a Delivery, Inserted)> {
        let state = states.get(&(row.tenant.clone(), row.id.webhook));
        let parked = state.is_some_and(|state| state.health.status.parks());
        let stored = Delivery {
            parked,
            ..row.clone()
        };
        let item = row::item(&stored, self.around(row.created_at))?;
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
    let event = &*kept.event;
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
        paced: false,
        parked: false,
        version: 0,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
    }
}
