//! Erases the content of events and sessions, and shows what was erased.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::delivery::MAX_PAGE;
use postrider_api_types::erasure::{DEFAULT_PAGE, ErasureList, ErasurePageParameters, ErasureView};
use postrider_domain::event::Label;
use postrider_domain::ids::{ErasureId, EventId};
use postrider_domain::invalid::Invalid;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Id, Query, limit};
use crate::openapi::{ItemProblems, Problems};
use crate::problem::Problem;

type Begun = (StatusCode, Json<ErasureView>);

/// Erase the content of an event
///
/// Removes its payload, its session, and the intents, signatures and texts of its deliveries and their attempts. What is being
/// attempted ends first; deliveries that are still open are dead then, with the `dead_cause` `erased`. The event's type and the
/// status of its deliveries stay. A request with the event's `Idempotency-Key` gets 409 from then on.
#[utoipa::path(
    delete, path = "/v1/events/{id}", operation_id = "erase_event", tag = "erasures", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`evt_…`")),
    responses((status = 202, description = "Erased, or begun: see `state`.", body = ErasureView), ItemProblems)
)]
pub(crate) async fn erase_event(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<EventId>,
) -> Result<Begun, Problem> {
    let erasing = &api.gateway.erasing;
    let erasure = erasing.erase_event(caller.tenant(), id, caller.key().id);
    Ok((StatusCode::ACCEPTED, Json(erasure.await?.into())))
}

/// Erase the content of a session
///
/// Erases every event that was accepted so far and has a delivery in the session, like `DELETE /v1/events/{id}`. The first ones
/// are erased by this call and the rest in the background. On AWS it is done at the earliest after ten minutes, because lists
/// may lag.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", operation_id = "erase_session", tag = "erasures", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "A `session_id`, percent-encoded.")),
    responses((status = 202, description = "Erased, or begun: see `state`.", body = ErasureView), ItemProblems)
)]
pub(crate) async fn erase_session(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(session): Id<Label>,
) -> Result<Begun, Problem> {
    let erasing = &api.gateway.erasing;
    let erasure = erasing.erase_session(caller.tenant(), session, caller.key().id);
    Ok((StatusCode::ACCEPTED, Json(erasure.await?.into())))
}

/// List erasures
///
/// With a key of the tenant `default`, also the tenants that were deleted.
#[utoipa::path(
    get, path = "/v1/erasures", operation_id = "list_erasures", tag = "erasures", security(("token" = ["read"])),
    params(ErasurePageParameters),
    responses((status = 200, description = "A page, newest first.", body = ErasureList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(page): Query<ErasurePageParameters>,
) -> Result<Json<ErasureList>, Problem> {
    let mut faults = Invalid::default();
    let limit = limit(page.limit.as_deref(), DEFAULT_PAGE, MAX_PAGE, &mut faults);
    let before = page.cursor.map(|text| text.parse::<ErasureId>());
    let before = before.map(|parsed| parsed.map_err(|_| "must be a next_cursor of this list"));
    let before = before.and_then(|parsed| faults.take("cursor", parsed));
    faults.into_result()?;
    let erasing = &api.gateway.erasing;
    // One more shows whether there is another page.
    let mut found = erasing.list(caller.tenant(), limit + 1, before).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().map(|erasure| erasure.id.to_string());
    Ok(Json(ErasureList {
        items: found.into_iter().map(ErasureView::from).collect(),
        next_cursor: last.filter(|_| has_more),
    }))
}

/// Get the progress of an erasure
#[utoipa::path(
    get, path = "/v1/erasures/{id}", operation_id = "get_erasure", tag = "erasures", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`ers_…`")),
    responses((status = 200, description = "The erasure.", body = ErasureView), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<ErasureId>,
) -> Result<Json<ErasureView>, Problem> {
    let erasure = api.gateway.erasing.get(caller.tenant(), id).await?;
    Ok(Json(erasure.into()))
}
