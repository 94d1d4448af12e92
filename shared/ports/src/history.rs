//! What happened: rows, payloads, attempts, counters.

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

/// How many entries one page examines at the most.
pub const MAX_EXAMINED: usize = 1000;

/// Which deliveries are wanted. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Of this session.
    pub session_id: Option<Label>,
    /// In this status.
    pub status: Option<Status>,
    /// To this webhook.
    pub webhook_id: Option<WebhookId>,
    /// Of this type.
    pub event_type: Option<EventType>,
    /// Accepted at or after.
    pub from: Option<Timestamp>,
    /// Accepted before.
    pub to: Option<Timestamp>,
}

/// What a list goes by. Everything else is checked on what the index yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListIndex<'a> {
    /// Failed rows, or dead ones.
    Trouble(Status),
    /// Rows of a session.
    Session(&'a Label),
    /// Rows of a webhook.
    Webhook(WebhookId),
    /// All rows.
    Recent,
}

impl Filter {
    /// The one index that a list under this filter goes by.
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

/// Where a page ended. Opaque; made and read by the store alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub String);

/// Part of a list, newest first. It may be short, even empty, and still carry a cursor: follow it to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// What was found.
    pub items: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<Cursor>,
}

/// The counters of one webhook and hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourlyStats {
    /// Which webhook.
    pub webhook: WebhookId,
    /// The start of the hour.
    pub hour: Timestamp,
    /// Deliveries that arrived.
    pub delivered: u64,
    /// Deliveries given up.
    pub dead: u64,
    /// Attempts made.
    pub attempts: u64,
    /// Finished deliveries that needed more than one attempt.
    pub retried: u64,
    /// Attempts beyond the first, over finished deliveries.
    pub retries: u64,
    /// How many arrived within each bound of
    /// [`LATENCY_BOUNDS_MS`], and beyond the last.
    pub latency: Vec<u64>,
}

impl HourlyStats {
    /// Counters at zero.
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
        }
    }

    /// Counts one change.
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

/// Looks things up. Reads only, and always what is committed.
#[async_trait]
pub trait History: Send + Sync {
    /// One row.
    async fn delivery(&self, tenant: &TenantId, id: DeliveryId) -> Result<Option<Delivery>>;

    /// One event with its body.
    async fn event(&self, tenant: &TenantId, id: EventId) -> Result<Option<Arc<Event>>>;

    /// The rows of one event, at most one for each webhook, in no particular order.
    async fn rows_of(&self, tenant: &TenantId, event: EventId) -> Result<Vec<Delivery>>;

    /// The attempts of one row, the first one first.
    async fn attempts(&self, tenant: &TenantId, id: DeliveryId) -> Result<Vec<Attempt>>;

    /// A page of rows, newest first, by one index and never by a scan. Rows inserted while somebody pages do not
    /// disturb: each row that was there at the beginning and stays is seen exactly once.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`](crate::Error::InvalidCursor) for a cursor that is not of this list.
    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>>;

    /// The counters of the hours from `from` to before `to`, for one webhook or all.
    async fn stats(
        &self,
        tenant: &TenantId,
        webhook: Option<WebhookId>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>>;
}
