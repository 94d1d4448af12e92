//! Testing filters before they are saved.

use axum::Json;
use postrider_api_types::payload_filter::{FilterTest, FilterTestView};
use postrider_domain::payload_filter::{Payload, PayloadFilter};

use crate::auth::{Caller, Read};
use crate::extract::Document;
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::Problem;

/// Test a filter on a payload
///
/// Says whether the filter matches and, if not, which of its conditions fail. Nothing is stored.
#[utoipa::path(
    post, path = "/v1/filters/test", operation_id = "test_filter", tag = "webhooks", security(("token" = ["read"])),
    request_body = FilterTest,
    responses(
        (status = 200, description = "The result.", body = FilterTestView),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn test(
    _: Caller<Read>,
    Document(given): Document<FilterTest>,
) -> Result<Json<FilterTestView>, Problem> {
    let filter = PayloadFilter::compile("filter", given.filter)?;
    let payload = Payload::from(&given.payload);
    Ok(Json(FilterTestView::of(&filter, &payload)))
}
