//! Publishes events of an EventBridge bus.

mod bus_event;

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent};
use postrider_domain::ids::TenantId;
use postrider_gateway::error::Limited;
use postrider_gateway::ingest::{Published, Repeated};
use postrider_gateway::{Gateway, GatewayError};
use postrider_ports::dead_letters::DeadLetters;
use postrider_wiring::metrics::{self, Metric, Unit};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tracing::{error, info, warn};

use crate::bus_event::BusEvent;

/// Handles one event per invocation.
pub struct Bridge {
    pub gateway: Gateway,
    /// The tenant that events are published for.
    pub tenant: TenantId,
    pub dead_letters: Arc<dyn DeadLetters>,
    /// The name of the gateway, for metrics.
    pub name: String,
}

/// Why an event was not published.
enum Unpublished {
    /// It would not be accepted at the next attempt either.
    Rejected(String),
    Failed(postrider_ports::Error),
}

impl From<GatewayError> for Unpublished {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Store(error) => Self::Failed(error),
            // Lambda invokes the function again later.
            GatewayError::Limited(limited @ Limited::PublishRate { .. }) => {
                Self::Failed(postrider_ports::Error::Unavailable(limited.to_string()))
            }
            GatewayError::Invalid(_)
            | GatewayError::TooLarge { .. }
            | GatewayError::SchemaMismatch(_)
            | GatewayError::Unverified
            | GatewayError::KeyReused
            | GatewayError::Unroutable(_)
            | GatewayError::NotFound { .. }
            | GatewayError::Conflict(_)
            | GatewayError::Unrendered(_)
            | GatewayError::TooMany { .. }
            | GatewayError::Limited(Limited::Webhooks { .. } | Limited::BodyBytes { .. })
            | GatewayError::TooManyShadows { .. } => Self::Rejected(error.to_string()),
        }
    }
}

impl Bridge {
    /// Publishes an event, or moves it to the dead-letter queue if it can never be published. Takes the event as text, because
    /// its detail is delivered byte for byte.
    ///
    /// # Errors
    /// If it could not be stored in either place. Lambda invokes the function twice more and then moves the event to the
    /// dead-letter queue itself.
    pub async fn handle(&self, event: LambdaEvent<Box<RawValue>>) -> Result<Value, Error> {
        let text = event.payload.get();
        let (id, result) = match BusEvent::read(text) {
            Ok(event) => (event.id.clone(), self.publish(&event).await),
            Err(reason) => (String::new(), Err(Unpublished::Rejected(reason))),
        };
        match result {
            Ok(published) => Ok(report(&id, &published)),
            Err(Unpublished::Rejected(reason)) => self.reject(&id, text, &reason).await,
            Err(Unpublished::Failed(reason)) => {
                error!(event = "bridge.failed", bus_event_id = id, %reason, "an event of the bus could not be stored");
                Err(reason.into())
            }
        }
    }

    async fn publish(&self, event: &BusEvent<'_>) -> Result<Published, Unpublished> {
        let ingest = &self.gateway.ingest;
        let published = ingest.publish(&self.tenant, event.draft(), Some(&event.id));
        Ok(published.await?)
    }

    async fn reject(&self, id: &str, text: &str, reason: &str) -> Result<Value, Error> {
        error!(
            event = "bridge.rejected",
            bus_event_id = id,
            reason,
            "an event of the bus cannot be published and goes to the dead-letter queue"
        );
        self.dead_letters.add(text, reason).await?;
        let rejected = Metric::of("bridge_events_rejected", Unit::Count, 1);
        let now = self.gateway.ports.clock.now();
        if let Err(reason) = metrics::emit(&self.name, now, &[rejected]) {
            warn!(event = "bridge.metrics_failed", %reason, "a rejected event could not be counted");
        }
        Ok(json!({"rejected": reason}))
    }
}

fn report(id: &str, published: &Published) -> Value {
    let repeated = published.repeated == Repeated::Yes;
    let deliveries = published.deliveries.len();
    info!(
        event = "bridge.published",
        bus_event_id = id,
        event_id = %published.event,
        deliveries,
        repeated,
        "published an event of the bus"
    );
    json!({"event_id": published.event, "deliveries": deliveries, "repeated": repeated})
}
