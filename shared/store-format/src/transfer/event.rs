//! Events with their deliveries as records.

use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{DeadCause, Delivery, Status};
use postrider_domain::event::{Event, Label, Origin, RequestHash};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::invalid::Invalid;
use postrider_domain::pattern::EventType;
use postrider_domain::time::Timestamp;
use postrider_ports::transfers::{MovedDelivery, MovedEvent};
use serde::{Deserialize, Serialize};

use super::{EVENT, unreadable};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRecord {
    pub kind: String,
    pub tenant: TenantId,
    pub id: EventId,
    pub event_type: EventType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Label>,
    pub content_type: Label,
    pub origin: Origin,
    pub created_at: Timestamp,
    /// Hexadecimal.
    pub request_hash: String,
    pub payload_base64: String,
    pub deliveries: Vec<DeliveryRecord>,
}

/// A delivery, without what follows from its event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryRecord {
    pub webhook_id: WebhookId,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Label>,
    pub target_url: String,
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_cause: Option<DeadCause>,
    pub attempt_count: u32,
    pub attempts_total: u32,
    pub max_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    pub version: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
}

impl From<&MovedEvent> for EventRecord {
    fn from(moved: &MovedEvent) -> Self {
        let event = &*moved.event;
        Self {
            kind: EVENT.to_owned(),
            tenant: event.tenant.clone(),
            id: event.id,
            event_type: event.event_type.clone(),
            session_id: event.session_id.clone(),
            content_type: event.content_type.clone(),
            origin: event.origin,
            created_at: event.created_at,
            request_hash: HEXLOWER.encode(&moved.request_hash.0),
            payload_base64: BASE64.encode(&event.body),
            deliveries: moved.deliveries.iter().map(DeliveryRecord::from).collect(),
        }
    }
}

impl From<&MovedDelivery> for DeliveryRecord {
    fn from(moved: &MovedDelivery) -> Self {
        let row = &moved.row;
        Self {
            webhook_id: row.id.webhook,
            status: row.status,
            session_id: row.session_id.clone(),
            intent: row.intent.clone(),
            target_url: row.target_url.clone(),
            signature: row.signature.clone(),
            dead_cause: row.dead_cause,
            attempt_count: row.attempt_count,
            attempts_total: row.attempts_total,
            max_attempts: row.max_attempts,
            last_attempted_at: row.last_attempted_at,
            next_retry_at: row.next_retry_at,
            error_detail: row.error_detail.clone(),
            last_status: row.last_status,
            version: row.version,
            attempts: moved.attempts.clone(),
        }
    }
}

impl EventRecord {
    /// # Errors
    /// By field.
    pub fn open(self) -> Result<MovedEvent, Invalid> {
        let hash = HEXLOWER.decode(self.request_hash.as_bytes()).ok();
        let hash = hash.and_then(|hash| hash.try_into().ok());
        let hash = hash.ok_or_else(|| unreadable("request_hash"))?;
        let body = BASE64.decode(self.payload_base64.as_bytes());
        let body = body.map_err(|_| Invalid::field("payload_base64", "must be base64"))?;
        let event = Event {
            id: self.id,
            tenant: self.tenant,
            event_type: self.event_type,
            session_id: self.session_id,
            content_type: self.content_type,
            body: body.into(),
            origin: self.origin,
            created_at: self.created_at,
        };
        let mut deliveries = Vec::with_capacity(self.deliveries.len());
        for (n, record) in self.deliveries.into_iter().enumerate() {
            deliveries.push(record.open(&event, n)?);
        }
        Ok(MovedEvent {
            event: Arc::new(event),
            request_hash: RequestHash(hash),
            deliveries,
        })
    }
}

impl DeliveryRecord {
    fn open(self, event: &Event, n: usize) -> Result<MovedDelivery, Invalid> {
        if self.status.is_open() != self.next_retry_at.is_some() {
            let field = format!("deliveries[{n}].next_retry_at");
            let message = "must be set if and only if the delivery is open";
            return Err(Invalid::field(field, message));
        }
        let row = Delivery {
            id: DeliveryId {
                event: event.id,
                webhook: self.webhook_id,
            },
            tenant: event.tenant.clone(),
            event_type: event.event_type.clone(),
            session_id: self.session_id,
            intent: self.intent,
            target_url: self.target_url,
            signature: self.signature,
            status: self.status,
            dead_cause: self.dead_cause,
            attempt_count: self.attempt_count,
            attempts_total: self.attempts_total,
            max_attempts: self.max_attempts,
            last_attempted_at: self.last_attempted_at,
            next_retry_at: self.next_retry_at,
            created_at: event.created_at,
            error_detail: self.error_detail,
            last_status: self.last_status,
            generation: 0,
            in_backlog: false,
            version: self.version,
            lease_owner: None,
            lease_until: Timestamp::ZERO,
        };
        Ok(MovedDelivery {
            row,
            attempts: self.attempts,
        })
    }
}
