//! The catalogue of event types.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::event_type::{EventTypeListView, EventTypeView, NewEventType};
use postrider_api_types::schema;
use postrider_domain::event_catalogue::EntryOwner;
use postrider_domain::invalid::Invalid;
use postrider_domain::pattern::EventType;
use postrider_gateway::catalogue::Put;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id};
use crate::openapi::{DocumentProblems, ItemProblems, Problems};
use crate::problem::{Problem, ProblemBody};

const NAME: &str = "must be an event type, such as `order.paid`: visible ASCII characters in segments, without `*`";

/// List event types, by name
///
/// The tenant's own entries, and those of the operator for other event types.
#[utoipa::path(
    get, path = "/v1/event-types", operation_id = "list_event_types", tag = "event types", security(("token" = ["read"])),
    responses((status = 200, description = "The catalogue.", body = EventTypeListView), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
) -> Result<Json<EventTypeListView>, Problem> {
    let listed = api.gateway.catalogue.list(caller.tenant()).await?;
    Ok(Json(EventTypeListView {
        items: listed.into_iter().map(EventTypeView::from).collect(),
        next_cursor: None,
    }))
}

/// Get an event type
#[utoipa::path(
    get, path = "/v1/event-types/{name}", operation_id = "get_event_type", tag = "event types", security(("token" = ["read"])),
    params(("name" = schema::EventType, Path, description = "Such as `order.paid`")),
    responses((status = 200, description = "The event type.", body = EventTypeView), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(name): Id<EventType>,
) -> Result<Json<EventTypeView>, Problem> {
    let listed = api.gateway.catalogue.get(caller.tenant(), &name).await?;
    Ok(Json(listed.into()))
}

/// Create or replace an event type
///
/// With a key of the tenant `default`, the entry applies to every tenant that has none of its own for the type.
#[utoipa::path(
    put, path = "/v1/event-types/{name}", operation_id = "put_event_type", tag = "event types", security(("token" = ["manage"])),
    params(("name" = schema::EventType, Path, description = "Such as `order.paid`")),
    request_body = NewEventType,
    responses(
        (status = 200, description = "It was replaced.", body = EventTypeView),
        (status = 201, description = "It was created.", body = EventTypeView),
        (status = 409, description = "The tenant has 500 event types.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        ItemProblems,
    )
)]
pub(crate) async fn put(
    State(api): State<Api>,
    caller: Caller<Manage>,
    name: Result<Id<EventType>, Problem>,
    Document(given): Document<NewEventType>,
) -> Result<(StatusCode, Json<EventTypeView>), Problem> {
    let Id(name) = name.map_err(|_| Invalid::field("name", NAME))?;
    let catalogue = &api.gateway.catalogue;
    let put = catalogue.put(caller.tenant(), name, given.into()).await?;
    let (status, entry) = match put {
        Put::Created(entry) => (StatusCode::CREATED, entry),
        Put::Replaced(entry) => (StatusCode::OK, entry),
    };
    Ok((status, Json(EventTypeView::of(entry, EntryOwner::Tenant))))
}

/// Delete an event type
///
/// Only the tenant's own entry; one of the operator shows up again.
#[utoipa::path(
    delete, path = "/v1/event-types/{name}", operation_id = "delete_event_type", tag = "event types", security(("token" = ["manage"])),
    params(("name" = schema::EventType, Path, description = "Such as `order.paid`")),
    responses((status = 204, description = "It was deleted."), ItemProblems)
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(name): Id<EventType>,
) -> Result<StatusCode, Problem> {
    api.gateway.catalogue.delete(caller.tenant(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
