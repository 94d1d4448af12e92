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
use postrider_domain::payload_filter::Payload;
use postrider_domain::route;
use postrider_domain::signature;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Error;
use postrider_ports::deliveries::{Acceptance, EventIdFrom};
use postrider_ports::history::History;

use crate::error::{Conflict, Limited};
use crate::event_validation::{Validation, Verdict};
use crate::publish_rate::PublishRates;
use crate::webhook_cache::{Snapshot, WebhookCache};
use crate::{GatewayError, Ports, telemetry, traces};

pub(crate) use storing::{FastPath, Handoff};

use postrider_ports::start_now::Planned;

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
    /// The only webhook to deliver to, regardless of its event types, if its filter matches.
    pub webhook_id: Option<String>,
    pub origin: Origin,
}

/// An event to publish, with the idempotency key of its call.
#[derive(Clone, Debug)]
pub struct PublishRequest {
    pub draft: EventDraft,
    pub key: Option<String>,
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
    validation: Arc<Validation>,
    max_body_bytes: usize,
    rates: PublishRates,
}

/// A checked event and the webhook it names, if any.
struct Checked {
    event: Arc<Event>,
    /// Parsed once, however many webhooks have a filter.
    payload: Payload,
    event_id: EventIdFrom,
    named: Option<WebhookId>,
    /// Whether it was counted against the tenant's publish rate.
    rated: bool,
}

