//! Refused requests as they are shown.

use data_encoding::BASE64;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderName, HeaderValue};
use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::RejectedId;
use postrider_domain::inbound::Rejection;
use postrider_domain::rejected::StoredRejection;
use postrider_domain::scheme::Scheme;
use postrider_gateway::rejected::{Diagnosed, Listed};
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::words;
use crate::views::Time;

/// Where Meta's handshake carries the token, which is nobody's to be shown.
const VERIFY_TOKEN: &str = "hub.verify_token";

/// A request that was refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rejection)]
pub(crate) struct RejectedRequestView {
    #[schema(value_type = String, example = "rfd_aaaadhubu2qjqaaaaaaaaaaaaa")]
    id: RejectedId,
    at: Time,
    /// Why, for programs.
    #[schema(schema_with = reasons)]
    reason: &'static str,
    /// Why, in plain words.
    detail: String,
    method: String,
    path: String,
    /// The names of its headers, without their values.
    header_names: Vec<String>,
    #[schema(required)]
    content_type: Option<String>,
    /// How long its body was; of one that was too large, what its sender said.
    body_bytes: u64,
}

fn reasons() -> utoipa::openapi::Object {
    words(Rejection::ALL.map(Rejection::code))
}

impl RejectedRequestView {
    fn of(kept: &StoredRejection) -> Self {
        let refused = &kept.refused;
        let headers = &refused.request.headers;
        Self {
            id: kept.id,
            at: Time(refused.at),
            reason: refused.reason.code(),
            detail: refused.reason.to_string(),
            method: refused.request.method.to_string(),
            path: refused.request.path.clone(),
            header_names: headers.keys().map(ToString::to_string).collect(),
            content_type: headers.get(CONTENT_TYPE).map(text),
            body_bytes: refused.body_bytes,
        }
    }
}

/// What is kept of a source, and how much was not.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RejectedRequestList {
    items: Vec<RejectedRequestView>,
    /// How many were kept since the source was made; the last 100 of the last 7 days are still there.
    kept: u64,
    /// How many more were only counted, because too many came within a minute.
    counted: u64,
    /// Always `null`: the list is never parted.
    #[schema(required)]
    next_cursor: Option<String>,
}

impl RejectedRequestList {
    pub(crate) fn of(listed: &Listed) -> Self {
        Self {
            items: listed
                .requests
                .iter()
                .map(RejectedRequestView::of)
                .collect(),
            kept: listed.tally.kept,
            counted: listed.tally.counted,
            next_cursor: None,
        }
    }
}

/// A refused request with what it held and what would have matched.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RejectedRequestDetail {
    #[serde(flatten)]
    refused: RejectedRequestView,
    #[schema(required)]
    query: Option<String>,
    headers: Vec<HeaderView>,
    /// The body; `null` when it is not text.
    #[schema(required)]
    body: Option<String>,
    /// The body in base64, when it is not text.
    #[schema(required)]
    body_base64: Option<String>,
    /// Whether some of it was left out, because it was larger than the 32 KB that are kept.
    is_cut: bool,
    /// What would have matched.
    findings: Vec<FindingView>,
}

/// A header of a refused request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefusedHeader)]
pub(crate) struct HeaderView {
    name: String,
    /// `null` where it may be a secret: `authorization`, cookies, and what a scheme sends in place of a signature.
    #[schema(required)]
    value: Option<String>,
}

/// Something that would have matched, or that is missing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Finding)]
pub(crate) struct FindingView {
    /// What it is, in plain words, and what to do.
    text: String,
    /// What it is, for programs: `kind`, and what belongs to it (`seconds_off`, `scheme`, `change`, `expected`).
    #[serde(flatten)]
    #[schema(value_type = Object)]
    finding: Finding,
}

impl RejectedRequestDetail {
    pub(crate) fn of(diagnosed: &Diagnosed) -> Self {
        let request = &diagnosed.kept.refused.request;
        let scheme = &diagnosed.source.settings.scheme;
        let body = std::str::from_utf8(&request.body).ok();
        let headers = request.headers.iter();
        let findings = diagnosed.findings.iter();
        Self {
            refused: RejectedRequestView::of(&diagnosed.kept),
            query: request.query.as_deref().map(without_token),
            headers: headers
                .map(|(name, value)| HeaderView {
                    name: name.to_string(),
                    value: (!is_secret(scheme, name)).then(|| text(value)),
                })
                .collect(),
            body: body.map(str::to_owned),
            body_base64: body.is_none().then(|| BASE64.encode(&request.body)),
            is_cut: diagnosed.kept.refused.is_cut,
            findings: findings
                .map(|finding| FindingView {
                    text: finding.to_string(),
                    finding: finding.clone(),
                })
                .collect(),
        }
    }
}

/// Whether a header of this name may hold a secret, of whichever scheme: a sender that was given the right secret may be of
/// another scheme than its source.
pub(crate) fn is_secret(scheme: &Scheme, name: &HeaderName) -> bool {
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name)
        || scheme.sends_secret_in(name.as_str())
        || Scheme::all().any(|known| known.sends_secret_in(name.as_str()))
}

/// A query without the value of Meta's token.
pub(crate) fn without_token(query: &str) -> String {
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if name == VERIFY_TOKEN => format!("{name}=(hidden)"),
        Some(_) | None => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
