//! Rejected requests, and what was wrong with them.

mod view;

use axum::Json;
use axum::extract::State;
use postrider_api_types::rejected::{
    DEFAULT_LIST, MAX_LIST, RejectedParameters, RejectedRequestDetail, RejectedRequestList,
};
use postrider_domain::ids::{RejectedId, SourceId};
use postrider_domain::invalid::Invalid;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Id, Ids, Query, limit};
use crate::openapi::ItemProblems;
use crate::problem::Problem;

/// List rejected requests to a source, newest first
///
/// The last 100 of the last 7 days, and at most 10 per minute; others are only counted.
#[utoipa::path(
    get, path = "/v1/sources/{id}/refused", operation_id = "list_refused", tag = "sources", security(("token" = ["read"])),
    params(
        ("id" = String, Path, description = "`src_…`"),
        RejectedParameters,
    ),
    responses((status = 200, description = "The stored requests.", body = RejectedRequestList), ItemProblems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<SourceId>,
    Query(given): Query<RejectedParameters>,
) -> Result<Json<RejectedRequestList>, Problem> {
    let mut faults = Invalid::default();
    let limit = limit(given.limit.as_deref(), DEFAULT_LIST, MAX_LIST, &mut faults);
    faults.into_result()?;
    let rejected = &api.gateway.rejected;
    let listed = rejected.list(caller.tenant(), id, limit).await?;
    Ok(Json(view::list(&listed)))
}

/// Get a rejected request with its diagnosis
///
/// The request is checked again with the source's current and retired secrets. The response shows the content of the
/// request, so it requires the scope `manage`.
#[utoipa::path(
    get, path = "/v1/sources/{id}/refused/{refused_id}", operation_id = "get_refused", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`"), ("refused_id" = String, Path, description = "`rfd_…`")),
    responses((status = 200, description = "The request.", body = RejectedRequestDetail), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Ids(source, id): Ids<SourceId, RejectedId>,
) -> Result<Json<RejectedRequestDetail>, Problem> {
    let rejected = &api.gateway.rejected;
    let diagnosed = rejected.diagnose(caller.tenant(), source, id).await?;
    Ok(Json(view::detail(&diagnosed)))
}
