//! Shows a stored event, and delivers it to another webhook.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::event::{EventDetail, LateDelivery};
use postrider_domain::ids::{EventId, WebhookId};
use postrider_domain::invalid::Invalid;

use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id};
use crate::openapi::{DocumentProblems, ItemProblems};
use crate::problem::{Code, Problem, ProblemBody};
use crate::{Api, deliveries};

/// Get an event with its payload and deliveries
#[utoipa::path(
    get, path = "/v1/events/{id}", operation_id = "get_event", tag = "events", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`evt_…`")),
    responses(
        (status = 200, description = "The event.", body = EventDetail),
        (status = 410, description = "The content of the event was erased.", body = ProblemBody, content_type = "application/problem+json"),
        ItemProblems,
    )
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<EventId>,
) -> Result<Json<EventDetail>, Problem> {
    let (history, tenant) = (&api.gateway.ports.store, caller.tenant());
    let event = history.event(tenant, id).await?;
    let Some(event) = event else {
        return Err(gone(&api, &caller, id).await?);
    };
    let mut rows = history.rows_of(tenant, id).await?;
    rows.sort_by_key(|row| row.id);
    let deliveries = deliveries::views(&api, &caller, rows).await?;
    Ok(Json(EventDetail::new(&event, deliveries)))
}

async fn gone(api: &Api, caller: &Caller<Read>, id: EventId) -> Result<Problem, Problem> {
    let store = &api.gateway.ports.store;
    Ok(match store.erased_at(caller.tenant(), id).await? {
        None => Problem::not_found("event"),
        Some(at) => {
            let detail = format!("the content of this event was erased at {at}");
            Problem::new(Code::Erased, detail)
        }
    })
}

/// Deliver a stored event to a webhook that did not get it
///
/// For a webhook that was created later, or was not subscribed. Its event types and filter are ignored.
#[utoipa::path(
    post, path = "/v1/events/{id}/deliveries", operation_id = "deliver_event", tag = "events", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`evt_…`")),
    request_body(content = LateDelivery, content_type = "application/json"),
    responses(
        (status = 202, description = "The new delivery.", body = DeliveryView),
        (status = 409, description = "The webhook is disabled, or already has a delivery of the event.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        ItemProblems,
    )
)]
pub(crate) async fn deliver(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<EventId>,
    Document(given): Document<LateDelivery>,
) -> Result<(StatusCode, Json<DeliveryView>), Problem> {
    let mut faults = Invalid::default();
    let webhook = faults.take("webhook_id", given.webhook_id.parse::<WebhookId>());
    let Some(webhook) = webhook else {
        return Err(faults.into());
    };
    let row = api.gateway.deliver_to(caller.tenant(), id, webhook).await?;
    let view = deliveries::view_of(&api, caller.tenant(), row).await?;
    Ok((StatusCode::ACCEPTED, Json(view)))
}
