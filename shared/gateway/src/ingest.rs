//! From a published event to stored deliveries.

mod storing;
mod to_the_end;

use std::sync::Arc;

use bytes::Bytes;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::{Event, Label, Origin};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::invalid::Invalid;
use postrider_domain::pattern::EventType;
use postrider_domain::route;
use postrider_domain::signature;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::Acceptance;
use postrider_ports::history::History;

use crate::webhook_cache::{Snapshot, WebhookCache};
use crate::{GatewayError, Ports, traces};

pub(crate) use storing::{FastPath, Handoff};

/// The longest Idempotency-Key, in bytes.
pub const MAX_KEY_BYTES: usize = 255;

/// An event as published, unchecked.
#[derive(Clone, Debug)]
pub struct EventDraft {
    pub event_type: String,
    /// Delivered byte for byte.
    pub body: Bytes,
    pub content_type: String,
    pub session_id: Option<String>,
    /// The only webhook to deliver to, regardless of its event types.
    pub webhook_id: Option<String>,
    pub origin: Origin,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub event: EventId,
    pub repeated: Repeated,
    pub deliveries: Vec<DeliveryId>,
}

/// Whether an earlier call with the same key stored the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    No,
    /// The call changed nothing.
    Yes,
}

pub struct Ingest {
    ports: Ports<dyn History>,
    webhook_cache: Arc<WebhookCache>,
    handoff: Handoff,
    max_body_bytes: usize,
}

/// A checked event and the webhook it names, if any.
struct Checked {
    event: Arc<Event>,
    named: Option<WebhookId>,
}

impl Ingest {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn History>>,
        webhook_cache: Arc<WebhookCache>,
        handoff: Handoff,
        max_body_bytes: usize,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
            handoff,
            max_body_bytes,
        }
    }

    /// Stores an event and its deliveries, then starts them or sends their queue messages. With a key, a repeated call
    /// returns the result of the first one.
    pub async fn publish(
        &self,
        tenant: &TenantId,
        draft: EventDraft,
        key: Option<&str>,
    ) -> Result<Published, GatewayError> {
        let now = self.ports.clock.now();
        let checked = self.check(tenant, draft, key, now)?;
        let mut snapshot = self.webhook_cache.remembered(tenant, now).await?;
        loop {
            let planned = match route::plan(&checked.event, checked.named, &snapshot.webhooks) {
                Ok(planned) => planned,
                Err(unroutable) => match self
                    .reconsider(tenant, &checked, key, &snapshot, now)
                    .await?
                {
                    Reconsidered::PlanAgain(newer) => {
                        snapshot = newer;
                        continue;
                    }
                    Reconsidered::SeenBefore => Vec::new(),
                    Reconsidered::No => return Err(unroutable.into()),
                },
            };
            let acceptance = acceptance(&checked, &planned, snapshot.version, now);
            let reserved = self.handoff.reserve(planned, now);
            if let Some(published) = self.handoff.store(acceptance, reserved).await? {
                traces::accepted(&checked.event, &published, now, &*self.ports.clock);
                return Ok(published);
            }
            snapshot = self.webhook_cache.current(tenant, now).await?;
        }
    }

    fn check(
        &self,
        tenant: &TenantId,
        draft: EventDraft,
        key: Option<&str>,
        now: Timestamp,
    ) -> Result<Checked, GatewayError> {
        let mut faults = Invalid::default();
        let event_type = faults.take("type", EventType::try_from(draft.event_type));
        let content_type = faults.take("content_type", Label::try_from(draft.content_type));
        let session_id = draft
            .session_id
            .map(|text| faults.take("session_id", Label::try_from(text)));
        let named = draft
            .webhook_id
            .map(|text| faults.take("webhook_id", text.parse::<WebhookId>()));
        let is_key = |key: &str| {
            (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic())
        };
        faults.require(key.is_none_or(is_key), "Idempotency-Key", || {
            format!("must be 1 to {MAX_KEY_BYTES} visible ASCII characters")
        });
        let (Some(event_type), Some(content_type)) = (event_type, content_type) else {
            return Err(faults.into());
        };
        faults.into_result()?;
        if draft.body.len() > self.max_body_bytes {
            return Err(GatewayError::TooLarge {
                limit: self.max_body_bytes,
            });
        }
        let id = match key {
            Some(key) => EventId::keyed(tenant, "api", key),
            None => EventId::new(now, &self.ports.entropy.bytes()),
        };
        let event = Event {
            id,
            tenant: tenant.clone(),
            event_type,
            session_id: session_id.flatten(),
            content_type,
            body: draft.body,
            origin: draft.origin,
            created_at: now,
        };
        Ok(Checked {
            event: Arc::new(event),
            named: named.flatten(),
        })
    }

    /// A named webhook that cannot be delivered to may have been created or resumed since the snapshot. A repeated call
    /// gets the same answer as the first one even if the webhook has been deleted since.
    async fn reconsider(
        &self,
        tenant: &TenantId,
        checked: &Checked,
        key: Option<&str>,
        used: &Snapshot,
        now: Timestamp,
    ) -> Result<Reconsidered, GatewayError> {
        let newer = self.webhook_cache.current(tenant, now).await?;
        if newer.version != used.version {
            return Ok(Reconsidered::PlanAgain(newer));
        }
        let seen = key.is_some()
            && self
                .ports
                .store
                .event(tenant, checked.event.id)
                .await?
                .is_some();
        Ok(if seen {
            Reconsidered::SeenBefore
        } else {
            Reconsidered::No
        })
    }
}

fn acceptance(
    checked: &Checked,
    planned: &[&Webhook],
    config_version: u64,
    now: Timestamp,
) -> Acceptance {
    let event = &checked.event;
    let rows = planned.iter().map(|webhook| fresh_row(event, webhook, now));
    Acceptance {
        event: Arc::clone(event),
        request_hash: event.request_hash(checked.named),
        rows: rows.collect(),
        config_version,
    }
}

enum Reconsidered {
    PlanAgain(Arc<Snapshot>),
    SeenBefore,
    No,
}

/// A new delivery: pending and due now.
pub(crate) fn fresh_row(event: &Event, webhook: &Webhook, now: Timestamp) -> Delivery {
    Delivery {
        id: DeliveryId {
            event: event.id,
            webhook: webhook.id,
        },
        tenant: event.tenant.clone(),
        event_type: event.event_type.clone(),
        session_id: event.session_id.clone(),
        intent: None,
        target_url: webhook.settings.target_url.to_string(),
        signature: signature::plain(&webhook.secrets.current, &event.body),
        status: Status::Pending,
        dead_cause: None,
        attempt_count: 0,
        attempts_total: 0,
        max_attempts: webhook.settings.retry.max_attempts(),
        last_attempted_at: None,
        next_retry_at: Some(now),
        created_at: now,
        error_detail: None,
        last_status: None,
        generation: webhook.health.generation,
        in_backlog: false,
        version: 0,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
    }
}
