//! Shadows as they are shown.

use std::collections::BTreeMap;

use postrider_domain::shadow::{Aspect, Compared, Likeness, ShadowReply};
use postrider_gateway::shadow::{SentRequest, Shadowed};
use serde::Serialize;
use utoipa::ToSchema;

use crate::deliveries::view::{AttemptView, TimingsView};
use crate::openapi::words;
use crate::views::Time;

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

impl From<ShadowReply> for ReplyView {
    fn from(reply: ShadowReply) -> Self {
        Self {
            at: Time(reply.at),
            status_code: reply.status_code,
            elapsed_ms: reply.timings.total_ms,
            error: reply.error,
            phase: reply.phase.map(|phase| phase.as_str().to_owned()),
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
