//! Sending a delivery to another URL, to see what comes back from there.

mod view;

use axum::Json;
use axum::extract::State;
use postrider_domain::ids::DeliveryId;
use postrider_domain::shadow::{OwnHeaders, ShadowDraft};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::{Caller, Manage};
use crate::extract::{Document, Id};
use crate::json::Whole;
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::{Problem, ProblemBody};
use view::ShadowView;

/// Where to send a delivery besides.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewShadow {
    /// An https URL that the egress rules allow.
    #[schema(example = "https://staging.example.com/hooks")]
    url: String,
    /// How long it may take; the webhook's own, up to 20, unless set.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 20)]
    timeout_seconds: Option<Whole>,
    /// Send the webhook's own headers along, and the signatures without a time (`X-Webhook-Signature`,
    /// `X-Observatory-Signature`). They are meant for the webhook's URL: credentials, and what can be repeated for ever.
    #[serde(default)]
    include_headers: bool,
}

impl From<NewShadow> for ShadowDraft {
    fn from(given: NewShadow) -> Self {
        Self {
            url: given.url,
            timeout_seconds: given.timeout_seconds.map(|Whole(seconds)| seconds),
            own_headers: if given.include_headers {
                OwnHeaders::Sent
            } else {
                OwnHeaders::LeftOut
            },
        }
    }
}

/// Send one delivery to another URL and compare the answers
///
/// The stored body goes out once, signed with the webhook's own secrets, with the header `postrider-shadow: true`. The
/// delivery stays as it is: no attempt, no count, no announcement. The answer comes when the receiver's has.
#[utoipa::path(
    post, path = "/v1/deliveries/{id}/shadow", operation_id = "shadow_delivery", tag = "deliveries", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`dlv_…`")),
    request_body = NewShadow,
    responses(
        (status = 200, description = "It was sent; what came back may be a failure.", body = ShadowView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Its webhook was deleted, or its payload is no longer kept.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many are under way.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn send(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<DeliveryId>,
    Document(given): Document<NewShadow>,
) -> Result<Json<ShadowView>, Problem> {
    let shadowed = api.shadows.send(caller.tenant(), id, given.into()).await?;
    Ok(Json(shadowed.into()))
}
