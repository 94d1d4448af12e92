//! Stores events with their rows: first the event with its plan, then row by row, each with its own conditional put. A
//! caller that repeats an interrupted call finds the event and completes its plan.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Acceptance, Accepted};
use postrider_ports::queue::AttemptMessage;

use super::DynamoStore;
use super::calls::Table;
use super::event::{self, Kept};
use super::flow::StoredFlow;
use super::item::Item;
use super::keys::Key;
use super::plan::Planned;
use super::row;
use super::state::{State, version_of};
use crate::fault;

/// How many events one call processes concurrently, and how many rows of each.
const EVENTS_AT_ONCE: usize = 8;
pub(super) const ROWS_AT_ONCE: usize = 16;

/// What decides whether a row can go at once.
#[derive(Default)]
pub(super) struct Gates {
    states: HashMap<(TenantId, WebhookId), State>,
    limited: HashSet<(TenantId, WebhookId)>,
}

impl Gates {
    fn add(&mut self, item: Item) -> Result<()> {
        let key = Key::of(&item)?;
        let webhook = key.as_webhook()?;
        if key.is_state() {
            self.states.insert(webhook, State::of(item)?);
        } else if StoredFlow::of(item)?.is_limited() {
            self.limited.insert(webhook);
        }
        Ok(())
    }

    /// Whether a new row goes to the backlog of its webhook.
    pub(super) fn hold_back(&self, row: &Delivery) -> bool {
        let webhook = (row.tenant.clone(), row.id.webhook);
        let state = self.states.get(&webhook);
        state.is_some_and(|state| state.health.status.is_stopped())
            || self.limited.contains(&webhook)
    }
}

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
        let (version, gates) = self.read_version_and_gates(&acceptance).await?;
        if version != acceptance.config_version {
            // A repeated call is still answered as a duplicate, even if nothing could be planned for it today.
            let earlier = self.earlier(&acceptance).await?;
            return Ok(earlier.unwrap_or(Accepted::Outdated));
        }
        let waiting = acceptance.rows.iter().filter(|row| gates.hold_back(row));
        let expires_at = self.new_event_expires_at(event.created_at, waiting);
        let body = self.store_body(event, event.created_at).await?;
        let item = event::item(&acceptance, body, expires_at)?;
        let absent = event::absent(event.created_at);
        if !self.put(Table::Deliveries, item, Some(absent)).await? {
            let earlier = self.earlier(&acceptance).await?;
            return earlier.ok_or_else(|| fault::contended("the event"));
        }
        self.insert_all(&acceptance.rows, &gates).await?;
        Ok(Accepted::New)
    }

    /// Reads the version of the tenant's webhooks, and what decides about the rows of the planned ones, in one call.
    async fn read_version_and_gates(&self, acceptance: &Acceptance) -> Result<(u64, Gates)> {
        let rows: Vec<_> = acceptance.rows.iter().collect();
        let mut keys = gate_keys(&acceptance.event.tenant, &rows);
        keys.push((Table::Configs, Key::version(&acceptance.event.tenant)));
        let (mut version, mut gates) = (0, Gates::default());
        for (table, item) in self.get_all(keys).await? {
            match table {
                Table::Configs => version = version_of(&item)?,
                Table::Deliveries => gates.add(item)?,
            }
        }
        Ok((version, gates))
    }

    /// What decides whether these rows, of one tenant, can go at once.
    pub(super) async fn gates(&self, tenant: &TenantId, rows: &[&Delivery]) -> Result<Gates> {
        let mut gates = Gates::default();
        for (_, item) in self.get_all(gate_keys(tenant, rows)).await? {
            gates.add(item)?;
        }
        Ok(gates)
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
        // A worker moves those that may not go yet to a backlog, and prolongs their event: what accepts events may not.
        let inserted = self.insert_all(&rows, &Gates::default()).await?;
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
        gates: &Gates,
    ) -> Result<Vec<(&'a Delivery, Inserted)>> {
        let puts: Vec<_> = rows.iter().map(|row| self.insert(row, gates)).collect();
        // Wait for all of them: a write that is dropped half-way may still take effect later, when no caller expects
        // it.
        let puts = stream::iter(puts).buffered(ROWS_AT_ONCE);
        let puts: Vec<Result<_>> = puts.collect().await;
        puts.into_iter().collect()
    }

    /// Puts a row, into its webhook's backlog or not. A row that exists stays as it is.
    async fn insert<'a>(
        &self,
        row: &'a Delivery,
        gates: &Gates,
    ) -> Result<(&'a Delivery, Inserted)> {
        let stored = Delivery {
            in_backlog: gates.hold_back(row),
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

fn gate_keys(tenant: &TenantId, rows: &[&Delivery]) -> Vec<(Table, Key)> {
    let of_webhook = |row: &&Delivery| {
        let webhook = row.id.webhook;
        [Key::state(tenant, webhook), Key::flow(tenant, webhook)]
    };
    let keys = rows.iter().flat_map(of_webhook);
    keys.map(|key| (Table::Deliveries, key)).collect()
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
