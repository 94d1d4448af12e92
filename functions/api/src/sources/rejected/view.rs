//! Rejected requests as responses show them.

use data_encoding::BASE64;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderName, HeaderValue};
use postrider_api_types::ApiTime;
use postrider_api_types::rejected::{
    FindingView, RejectedHeaderView, RejectedRequestDetail, RejectedRequestList,
    RejectedRequestView,
};
use postrider_domain::rejected::StoredRejection;
use postrider_domain::scheme::Scheme;
use postrider_gateway::rejected::{Diagnosed, Listed};

/// Meta's handshake carries the token here; it is never shown.
const VERIFY_TOKEN: &str = "hub.verify_token";

fn one(stored: &StoredRejection) -> RejectedRequestView {
    let rejected = &stored.refused;
    let headers = &rejected.request.headers;
    RejectedRequestView {
        id: stored.id.to_string(),
        at: ApiTime(rejected.at),
        reason: rejected.reason.into(),
        detail: rejected.reason.to_string(),
        method: rejected.request.method.to_string(),
        path: rejected.request.path.clone(),
        header_names: headers.keys().map(ToString::to_string).collect(),
        content_type: headers.get(CONTENT_TYPE).map(text),
        body_bytes: rejected.body_bytes,
    }
}

pub(super) fn list(listed: &Listed) -> RejectedRequestList {
    RejectedRequestList {
        items: listed.requests.iter().map(one).collect(),
        kept: listed.tally.kept,
        counted: listed.tally.counted,
        next_cursor: None,
    }
}

pub(super) fn detail(diagnosed: &Diagnosed) -> RejectedRequestDetail {
    let request = &diagnosed.kept.refused.request;
    let scheme = &diagnosed.source.settings.scheme;
    let body = std::str::from_utf8(&request.body).ok();
    let header = |(name, value): (&HeaderName, &HeaderValue)| RejectedHeaderView {
        name: name.to_string(),
        value: (!is_secret(scheme, name)).then(|| text(value)),
    };
    RejectedRequestDetail {
        rejected: one(&diagnosed.kept),
        query: request.query.as_deref().map(without_token),
        headers: request.headers.iter().map(header).collect(),
        body: body.map(str::to_owned),
        body_base64: body.is_none().then(|| BASE64.encode(&request.body)),
        is_cut: diagnosed.kept.refused.is_cut,
        findings: diagnosed.findings.iter().map(FindingView::from).collect(),
    }
}

/// Whether a header of this name may hold a secret, in any scheme: a sender that has the right secret may use another
/// scheme than its source.
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
