//! Sending a delivery to another URL, to see what comes back from there.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use postrider_domain::ids::DeliveryId;
use postrider_domain::shadow::{Aspect, Compared, Likeness, OwnHeaders, Reply, ShadowDraft};
use postrider_gateway::shadow::{SentRequest, Shadowed};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::{AttemptView, TimingsView};
use crate::Api;
use crate::auth::{Caller, Manage};
use crate::extract::{Document, Id};
use crate::json::Whole;
use crate::openapi::{DocumentProblems, Problems, words};
use crate::problem::{Problem, ProblemBody};
use crate::views::Time;

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

/// What was sent, what came back, and what differs from the last attempt. Nothing of it is kept.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Shadow)]
pub(crate) struct ShadowView {
    request: RequestView,
    shadow: ReplyView,
    /// `null` if the delivery was not attempted yet.
    #[schema(required)]
    last_attempt: Option<AttemptView>,
    /// Empty without an attempt.
    comparison: Vec<ComparedView>,
}

/// The request as it was sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShadowRequest)]
struct RequestView {
    url: String,
    /// Signatures and values that look like credentials are shown as `***`.
    headers: BTreeMap<String, String>,
    /// The webhook's own headers that were not sent.
    headers_left_out: Vec<String>,
    body_bytes: usize,
}

/// What came back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShadowReply)]
struct ReplyView {
    at: Time,
    /// `null` when no status line arrived.
    #[schema(required)]
    status_code: Option<u16>,
    elapsed_ms: u32,
    /// Why it is no success, in plain words.
    #[schema(required)]
    error: Option<String>,
    /// The phase in which it failed: dns, connect, tls, first_byte or body.
    #[schema(required)]
    phase: Option<String>,
    #[schema(required)]
    content_type: Option<String>,
    /// The start of the response, at most 2,048 bytes.
    #[schema(required)]
    response_body: Option<String>,
    timings: TimingsView,
}

/// One aspect of the two answers, compared.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShadowComparison)]
struct ComparedView {
    #[schema(schema_with = aspects)]
    aspect: &'static str,
    /// `same` as far as it is kept, `different`, or `unknown` when one side is not kept.
    #[schema(schema_with = results)]
    result: &'static str,
    /// In plain words, with both sides.
    detail: String,
}

fn aspects() -> utoipa::openapi::Object {
    words(Aspect::ALL.map(Aspect::as_str))
}

fn results() -> utoipa::openapi::Object {
    words(Likeness::ALL.map(Likeness::as_str))
}

impl From<Shadowed> for ShadowView {
    fn from(shadowed: Shadowed) -> Self {
        Self {
            request: shadowed.request.into(),
            shadow: shadowed.reply.into(),
            last_attempt: shadowed.last.map(AttemptView::from),
            comparison: shadowed.compared.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<SentRequest> for RequestView {
    fn from(sent: SentRequest) -> Self {
        Self {
            url: sent.url,
            headers: sent.headers.into_iter().collect(),
            headers_left_out: sent.left_out,
            body_bytes: sent.body_bytes,
        }
    }
}

impl From<Reply> for ReplyView {
    fn from(reply: Reply) -> Self {
        Self {
            at: Time(reply.at),
            status_code: reply.status_code,
            elapsed_ms: reply.timings.total_ms,
            error: reply.error,
            phase: reply.phase,
            content_type: reply.content_type,
            response_body: reply.response_body,
            timings: reply.timings.into(),
        }
    }
}

impl From<Compared> for ComparedView {
    fn from(compared: Compared) -> Self {
        Self {
            aspect: compared.aspect.as_str(),
            result: compared.likeness.as_str(),
            detail: compared.detail,
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
