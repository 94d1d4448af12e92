//! Sources: who may send events in, and where those go.

pub(crate) mod rejected;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::ApiTime;
use postrider_api_types::source::{
    NewRoutes, NewSource, RotatedSourceSecretView, RouteList, SourceList, SourcePatch,
    SourceRotation, SourceView,
};
use postrider_domain::ids::SourceId;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::created::Created;
use crate::extract::{Document, Id, Query};
use crate::openapi::{ChangeProblems, CreateProblems, ItemProblems, Problems, RotateProblems};
use crate::problem::Problem;

/// Create a source
#[utoipa::path(
    post, path = "/v1/sources", operation_id = "create_source", tag = "sources", security(("token" = ["manage"])),
    request_body = NewSource,
    responses(
        (status = 201, description = "Created; its sender posts to `url`.", body = SourceView,
            headers(("Location" = String, description = "The path of the source."))),
        CreateProblems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewSource>,
) -> Result<Created<SourceView>, Problem> {
    let (draft, secret) = given.into_draft();
    let sources = &api.gateway.sources;
    let source = sources.create(caller.tenant(), draft, &secret).await?;
    let view = SourceView::of(&source, api.now());
    Ok(Created::new("/v1/sources", source.id, view))
}

/// List sources
#[utoipa::path(
    get, path = "/v1/sources", operation_id = "list_sources", tag = "sources", security(("token" = ["read"])),
    responses((status = 200, description = "All sources, oldest first.", body = SourceList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    _: Query<()>,
) -> Result<Json<SourceList>, Problem> {
    let sources = api.gateway.sources.list(caller.tenant()).await?;
    let now = api.now();
    Ok(Json(SourceList {
        items: sources
            .iter()
            .map(|source| SourceView::of(source, now))
            .collect(),
        next_cursor: None,
    }))
}

/// Get a source
#[utoipa::path(
    get, path = "/v1/sources/{id}", operation_id = "get_source", tag = "sources", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`src_…`")),
    responses((status = 200, description = "The source.", body = SourceView), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<SourceId>,
) -> Result<Json<SourceView>, Problem> {
    let source = api.gateway.sources.get(caller.tenant(), id).await?;
    Ok(Json(SourceView::of(&source, api.now())))
}

/// Change a source
///
/// A field that is absent does not change; `null` removes `public_url` or `verify_token`. `routes` and `custom` are
/// replaced as a whole.
#[utoipa::path(
    patch, path = "/v1/sources/{id}", operation_id = "change_source", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    request_body = SourcePatch,
    responses(
        (status = 200, description = "The source.", body = SourceView),
        ChangeProblems,
    )
)]
pub(crate) async fn patch(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
    Document(given): Document<SourcePatch>,
) -> Result<Json<SourceView>, Problem> {
    given.reject_fixed()?;
    let sources = &api.gateway.sources;
    let source = sources
        .change(caller.tenant(), id, |draft| given.apply_to(draft))
        .await?;
    Ok(Json(SourceView::of(&source, api.now())))
}

/// Delete a source
///
/// The events that it sent stay.
#[utoipa::path(
    delete, path = "/v1/sources/{id}", operation_id = "delete_source", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    responses((status = 204, description = "Deleted."), ItemProblems)
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
) -> Result<StatusCode, Problem> {
    api.gateway.sources.delete(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rotate the secret
///
/// The old secret stays valid for a day.
#[utoipa::path(
    post, path = "/v1/sources/{id}/rotate-secret", operation_id = "rotate_source_secret", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    request_body = SourceRotation,
    responses(
        (status = 200, description = "Rotated.", body = RotatedSourceSecretView),
        RotateProblems,
    )
)]
pub(crate) async fn rotate_secret(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
    Document(given): Document<SourceRotation>,
) -> Result<Json<RotatedSourceSecretView>, Problem> {
    let sources = &api.gateway.sources;
    let expires_at = sources
        .rotate_secret(caller.tenant(), id, &given.secret)
        .await?;
    Ok(Json(RotatedSourceSecretView {
        previous_expires_at: ApiTime(expires_at),
    }))
}

/// Get the routes of a source
#[utoipa::path(
    get, path = "/v1/sources/{id}/routes", operation_id = "get_routes", tag = "sources", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`src_…`")),
    responses((status = 200, description = "The routes, in order.", body = RouteList), ItemProblems)
)]
pub(crate) async fn get_routes(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<SourceId>,
) -> Result<Json<RouteList>, Problem> {
    let source = api.gateway.sources.get(caller.tenant(), id).await?;
    Ok(Json(RouteList::from(&source)))
}

/// Replace the routes of a source
#[utoipa::path(
    put, path = "/v1/sources/{id}/routes", operation_id = "replace_routes", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    request_body = NewRoutes,
    responses(
        (status = 200, description = "The new routes.", body = RouteList),
        ChangeProblems,
    )
)]
pub(crate) async fn put_routes(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
    Document(given): Document<NewRoutes>,
) -> Result<Json<RouteList>, Problem> {
    let sources = &api.gateway.sources;
    let source = sources
        .change(caller.tenant(), id, |draft| given.apply_to(draft))
        .await?;
    Ok(Json(RouteList::from(&source)))
}
