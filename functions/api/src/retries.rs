//! Bulk retries.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::job::{NewRetry, RetryJobView};
use postrider_domain::ids::JobId;
use postrider_domain::invalid::Invalid;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id};
use crate::openapi::{DocumentProblems, ItemProblems, Problems};
use crate::problem::Problem;

/// Retry all deliveries that match a filter
///
/// The bulk retry is stored, then the call requeues the first batch. Counting and requeueing the rest follow in the
/// background: `matched` grows until `counted` is `true`.
#[utoipa::path(
    post, path = "/v1/retries", operation_id = "begin_retry", tag = "deliveries", security(("token" = ["manage"])),
    request_body = NewRetry,
    responses((status = 202, description = "Started, or counted.", body = RetryJobView), DocumentProblems, Problems)
)]
pub(crate) async fn begin(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewRetry>,
) -> Result<(StatusCode, Json<RetryJobView>), Problem> {
    let mut faults = Invalid::default();
    let filter = given.filter.check("filter.", &mut faults);
    faults.into_result()?;
    let (retries, tenant) = (&api.gateway.retries, caller.tenant());
    let view = if given.dry_run {
        RetryJobView::dry_run(retries.count(tenant, filter).await?)
    } else {
        retries.begin(tenant, filter).await?.into()
    };
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Get the progress of a bulk retry
#[utoipa::path(
    get, path = "/v1/retries/{id}", operation_id = "get_retry", tag = "deliveries", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`job_…`")),
    responses((status = 200, description = "The bulk retry.", body = RetryJobView), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<JobId>,
) -> Result<Json<RetryJobView>, Problem> {
    let job = api.gateway.retries.job(caller.tenant(), id).await?;
    Ok(Json(job.into()))
}

/// Cancel a bulk retry
///
/// Deliveries that were already requeued are not undone.
#[utoipa::path(
    delete, path = "/v1/retries/{id}", operation_id = "cancel_retry", tag = "deliveries", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`job_…`")),
    responses((status = 200, description = "The bulk retry.", body = RetryJobView), ItemProblems)
)]
pub(crate) async fn cancel(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<JobId>,
) -> Result<Json<RetryJobView>, Problem> {
    let job = api.gateway.retries.cancel(caller.tenant(), id).await?;
    Ok(Json(job.into()))
}
