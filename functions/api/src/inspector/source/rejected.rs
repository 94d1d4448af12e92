//! Requests that were refused: as lines, and one with all that it held.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use postrider_domain::ids::{RejectedId, SourceId};
use postrider_domain::rejected::StoredRejection;
use postrider_domain::source::Source;

use super::advice::{self, Explained};
use crate::Api;
use crate::inspector::fields::NamedPair;
use crate::inspector::page::{Frame, Section, Trouble, html};
use crate::inspector::payload::Payload;
use crate::inspector::session::Manager;
use crate::inspector::text::{self, Markup};
use crate::sources::rejected::{is_secret, without_token};

/// Stands for a value that may be a secret.
const HIDDEN: &str = "***";

/// One of them as a line.
pub(super) struct RejectedLine {
    pub(super) id: String,
    pub(super) at: Markup,
    pub(super) reason: String,
    pub(super) facts: String,
    /// What would have matched; none for whoever may not know.
    pub(super) findings: Option<Vec<Explained>>,
}

impl RejectedLine {
    /// With what would have matched, for whoever may look closer: at the source's secrets.
    pub(super) fn of(kept: &StoredRejection, looks_closer: Option<&Source>) -> Self {
        let refused = &kept.refused;
        let findings = looks_closer.map(|source| refused.diagnose(source));
        Self {
            id: kept.id.to_string(),
            at: text::when(refused.at),
            reason: refused.reason.to_string(),
            facts: facts(kept),
            findings: findings.map(|found| found.iter().map(advice::explain).collect()),
        }
    }
}

fn facts(kept: &StoredRejection) -> String {
    let refused = &kept.refused;
    let kind = refused.request.headers.get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let bytes = usize::try_from(refused.body_bytes).unwrap_or(usize::MAX);
    let parts = [
        Some(refused.request.method.to_string()),
        Some(text::bytes(bytes)),
        kind.map(|kind| text::short(&kind, 60)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    frame: Frame,
    id: String,
    source_id: String,
    source: String,
    line: RejectedLine,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    payload: Payload,
    is_cut: bool,
}

/// One refused request with what it held, for whoever may change things.
pub(in crate::inspector) async fn show(
    State(api): State<Api>,
    Manager(viewer): Manager,
    NamedPair(source, id): NamedPair<SourceId, RejectedId>,
) -> Result<Response, Trouble> {
    let refusals = &api.gateway.refusals;
    let diagnosed = refusals.diagnose(viewer.tenant(), source, id).await?;
    let (source, refused) = (&diagnosed.source, &diagnosed.kept.refused);
    let request = &refused.request;
    let kind = request.headers.get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let line = RejectedLine {
        findings: Some(diagnosed.findings.iter().map(advice::explain).collect()),
        ..RejectedLine::of(&diagnosed.kept, None)
    };
    let query = request.query.as_deref().map(without_token);
    let headers = request.headers.iter().map(|(name, value)| {
        let value = if is_secret(&source.settings.scheme, name) {
            HIDDEN.to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.to_string(), value)
    });
    let page = RefusedPage {
        frame: Frame::new("Refused request", Section::Sources, &viewer),
        id: id.to_string(),
        source_id: source.id.to_string(),
        source: source.settings.name.clone(),
        line,
        method: request.method.to_string(),
        path: query.map_or_else(
            || request.path.clone(),
            |query| format!("{}?{query}", request.path),
        ),
        headers: headers.collect(),
        payload: Payload::of_body(&request.body, kind.as_deref().unwrap_or("no type"), true),
        is_cut: refused.is_cut,
    };
    Ok(html(StatusCode::OK, &page))
}
