//! From a request of a source to rows that will be delivered.

use std::sync::Arc;

use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, RequestHash};
use postrider_domain::ids::{EventId, SourceId};
use postrider_domain::inbound::{self, Inbound};
use postrider_domain::route::{self, Routed};
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Acceptance, NewRow};
use postrider_ports::queue::Queue;

use crate::catalogue::{Catalogue, Snapshot};
use crate::ingest::{Published, fresh_row, storing};
use crate::{Ports, Refusal, telemetry, traces};

/// Looked for in place of what cannot be an id, so that it takes as long. No source has it: it is no UUIDv7.
const NOBODY: SourceId = SourceId::from_bytes([0; 16]);

/// Accepts what sources send.
pub struct Receive {
    ports: Ports,
    catalogue: Arc<Catalogue>,
    queue: Arc<dyn Queue>,
    max_body_bytes: usize,
}

impl Receive {
    pub(crate) fn new(
        ports: Ports,
        catalogue: Arc<Catalogue>,
        queue: Arc<dyn Queue>,
        max_body_bytes: usize,
    ) -> Self {
        Self {
            ports,
            catalogue,
            queue,
            max_body_bytes,
        }
    }

    /// Verifies a request that was sent to `source`, stores its event and the rows that the source's routes give it,
    /// then starts or announces them. A delivery that the sender repeats finds the first one, whatever its body.
    ///
    /// # Errors
    /// Why nothing was stored. A request that is not genuine is told nothing but that.
    pub async fn receive(&self, source: &str, inbound: Inbound) -> Result<Published, Refusal> {
        if inbound.body.len() > self.max_body_bytes {
            return Err(Refusal::TooLarge {
                limit: self.max_body_bytes,
            });
        }
        let now = self.ports.clock.now();
        let id = source.parse().unwrap_or(NOBODY);
        let source = self.ports.store.source_by_id(id).await?;
        let verified = inbound::verify(inbound, source.as_ref(), now).map_err(|reason| {
            telemetry::inbound_refused(source.as_ref(), reason);
            Refusal::Unverified
        })?;
        // Nothing is verified without a source.
        let Some(source) = source.as_ref() else {
            return Err(Refusal::Unverified);
        };
        let fresh = || EventId::new(now, &self.ports.entropy.bytes());
        let id = verified.keyed_id().unwrap_or_else(fresh);
        let event = Arc::new(verified.into_event(id, now));
        let published = self.store(source, &event, now).await?;
        telemetry::inbound_accepted(source, &event, &published);
        traces::accepted(&event, &published, now, &*self.ports.clock);
        Ok(published)
    }

    async fn store(
        &self,
        source: &Source,
        event: &Arc<Event>,
        now: Timestamp,
    ) -> Result<Published, Refusal> {
        let mut snapshot = self.catalogue.remembered(&event.tenant, now).await?;
        loop {
            let acceptance = self.acceptance(source, event, &snapshot, now);
            if let Some(published) = storing::store(&self.ports, &self.queue, acceptance).await? {
                return Ok(published);
            }
            snapshot = self.catalogue.current(&event.tenant, now).await?;
        }
    }

    fn acceptance(
        &self,
        source: &Source,
        event: &Arc<Event>,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Acceptance {
        let planned = route::follow(
            &source.settings.routes,
            &event.event_type,
            &snapshot.webhooks,
        );
        let rows = planned.into_iter().map(|Routed { webhook, route }| NewRow {
            row: Delivery {
                session_id: route.target_session.clone(),
                intent: Some(route.intent.clone()),
                ..fresh_row(event, webhook, now)
            },
            lease: self.queue.offer(webhook, now),
        });
        Acceptance {
            event: Arc::clone(event),
            request_hash: RequestHash::of_id(event.id),
            rows: rows.collect(),
            config_version: snapshot.version,
        }
    }
}
