//! Putting many deliveries back at once.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_domain::ids::JobId;
use postrider_domain::invalid::Invalid;
use postrider_ports::jobs::{JobState, RetryJob};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id};
use crate::filter::FilterInput;
use crate::json::Object;
use crate::openapi::{DocumentProblems, Problems, words_or_null};
use crate::problem::{Problem, ProblemBody};
use crate::views::Time;

/// Which deliveries to put back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRetry {
    /// `status` is dead unless set, and may be failed.
    #[schema(value_type = FilterInput)]
    filter: Object<FilterInput>,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
}

/// How far a bulk retry is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Retry)]
pub(crate) struct RetryView {
    /// `null` for a dry run.
    #[schema(value_type = Option<String>, required)]
    id: Option<JobId>,
    /// How many deliveries the filter found when it began.
    matched: u64,
    /// running, done or cancelled; `null` for a dry run.
    #[schema(schema_with = states, required)]
    state: Option<JobState>,
    /// How many were put back.
    done: u64,
    /// How many could not be.
    failed: u64,
    /// When it began; `null` for a dry run.
    #[schema(required)]
    created_at: Option<Time>,
}

fn states() -> utoipa::openapi::Object {
    words_or_null(["running", "done", "cancelled"])
}

impl RetryView {
    const fn dry(matched: u64) -> Self {
        Self {
            id: None,
            matched,
            state: None,
            done: 0,
            failed: 0,
            created_at: None,
        }
    }
}

impl From<RetryJob> for RetryView {
    fn from(job: RetryJob) -> Self {
        Self {
            id: Some(job.id),
            matched: job.matched,
            state: Some(job.state),
            done: job.done,
            failed: job.failed,
            created_at: Some(Time(job.created_at)),
        }
    }
}

/// Retry all deliveries that a filter finds
///
/// The call does the first slice; the rest follows by itself.
#[utoipa::path(
    post, path = "/v1/retries", operation_id = "begin_retry", tag = "deliveries", security(("token" = ["manage"])),
    request_body = NewRetry,
    responses((status = 202, description = "Begun, or counted.", body = RetryView), DocumentProblems, Problems)
)]
pub(crate) async fn begin(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewRetry>,
) -> Result<(StatusCode, Json<RetryView>), Problem> {
    let mut faults = Invalid::default();
    let filter = given.filter.0.check("filter.", &mut faults);
    faults.into_result()?;
    let (retries, tenant) = (&api.gateway.retries, caller.tenant());
    let view = if given.dry_run {
        RetryView::dry(retries.count(tenant, filter).await?)
    } else {
        retries.begin(tenant, filter).await?.into()
    };
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// How far a bulk retry is
#[utoipa::path(
    get, path = "/v1/retries/{id}", operation_id = "get_retry", tag = "deliveries", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`job_…`")),
    responses(
        (status = 200, description = "The retry.", body = RetryView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<JobId>,
) -> Result<Json<RetryView>, Problem> {
    let job = api.gateway.retries.job(caller.tenant(), id).await?;
    Ok(Json(job.into()))
}

/// Stop a bulk retry; what was put back stays so
#[utoipa::path(
    delete, path = "/v1/retries/{id}", operation_id = "cancel_retry", tag = "deliveries", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`job_…`")),
    responses(
        (status = 200, description = "As it stands now.", body = RetryView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn cancel(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<JobId>,
) -> Result<Json<RetryView>, Problem> {
    let job = api.gateway.retries.cancel(caller.tenant(), id).await?;
    Ok(Json(job.into()))
}