impl Ingest {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn History>>,
        webhook_cache: Arc<WebhookCache>,
        handoff: Handoff,
        validation: Arc<Validation>,
        max_body_bytes: usize,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
            handoff,
            validation,
            max_body_bytes,
            rates: PublishRates::default(),
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
        let key = key.map(ToOwned::to_owned);
        let published = self.publish_all(tenant, vec![PublishRequest { draft, key }]);
        let unanswered = || Err(Error::Broken("the event was left unanswered".into()).into());
        published.await.pop().unwrap_or_else(unanswered)
    }

    /// The same for many events; one result each, in order. On AWS they share one read of the webhooks' version and the calls
    /// to the queue.
    pub async fn publish_all(
        &self,
        tenant: &TenantId,
        requests: Vec<PublishRequest>,
    ) -> Vec<Result<Published, GatewayError>> {
        self.handoff.admit().await;
        let now = self.ports.clock.now();
        let mut answers = Answers::of(requests.len());
        let mut open = Vec::with_capacity(requests.len());
        for (index, request) in requests.into_iter().enumerate() {
            match self.check(tenant, request, now) {
                Ok(checked) => open.push((index, checked)),
                Err(error) => answers.set(index, Err(error)),
            }
        }
        let mut snapshot = match self.webhook_cache.remembered(tenant, now).await {
            Ok(snapshot) => snapshot,
            Err(error) => return answers.or(&error),
        };
        while !open.is_empty() {
            match self
                .try_publish(&mut open, &mut answers, &snapshot, now)
                .await
            {
                Ok(Tried::Done) => {}
                Ok(Tried::PlanAgain(newer)) => snapshot = newer,
                Err(error) => return answers.or(&error),
            }
        }
        answers.or(&Error::Broken("the event was left unanswered".into()))
    }

    /// Plans and stores the events that are still open, unless the webhooks are newer than the snapshot.
    async fn try_publish(
        &self,
        open: &mut Vec<(usize, Checked)>,
        answers: &mut Answers,
        snapshot: &Arc<Snapshot>,
        now: Timestamp,
    ) -> postrider_ports::Result<Tried> {
        let Some((_, first)) = open.first() else {
            return Ok(Tried::Done);
        };
        let tenant = first.event.tenant.clone();
        let plan = |checked: &Checked| {
            let Checked { event, payload, .. } = checked;
            route::plan(event, payload, checked.named, &snapshot.webhooks)
        };
        // A webhook that an event names may have been created or enabled since the snapshot.
        let is_unroutable = |checked: &Checked| checked.named.is_some() && plan(checked).is_err();
        if open.iter().any(|(_, checked)| is_unroutable(checked)) {
            let newer = self.webhook_cache.current(&tenant, now).await?;
            if newer.version != snapshot.version {
                return Ok(Tried::PlanAgain(newer));
            }
        }
        let (mut planned, mut indexes) = (Vec::new(), Vec::new());
        for (index, mut checked) in std::mem::take(open) {
            if snapshot.is_deleted() {
                answers.set(index, Err(Conflict::TenantDeleted.into()));
                continue;
            }
            if let Err(limited) = self.within_limits(&mut checked, snapshot, now) {
                answers.set(index, Err(limited.into()));
                continue;
            }
            let faults = match self.verdict(&checked, snapshot, now).await {
                Ok(Verdict::Accept(faults)) => faults,
                Ok(Verdict::LookAgain) => {
                    open.push((index, checked));
                    continue;
                }
                Ok(Verdict::Reject(faults)) => {
                    telemetry::schema_mismatch_rejected(&checked.event, &faults);
                    answers.set(index, Err(GatewayError::SchemaMismatch(faults)));
                    continue;
                }
                Err(error) => {
                    answers.set(index, Err(error.into()));
                    continue;
                }
            };
            let webhooks = match plan(&checked) {
                Ok(webhooks) => webhooks,
                Err(unroutable) => match self.was_accepted(&checked).await {
                    Ok(true) => Vec::new(),
                    Ok(false) => {
                        answers.set(index, Err(unroutable.into()));
                        continue;
                    }
                    Err(error) => {
                        answers.set(index, Err(error.into()));
                        continue;
                    }
                },
            };
            let acceptance = acceptance(&checked, &webhooks, snapshot.version, now);
            let bytes = checked.event.body.len();
            let reserved = self.handoff.reserve(webhooks, bytes, now);
            planned.push(Planned {
                acceptance,
                reserved,
            });
            indexes.push((index, checked, faults));
        }
        let stored = self.handoff.store_all(planned).await;
        for ((index, checked, faults), stored) in indexes.into_iter().zip(stored) {
            match stored.transpose() {
                Some(published) => {
                    if let Ok(published) = &published {
                        telemetry::schema_mismatch_accepted(&checked.event, &faults, published);
                        traces::accepted(&checked.event, published, now, &*self.ports.clock);
                    }
                    answers.set(index, published);
                }
                None => open.push((index, checked)),
            }
        }
        if open.is_empty() {
            return Ok(Tried::Done);
        }
        self.webhook_cache
            .current(&tenant, now)
            .await
            .map(Tried::PlanAgain)
    }

    async fn verdict(
        &self,
        checked: &Checked,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> postrider_ports::Result<Verdict> {
        let Checked { event, payload, .. } = checked;
        let verdict = self.validation.check(event, payload, snapshot, now).await?;
        match verdict {
            Verdict::Reject(_) if self.was_accepted(checked).await? => {
                Ok(Verdict::Accept(Vec::new()))
            }
            Verdict::Accept(_) | Verdict::Reject(_) | Verdict::LookAgain => Ok(verdict),
        }
    }

    /// Checks the limits of the tenant's record.
    fn within_limits(
        &self,
        checked: &mut Checked,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<(), Limited> {
        snapshot.check_body(checked.event.body.len())?;
        let rate = snapshot.limits().publish_rate;
        if let Some(limit) = rate.filter(|_| !checked.rated) {
            if !self.rates.take(&checked.event.tenant, limit, now) {
                return Err(Limited::PublishRate { limit });
            }
            checked.rated = true;
        }
        Ok(())
    }

    /// Whether an earlier call with this key stored the event. A repeated call gets the same answer as the first one even if the
    /// webhook has been deleted or the schema has changed since.
    async fn was_accepted(&self, checked: &Checked) -> postrider_ports::Result<bool> {
        let (store, event) = (&self.ports.store, &checked.event);
        Ok(checked.event_id == EventIdFrom::Key
            && store.event(&event.tenant, event.id).await?.is_some())
    }

    fn check(
        &self,
        tenant: &TenantId,
        request: PublishRequest,
        now: Timestamp,
    ) -> Result<Checked, GatewayError> {
        let PublishRequest { draft, key } = request;
        let key = key.as_deref();
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
        let (id, event_id) = match key {
            Some(key) => (EventId::keyed(tenant, "api", key), EventIdFrom::Key),
            None => (
                EventId::new(now, &self.ports.entropy.bytes()),
                EventIdFrom::Chance,
            ),
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
            payload: Payload::new(event.body.clone()),
            event: Arc::new(event),
            event_id,
            named: named.flatten(),
            rated: false,
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
        event_id: checked.event_id,
    }
}

/// The result of planning and storing.
enum Tried {
    Done,
    /// Some events are still open because the webhooks have changed.
    PlanAgain(Arc<Snapshot>),
}

/// The results of many events, in the order of the requests.
struct Answers(Vec<Option<Result<Published, GatewayError>>>);

impl Answers {
    fn of(count: usize) -> Self {
        Self((0..count).map(|_| None).collect())
    }

    fn set(&mut self, index: usize, answer: Result<Published, GatewayError>) {
        if let Some(slot) = self.0.get_mut(index) {
            *slot = Some(answer);
        }
    }

    /// All results, and this error for events that have none.
    fn or(self, error: &Error) -> Vec<Result<Published, GatewayError>> {
        let answers = self.0.into_iter();
        answers
            .map(|answer| answer.unwrap_or_else(|| Err(error.clone().into())))
            .collect()
    }
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
