//! Shadow requests: sending a delivery to another URL and comparing the responses.

use axum::Json;
use axum::extract::State;
use postrider_api_types::delivery::AttemptView;
use postrider_api_types::shadow::{NewShadow, ShadowRequestView, ShadowView};
use postrider_domain::ids::DeliveryId;
use postrider_gateway::shadow::{SentRequest, Shadowed};

use crate::Api;
use crate::auth::{Caller, Manage};
use crate::extract::{Document, Id};
use crate::openapi::{DocumentProblems, ItemProblems};
use crate::problem::{Problem, ProblemBody};

/// Send one delivery to another URL and compare the responses
///
/// The stored body, or what the webhook's template makes of it, is sent once, signed with the webhook's secrets, with the header `postrider-shadow: true`. The
/// delivery does not change: no attempt, no count, no notification. The call returns when the receiver has responded.
#[utoipa::path(
    post, path = "/v1/deliveries/{id}/shadow", operation_id = "shadow_delivery", tag = "deliveries", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`dlv_…`")),
    request_body = NewShadow,
    responses(
        (status = 200, description = "It was sent; the result may be a failure.", body = ShadowView),
        (status = 409, description = "Its webhook was deleted, its payload is no longer stored, or its template cannot be rendered.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many shadow requests are in progress.", body = ProblemBody, content_type = "application/problem+json",
            headers(("Retry-After" = u32, description = "Seconds to wait."))),
        DocumentProblems,
        ItemProblems,
    )
)]
pub(crate) async fn send(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<DeliveryId>,
    Document(given): Document<NewShadow>,
) -> Result<Json<ShadowView>, Problem> {
    let shadowed = api.shadows.send(caller.tenant(), id, given.into()).await?;
    Ok(Json(view(shadowed)))
}

fn view(shadowed: Shadowed) -> ShadowView {
    ShadowView {
        request: request(shadowed.request),
        shadow: shadowed.reply.into(),
        last_attempt: shadowed.last.map(AttemptView::from),
        comparison: shadowed.compared.into_iter().map(Into::into).collect(),
    }
}

fn request(sent: SentRequest) -> ShadowRequestView {
    ShadowRequestView {
        url: sent.url,
        headers: sent.headers.into_iter().collect(),
        headers_left_out: sent.left_out,
        body_bytes: sent.body_bytes,
    }
}
