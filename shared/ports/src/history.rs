//! History: rows, payloads, attempts, stats.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::{Event, Label};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::pattern::EventType;
use postrider_domain::stats::{LATENCY_BOUNDS_MS, StatsDelta};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;

/// The maximum number of entries that one page examines.
pub const MAX_EXAMINED: usize = 1000;

/// Selects deliveries. All conditions that are set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    pub session_id: Option<Label>,
    pub status: Option<Status>,
    pub webhook_id: Option<WebhookId>,
    pub event_type: Option<EventType>,
    /// Accepted at or after this time.
    pub from: Option<Timestamp>,
    /// Accepted before this time.
    pub to: Option<Timestamp>,
}

/// The index that a list uses. All other conditions are checked on the rows that it yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListIndex<'a> {
    /// Failed or dead rows.
    Trouble(Status),
    /// Rows of a session.
    Session(&'a Label),
    /// Rows of a webhook.
    Webhook(WebhookId),
    /// All rows.
    Recent,
}

impl Filter {
    /// The index for this filter.
    #[must_use]
    pub const fn index(&self) -> ListIndex<'_> {
        match self {
            Self {
                status: Some(status @ (Status::Failed | Status::Dead)),
                ..
            } => ListIndex::Trouble(*status),
            Self {
                session_id: Some(session),
                ..
            } => ListIndex::Session(session),
            Self {
                webhook_id: Some(webhook),
                ..
            } => ListIndex::Webhook(*webhook),
            Self { .. } => ListIndex::Recent,
        }
    }

    /// Whether all conditions hold for this row.
    #[must_use]
    pub fn matches(&self, row: &Delivery) -> bool {
        let Self {
            session_id,
            status,
            webhook_id,
            event_type,
            from,
            to,
        } = self;
        session_id
            .as_ref()
            .is_none_or(|wanted| row.session_id.as_ref() == Some(wanted))
            && status.is_none_or(|wanted| row.status == wanted)
            && webhook_id.is_none_or(|wanted| row.id.webhook == wanted)
            && event_type
                .as_ref()
                .is_none_or(|wanted| row.event_type == *wanted)
            && from.is_none_or(|from| row.created_at >= from)
            && to.is_none_or(|to| row.created_at < to)
    }
}

/// Where a page ended. Opaque; only the store creates and reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub String);

/// A page of a list, newest first. It may be short or even empty and still have a cursor: follow it to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourlyStats {
    pub webhook: WebhookId,
    pub hour: Timestamp,
    pub delivered: u64,
    pub dead: u64,
    pub attempts: u64,
    /// Finished deliveries that needed more than one attempt.
    pub retried: u64,
    /// Attempts beyond the first, over finished deliveries.
    pub retries: u64,
    /// Deliveries within each bound of
    /// [`LATENCY_BOUNDS_MS`], and beyond the last.
    pub latency: Vec<u64>,
    /// Events whose first delivery is to this webhook, so that each event counts once. Counted at the latest when the first
    /// attempt of that delivery has ended.
    #[serde(default)]
    pub published: u64,
    /// Bytes of their payloads.
    #[serde(default)]
    pub bytes: u64,
}

impl HourlyStats {
    #[must_use]
    pub fn empty(webhook: WebhookId, hour: Timestamp) -> Self {
        Self {
            webhook,
            hour,
            delivered: 0,
            dead: 0,
            attempts: 0,
            retried: 0,
            retries: 0,
            latency: vec![0; LATENCY_BOUNDS_MS.len() + 1],
            published: 0,
            bytes: 0,
        }
    }

    /// Counts an event whose payload has this length.
    pub const fn publish(&mut self, bytes: u64) {
        self.published += 1;
        self.bytes += bytes;
    }

    pub fn add(&mut self, delta: StatsDelta) {
        self.delivered += u64::from(delta.delivered);
        self.dead += u64::from(delta.dead);
        self.attempts += u64::from(delta.attempts);
        self.retried += u64::from(delta.retried);
        self.retries += u64::from(delta.retries);
        let bucket = delta.latency_bucket.map(usize::from);
        if let Some(count) = bucket.and_then(|bucket| self.latency.get_mut(bucket)) {
            *count += 1;
        }
    }
}

/// Looks things up. Read-only, and only committed data. On DynamoDB, lists read an index that lags by moments, and stats are
/// counted from the table's stream; everything else is strongly consistent.
#[async_trait]
pub trait History: Send + Sync {
    async fn delivery(&self, tenant: &TenantId, id: DeliveryId) -> Result<Option<Delivery>>;

    async fn event(&self, tenant: &TenantId, id: EventId) -> Result<Option<Arc<Event>>>;

    /// The rows of one event, at most one per webhook, in no particular order.
    async fn rows_of(&self, tenant: &TenantId, event: EventId) -> Result<Vec<Delivery>>;

    /// The attempts of one row, oldest first. On DynamoDB the last twenty.
    async fn attempts(&self, tenant: &TenantId, id: DeliveryId) -> Result<Vec<Attempt>>;

    /// A page of rows, newest first, from one index and never by a scan. Rows inserted between pages do no harm: each row
    /// that was in the index at the start and stays in it is returned exactly once.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`](crate::Error::InvalidCursor) for a cursor of another list.
    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>>;

    /// The counters per hour from `from` to before `to`, for one webhook or all.
    async fn stats(
        &self,
        tenant: &TenantId,
        webhook: Option<WebhookId>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>>;
}
