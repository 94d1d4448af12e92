//! Tries a filter on the events that a tenant accepted last.

use std::collections::HashSet;

use futures_util::future::try_join_all;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::pattern::{EventType, Pattern};
use postrider_domain::payload_filter::{Payload, PayloadFilter};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::{Filter, History};

/// The events that are tried, at most.
pub const PREVIEWED_EVENTS: usize = 100;
/// Deliveries per page: an event has one for each webhook that got it.
const PAGE: usize = 200;
/// The pages that are read to find that many events.
const MAX_PAGES: usize = 5;
/// Bodies that are held in memory at once.
const BODIES: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedEvent {
    pub id: EventId,
    pub event_type: EventType,
    pub created_at: Timestamp,
    pub result: TriedResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriedResult {
    Matches,
    /// The webhook does not subscribe to its type.
    OtherType,
    /// The conditions that fail, as JSON pointers into the filter.
    Fails(Vec<String>),
}

/// The last events, newest first, and whether a webhook with these settings would have got them. Only events that have a
/// delivery are known, because lists are lists of deliveries.
pub async fn try_filter(
    store: &dyn History,
    tenant: &TenantId,
    event_types: &[Pattern],
    filter: Option<&PayloadFilter>,
) -> Result<Vec<TriedEvent>> {
    let mut tried = Vec::new();
    for rows in recent(store, tenant).await?.chunks(BODIES) {
        let batch = rows
            .iter()
            .map(|row| try_one(store, tenant, row, event_types, filter));
        tried.extend(try_join_all(batch).await?.into_iter().flatten());
    }
    Ok(tried)
}

/// One row of each of the last events.
pub(crate) async fn recent(store: &dyn History, tenant: &TenantId) -> Result<Vec<Delivery>> {
    let (mut rows, mut seen, mut cursor) = (Vec::new(), HashSet::new(), None);
    for _ in 0..MAX_PAGES {
        let page = store
            .list(tenant, &Filter::default(), PAGE, cursor.as_ref())
            .await?;
        let new = page
            .items
            .into_iter()
            .filter(|row| seen.insert(row.id.event));
        rows.extend(new.take(PREVIEWED_EVENTS - rows.len()));
        cursor = page.next;
        if cursor.is_none() || rows.len() == PREVIEWED_EVENTS {
            break;
        }
    }
    Ok(rows)
}

/// `None` if the event is no longer stored.
async fn try_one(
    store: &dyn History,
    tenant: &TenantId,
    row: &Delivery,
    event_types: &[Pattern],
    filter: Option<&PayloadFilter>,
) -> Result<Option<TriedEvent>> {
    let is_wanted = event_types.iter().any(|one| one.matches(&row.event_type));
    let result = match filter {
        _ if !is_wanted => TriedResult::OtherType,
        None => TriedResult::Matches,
        Some(filter) => match store.event(tenant, row.id.event).await? {
            Some(event) => result(filter.failed(&Payload::new(event.body.clone()))),
            None => return Ok(None),
        },
    };
    Ok(Some(TriedEvent {
        id: row.id.event,
        event_type: row.event_type.clone(),
        created_at: row.created_at,
        result,
    }))
}

fn result(failed: Vec<String>) -> TriedResult {
    if failed.is_empty() {
        TriedResult::Matches
    } else {
        TriedResult::Fails(failed)
    }
}
