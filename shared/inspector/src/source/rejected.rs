//! Rejected requests: in the list, and one with its content.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::{RejectedId, SourceId};
use postrider_domain::rejected::StoredRejection;
use postrider_domain::source::Source;

use crate::App;
use crate::fields::NamedPair;
use crate::page::{Frame, PageError, Section, html};
use crate::payload::Payload;
use crate::session::Manager;
use crate::text::{self, Markup};
use postrider_presentation::redact::{is_secret, without_token};
use postrider_presentation::rejected::{Explained, explain};

/// In place of a value that may be a secret.
const HIDDEN: &str = "***";

pub(super) struct RejectedLine {
    pub(super) id: String,
    pub(super) at: Markup,
    pub(super) reason: String,
    pub(super) summary: String,
    /// The diagnosis; none for a key that can only read.
    pub(super) findings: Option<Vec<Explained>>,
}

impl RejectedLine {
    /// With a diagnosis if the source is given: it needs the source's secrets.
    pub(super) fn of(kept: &StoredRejection, diagnosed_with: Option<&Source>) -> Self {
        let rejected = &kept.rejected;
        let findings = diagnosed_with.map(|source| explained(source, &rejected.diagnose(source)));
        Self {
            id: kept.id.to_string(),
            at: text::when(rejected.at),
            reason: rejected.reason.to_string(),
            summary: summary(kept),
            findings,
        }
    }
}

fn explained(source: &Source, findings: &[Finding]) -> Vec<Explained> {
    let id = source.id.to_string();
    findings
        .iter()
        .map(|finding| explain(finding, &id))
        .collect()
}

fn summary(kept: &StoredRejection) -> String {
    let rejected = &kept.rejected;
    let kind = rejected.request.headers.get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let bytes = usize::try_from(rejected.body_bytes).unwrap_or(usize::MAX);
    let parts = [
        Some(rejected.request.method.to_string()),
        Some(text::bytes(bytes)),
        kind.map(|kind| text::short(&kind, 60)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[derive(Template)]
#[template(path = "rejected.html")]
struct RejectedPage {
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

/// One rejected request with its content, which only the scope `manage` may see.
pub(crate) async fn show(
    State(app): State<App>,
    Manager(viewer): Manager,
    NamedPair(source, id): NamedPair<SourceId, RejectedId>,
) -> Result<Response, PageError> {
    let rejected = &app.gateway.rejected;
    let diagnosed = rejected.diagnose(viewer.tenant(), source, id).await?;
    let (source, rejected) = (&diagnosed.source, &diagnosed.kept.rejected);
    let request = &rejected.request;
    let kind = request.headers.get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let line = RejectedLine {
        findings: Some(explained(source, &diagnosed.findings)),
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
    let page = RejectedPage {
        frame: Frame::new("Rejected request", Section::Sources, &viewer),
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
        payload: Payload::of_body(
            &request.body,
            kind.as_deref().unwrap_or("no content type"),
            true,
        ),
        is_cut: rejected.is_cut,
    };
    Ok(html(StatusCode::OK, &page))
}
