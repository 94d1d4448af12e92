//! Sources: who may post events in, and where those go.

mod custom;
mod input;
pub(crate) mod rejected;
mod view;

use axum::Json;
use axum::extract::State;
use http::{HeaderName, StatusCode, header};
use postrider_domain::ids::SourceId;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id, NoParameters, Query};
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::{Problem, ProblemBody};
use crate::sources::input::{NewRoutes, NewSource, SourcePatch, SourceRotation};
use crate::sources::view::{RotatedView, RouteList, SourceList, SourceView};
use crate::views::Time;

/// Make a source
#[utoipa::path(
    post, path = "/v1/sources", operation_id = "create_source", tag = "sources", security(("token" = ["manage"])),
    request_body = NewSource,
    responses(
        (status = 201, description = "Made; its sender posts to `url`.", body = SourceView,
            headers(("Location" = String, description = "The path of the source."))),
        (status = 409, description = "The tenant has as many sources as it may have.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewSource>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<SourceView>), Problem> {
    let (draft, secret) = given.into_draft();
    let sources = &api.gateway.sources;
    let source = sources.create(caller.tenant(), draft, &secret).await?;
    let location = [(header::LOCATION, format!("/v1/sources/{}", source.id))];
    Ok((
        StatusCode::CREATED,
        location,
        Json(SourceView::of(&source, api.now())),
    ))
}

/// List sources
#[utoipa::path(
    get, path = "/v1/sources", operation_id = "list_sources", tag = "sources", security(("token" = ["read"])),
    responses((status = 200, description = "All sources, the oldest first.", body = SourceList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    _: Query<NoParameters>,
) -> Result<Json<SourceList>, Problem> {
    let sources = api.gateway.sources.list(caller.tenant()).await?;
    Ok(Json(SourceList::of(&sources, api.now())))
}

/// One source
#[utoipa::path(
    get, path = "/v1/sources/{id}", operation_id = "get_source", tag = "sources", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`src_…`")),
    responses(
        (status = 200, description = "The source.", body = SourceView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
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
/// A field that is absent stays as it is; `null` removes `public_url` or `verify_token`. `routes` and `custom` are
/// replaced as a whole.
#[utoipa::path(
    patch, path = "/v1/sources/{id}", operation_id = "change_source", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    request_body = SourcePatch,
    responses(
        (status = 200, description = "As it is now.", body = SourceView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Somebody else changed it at the same time.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn patch(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
    Document(given): Document<SourcePatch>,
) -> Result<Json<SourceView>, Problem> {
    given.refuse_fixed()?;
    let sources = &api.gateway.sources;
    let source = sources
        .change(caller.tenant(), id, |draft| given.apply_to(draft))
        .await?;
    Ok(Json(SourceView::of(&source, api.now())))
}

/// Delete a source; what it sent stays
#[utoipa::path(
    delete, path = "/v1/sources/{id}", operation_id = "delete_source", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    responses(
        (status = 204, description = "Deleted."),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
) -> Result<StatusCode, Problem> {
    api.gateway.sources.delete(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replace the secret; the old one stays valid for a day
#[utoipa::path(
    post, path = "/v1/sources/{id}/rotate-secret", operation_id = "rotate_source_secret", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    request_body = SourceRotation,
    responses(
        (status = 200, description = "Replaced.", body = RotatedView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Too many secrets would be valid, or somebody else changed it.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn rotate_secret(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<SourceId>,
    Document(given): Document<SourceRotation>,
) -> Result<Json<RotatedView>, Problem> {
    let sources = &api.gateway.sources;
    let expires_at = sources
        .rotate_secret(caller.tenant(), id, &given.secret)
        .await?;
    Ok(Json(RotatedView {
        previous_expires_at: Time(expires_at),
    }))
}

/// Where a source's events go
#[utoipa::path(
    get, path = "/v1/sources/{id}/routes", operation_id = "get_routes", tag = "sources", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`src_…`")),
    responses(
        (status = 200, description = "The routes, in order.", body = RouteList),
        (status = 404, description = "There is no source with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn get_routes(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<SourceId>,
) -> Result<Json<RouteList>, Problem> {
    let source = api.gateway.sources.get(caller.tenant(), id).await?;
    Ok(Json(RouteList::of(&source)))
}

/// Replace the routes of a source
#[utoipa::path(
    put, path = "/v1/sources/{id}/routes", operation_id = "replace_routes", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`")),
    request_body = NewRoutes,
    responses(
        (status = 200, description = "As they are now.", body = RouteList),
        (status = 404, description = "There is no source with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Somebody else changed it at the same time.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
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
    Ok(Json(RouteList::of(&source)))
}
