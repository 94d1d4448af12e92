//! Requests that were refused, and what was wrong with them.

mod view;

use axum::Json;
use axum::extract::State;
use postrider_domain::ids::{RejectedId, SourceId};
use postrider_domain::invalid::Invalid;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Id, Ids, Parameters, Query};
use crate::openapi::Problems;
use crate::problem::{Problem, ProblemBody};
use view::{RejectedRequestDetail, RejectedRequestList};
pub(crate) use view::{is_secret, without_token};

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// The parameters of a list.
#[derive(Debug, Default)]
pub(crate) struct ListParameters {
    limit: Option<String>,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["limit"];

    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        (name == "limit").then_some(&mut self.limit)
    }
}

impl ListParameters {
    fn limit(&self) -> Result<usize, Invalid> {
        match self.limit.as_deref().map(str::parse) {
            None => Ok(DEFAULT_LIMIT),
            Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
            Some(_) => {
                let message = format!("must be a whole number of 1 to {MAX_LIMIT}");
                Err(Invalid::field("limit", message))
            }
        }
    }
}

/// Requests to a source that were refused, newest first
///
/// The last 100 of the last 7 days, and no more than 10 of a minute; others are counted.
#[utoipa::path(
    get, path = "/v1/sources/{id}/refused", operation_id = "list_refused", tag = "sources", security(("token" = ["read"])),
    params(
        ("id" = String, Path, description = "`src_…`"),
        ("limit" = Option<u32>, Query, description = "How many at the most; 20 unless set.", minimum = 1, maximum = 100),
    ),
    responses(
        (status = 200, description = "What is kept.", body = RejectedRequestList),
        (status = 404, description = "There is no source with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<SourceId>,
    Query(given): Query<ListParameters>,
) -> Result<Json<RejectedRequestList>, Problem> {
    let limit = given.limit()?;
    let rejected = &api.gateway.rejected;
    let listed = rejected.list(caller.tenant(), id, limit).await?;
    Ok(Json(RejectedRequestList::of(&listed)))
}

/// One refused request with what would have matched
///
/// Looked at anew with the secrets that the source has and had. It shows what the request held, so it takes the scope
/// `manage`.
#[utoipa::path(
    get, path = "/v1/sources/{id}/refused/{refused_id}", operation_id = "get_refused", tag = "sources", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`src_…`"), ("refused_id" = String, Path, description = "`rfd_…`")),
    responses(
        (status = 200, description = "The request.", body = RejectedRequestDetail),
        (status = 404, description = "There is no such request, or no such source.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Ids(source, id): Ids<SourceId, RejectedId>,
) -> Result<Json<RejectedRequestDetail>, Problem> {
    let rejected = &api.gateway.rejected;
    let diagnosed = rejected.diagnose(caller.tenant(), source, id).await?;
    Ok(Json(RejectedRequestDetail::of(&diagnosed)))
}
