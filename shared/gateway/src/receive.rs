//! From an inbound request to stored deliveries.

mod rejections;

use std::sync::Arc;

use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::handshake::{HandshakeReply, handshake};
use postrider_domain::ids::{EventId, SourceId};
use postrider_domain::inbound::{Inbound, Rejection, Verified, verify};
use postrider_domain::payload_filter::Payload;
use postrider_domain::rejected::RejectedRequest;
use postrider_domain::route::{self, Routed};
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;
use postrider_ports::InboundStore;
use postrider_ports::deliveries::{Acceptance, EventIdFrom};

use crate::event_validation::Validation;
use crate::ingest::{Handoff, Published, fresh_row};
pub use rejections::RejectionLog;

use crate::webhook_cache::WebhookCache;
use crate::{GatewayError, Ports, telemetry, traces};

/// The result of a verified request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    Stored(Published),
    /// A verification handshake instead of an event: the sender checks who owns the URL.
    Answered(HandshakeReply),
}

pub struct Receive {
    ports: Ports<dyn InboundStore>,
    webhook_cache: Arc<WebhookCache>,
    handoff: Handoff,
    rejections: Arc<RejectionLog>,
    validation: Arc<Validation>,
    max_body_bytes: usize,
}

impl Receive {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn InboundStore>>,
        webhook_cache: Arc<WebhookCache>,
        handoff: Handoff,
        rejections: Arc<RejectionLog>,
        validation: Arc<Validation>,
        max_body_bytes: usize,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
            handoff,
            rejections,
            validation,
            max_body_bytes,
        }
    }

    /// Verifies a request to `source`, stores its event and the deliveries that the source's routes create, then starts
    /// them or sends their queue messages. A repeated request returns the result of the first one, whatever its body. A
    /// rejected request is stored for the source's owner, or only counted. `verified_then` is called as soon as the sender is
    /// known.
    ///
    /// # Errors
    /// A request that fails verification always gets [`GatewayError::Unverified`], without the reason.
    pub async fn receive(
        &self,
        source: &str,
        inbound: Inbound,
        verified_then: impl FnOnce(),
    ) -> Result<Received, GatewayError> {
        if inbound.body.len() > self.max_body_bytes {
            return Err(self.too_large(source, inbound).await);
        }
        let now = self.ports.clock.now();
        let source = self.find(source).await?;
        let source = source.as_ref();
        if let Some(reply) = source.and_then(|source| handshake(&inbound, source, now)) {
            verified_then();
            telemetry::inbound_answered(source);
            return Ok(Received::Answered(reply));
        }
        match genuine(inbound.clone(), source, now) {
            Ok(verified) => {
                verified_then();
                let fresh = || EventId::new(now, &self.ports.entropy.bytes());
                let keyed = verified.keyed_id();
                let from = keyed.map_or(EventIdFrom::Chance, |_| EventIdFrom::Key);
                let source = verified.source();
                let event = Arc::new(verified.into_event(keyed.unwrap_or_else(fresh), now));
                let published = self.store(source, &event, from, now).await?;
                telemetry::inbound_accepted(source, &event, &published);
                traces::accepted(&event, &published, now, &*self.ports.clock);
                Ok(Received::Stored(published))
            }
            Err(reason) => {
                self.store_rejected(source, inbound, reason, now).await;
                Err(GatewayError::Unverified)
            }
        }
    }

    /// Rejects a request whose body exceeds the limit. The body need not have been read.
    pub async fn too_large(&self, source: &str, inbound: Inbound) -> GatewayError {
        let now = self.ports.clock.now();
        let source = match self.find(source).await {
            Ok(source) => source,
            Err(error) => return error.into(),
        };
        self.store_rejected(source.as_ref(), inbound, Rejection::TooLarge, now)
            .await;
        GatewayError::TooLarge {
            limit: self.max_body_bytes,
        }
    }

    /// An invalid id is looked up as well, so that the response takes equally long.
    async fn find(&self, source: &str) -> postrider_ports::Result<Option<Source>> {
        let id = source.parse().unwrap_or(SourceId::UNKNOWN);
        self.ports.store.source_by_id(id).await
    }

    /// Every rejection takes this path, whatever its reason and even without a source, so that the response time reveals
    /// nothing. A rejection that cannot be stored gets the same answer.
    async fn store_rejected(
        &self,
        source: Option<&Source>,
        inbound: Inbound,
        reason: Rejection,
        now: Timestamp,
    ) {
        telemetry::inbound_rejected(source, reason);
        let rejected = match source {
            Some(source) => RejectedRequest::of(source, inbound, reason, now),
            None => RejectedRequest::to_unknown_source(inbound, reason, now),
        };
        if let Err(error) = self.rejections.add(rejected).await {
            telemetry::rejection_not_stored(source, &error);
        }
    }

    async fn store(
        &self,
        source: &Source,
        event: &Arc<Event>,
        event_id: EventIdFrom,
        now: Timestamp,
    ) -> Result<Published, GatewayError> {
        self.handoff.admit().await;
        let payload = Payload::new(event.body.clone());
        let mut snapshot = self.webhook_cache.remembered(&event.tenant, now).await?;
        loop {
            if snapshot.is_deleted() {
                // As if the source were deleted already.
                return Err(GatewayError::Unverified);
            }
            snapshot.check_body(event.body.len())?;
            // A sender of webhooks cannot correct what it sends: it would only retry, and the event would be lost.
            let faults = self.validation.faults(event, &payload, &snapshot, now);
            let faults = faults.await?;
            let planned = route::follow(
                &source.settings.routes,
                &event.event_type,
                &payload,
                &snapshot.webhooks,
            );
            let webhooks = planned.iter().map(|routed| routed.webhook);
            let reserved = self.handoff.reserve(webhooks, event.body.len(), now);
            let acceptance = Acceptance {
                event: Arc::clone(event),
                request_hash: RequestHash::of_id(event.id),
                rows: rows(event, planned, now),
                config_version: snapshot.version,
                event_id,
            };
            if let Some(published) = self.handoff.store(acceptance, reserved).await? {
                telemetry::schema_mismatch_accepted(event, &faults, &published);
                return Ok(published);
            }
            snapshot = self.webhook_cache.current(&event.tenant, now).await?;
        }
    }
}

fn rows(event: &Event, planned: Vec<Routed<'_>>, now: Timestamp) -> Vec<Delivery> {
    let row = |Routed { webhook, route }: Routed<'_>| Delivery {
        session_id: route.target_session.clone(),
        intent: Some(route.intent.clone()),
        ..fresh_row(event, webhook, now)
    };
    planned.into_iter().map(row).collect()
}

/// Only a signed POST carries an event. Requests with another method are handshakes.
fn genuine(
    inbound: Inbound,
    source: Option<&Source>,
    now: Timestamp,
) -> Result<Verified<'_>, Rejection> {
    let is_event = inbound.method == http::Method::POST;
    let verified = verify(inbound, source, now)?;
    is_event.then_some(verified).ok_or(Rejection::Unsigned)
}
