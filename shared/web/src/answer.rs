//! The response to a publisher or an inbound sender.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use postrider_domain::ids::{DeliveryId, EventId, WebhookId};
use postrider_gateway::ingest::{Published, Repeated};
use serde::Serialize;

/// An accepted event.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct EventAnswer {
    #[schema(value_type = String, example = "evt_abgkzo5adn36vn6vlk3u2gdxky")]
    id: EventId,
    /// Whether an earlier request with the same idempotency key and content already stored the event.
    duplicate: bool,
    /// One per webhook that gets the event; empty if none is subscribed.
    deliveries: Vec<DeliveryAnswer>,
}

/// A delivery of the event to a webhook.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DeliveryAnswer {
    #[schema(value_type = String)]
    id: DeliveryId,
    #[schema(value_type = String)]
    webhook_id: WebhookId,
}

impl From<Published> for EventAnswer {
    fn from(published: Published) -> Self {
        let answer = |id: DeliveryId| DeliveryAnswer {
            id,
            webhook_id: id.webhook,
        };
        Self {
            id: published.event,
            duplicate: published.repeated == Repeated::Yes,
            deliveries: published.deliveries.into_iter().map(answer).collect(),
        }
    }
}

impl IntoResponse for EventAnswer {
    fn into_response(self) -> Response {
        let status = if self.duplicate {
            StatusCode::OK
        } else {
            StatusCode::ACCEPTED
        };
        (status, Json(self)).into_response()
    }
}
