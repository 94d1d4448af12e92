//! The response to a publisher or an inbound sender.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use postrider_api_types::event::{DeliveryAnswer, EventAnswer};
use postrider_domain::ids::DeliveryId;
use postrider_gateway::ingest::{Published, Repeated};

/// An event that is stored, as a response: 202, or 200 if an earlier call stored it.
#[derive(Debug)]
pub struct StoredEvent(pub EventAnswer);

impl From<Published> for StoredEvent {
    fn from(published: Published) -> Self {
        let answer = |id: DeliveryId| DeliveryAnswer {
            id: id.to_string(),
            webhook_id: id.webhook.to_string(),
        };
        Self(EventAnswer {
            id: published.event.to_string(),
            duplicate: published.repeated == Repeated::Yes,
            deliveries: published.deliveries.into_iter().map(answer).collect(),
        })
    }
}

impl IntoResponse for StoredEvent {
    fn into_response(self) -> Response {
        let status = if self.0.duplicate {
            StatusCode::OK
        } else {
            StatusCode::ACCEPTED
        };
        (status, Json(self.0)).into_response()
    }
}
