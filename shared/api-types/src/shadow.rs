//! Shadow requests: one delivery sent to another URL, and the responses compared.

use postrider_domain::shadow::{Aspect, Compared, Likeness, OwnHeaders, ShadowDraft, ShadowReply};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::delivery::{AttemptView, ReplyView};
use crate::json::{Headers, Whole, strict};
use crate::schema;
use crate::time::ApiTime;
use crate::word::Word;

/// Where to send a delivery besides its webhook.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewShadow {
    /// An https URL that the egress rules allow.
    #[schema(value_type = schema::TargetUrl, example = "https://staging.example.com/hooks")]
    pub url: String,
    /// The timeout; the webhook's own, up to 20, by default.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::ShadowTimeout>)]
    pub timeout_seconds: Option<u32>,
    /// Also send the webhook's own headers and the signatures without a time (`X-Webhook-Signature`,
    /// `X-Observatory-Signature`). They are meant for the webhook's URL: they may be credentials, and a signature
    /// without a time can be replayed forever.
    #[serde(default)]
    pub include_headers: bool,
}

impl From<NewShadow> for ShadowDraft {
    fn from(given: NewShadow) -> Self {
        Self {
            url: given.url,
            timeout_seconds: given.timeout_seconds,
            own_headers: if given.include_headers {
                OwnHeaders::Sent
            } else {
                OwnHeaders::LeftOut
            },
        }
    }
}

/// What was sent, what came back, and how it differs from the last attempt. None of it is stored.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Shadow)]
pub struct ShadowView {
    pub request: ShadowRequestView,
    pub shadow: ShadowReplyView,
    /// `null` if the delivery has not been attempted yet.
    #[schema(required)]
    pub last_attempt: Option<AttemptView>,
    /// Empty if there is no attempt to compare with.
    pub comparison: Vec<ComparedView>,
}

/// The request as it was sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ShadowRequest)]
pub struct ShadowRequestView {
    pub url: String,
    /// Signatures and values that look like credentials are shown as `***`.
    #[schema(value_type = BTreeMap<String, String>)]
    pub headers: Headers,
    /// The webhook's own headers that were not sent.
    pub headers_left_out: Vec<String>,
    pub body_bytes: usize,
}

/// What came back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ShadowReply)]
pub struct ShadowReplyView {
    #[serde(flatten)]
    pub reply: ReplyView,
    #[schema(required)]
    pub content_type: Option<String>,
}

/// One aspect of the two responses, compared.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ShadowComparison)]
pub struct ComparedView {
    #[schema(value_type = schema::ShadowAspect)]
    pub aspect: Word<Aspect>,
    /// `same` as far as stored, `different`, or `unknown` if one side is not stored.
    #[schema(value_type = schema::ShadowResult)]
    pub result: Word<Likeness>,
    /// Both sides, in a sentence.
    pub detail: String,
}

impl From<ShadowReply> for ShadowReplyView {
    fn from(reply: ShadowReply) -> Self {
        Self {
            reply: ReplyView {
                at: ApiTime(reply.at),
                status_code: reply.status_code,
                elapsed_ms: reply.timings.total_ms,
                error: reply.error,
                phase: reply.phase.map(Word::from),
                response_body: reply.response_body,
                timings: reply.timings.into(),
            },
            content_type: reply.content_type,
        }
    }
}

impl From<Compared> for ComparedView {
    fn from(compared: Compared) -> Self {
        Self {
            aspect: compared.aspect.into(),
            result: compared.likeness.into(),
            detail: compared.detail,
        }
    }
}
