//! Rejected requests as responses show them.

use data_encoding::BASE64;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use postrider_api_types::ApiTime;
use postrider_api_types::rejected::{
    RejectedHeaderView, RejectedRequestDetail, RejectedRequestList, RejectedRequestView,
};
use postrider_domain::rejected::StoredRejection;
use postrider_gateway::rejected::{Diagnosed, Listed};
use postrider_presentation::redact::{is_secret, without_token};
use postrider_presentation::rejected;

fn one(stored: &StoredRejection) -> RejectedRequestView {
    let request = &stored.rejected;
    let headers = &request.request.headers;
    RejectedRequestView {
        id: stored.id.to_string(),
        at: ApiTime(request.at),
        reason: request.reason.into(),
        detail: request.reason.to_string(),
        method: request.request.method.to_string(),
        path: request.request.path.clone(),
        header_names: headers.keys().map(ToString::to_string).collect(),
        content_type: headers.get(CONTENT_TYPE).map(text),
        body_bytes: request.body_bytes,
    }
}

pub(super) fn list(listed: &Listed) -> RejectedRequestList {
    RejectedRequestList {
        items: listed.requests.iter().map(one).collect(),
        kept: listed.tally.stored,
        counted: listed.tally.counted,
        next_cursor: None,
    }
}

pub(super) fn detail(diagnosed: &Diagnosed) -> RejectedRequestDetail {
    let request = &diagnosed.kept.rejected.request;
    let scheme = &diagnosed.source.settings.scheme;
    let source = diagnosed.source.id.to_string();
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
        is_cut: diagnosed.kept.rejected.is_cut,
        findings: diagnosed
            .findings
            .iter()
            .map(|finding| rejected::view(finding, &source))
            .collect(),
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
