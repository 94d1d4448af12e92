//! Sources: who may post events in.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::source::Source;

use super::fields::Asked;
use super::page::{Frame, Section, Trouble, html};
use super::session::Viewer;
use super::text::{self, Markup};
use crate::Api;

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    frame: Frame,
    sources: Vec<SourceLine>,
}

struct SourceLine {
    id: String,
    name: String,
    scheme: String,
    routes: usize,
    created_at: Markup,
}

/// All sources.
pub(super) async fn list(
    State(api): State<Api>,
    viewer: Viewer,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let sources = api.gateway.sources.list(viewer.tenant()).await?;
    let line = |source: &Source| SourceLine {
        id: source.id.to_string(),
        name: source.settings.name.clone(),
        scheme: source.settings.scheme.name.to_owned(),
        routes: source.settings.routes.len(),
        created_at: text::when(source.created_at),
    };
    let page = SourcesPage {
        frame: Frame::new("Sources", Section::Sources, &viewer).after(&fields),
        sources: sources.iter().map(line).collect(),
    };
    Ok(html(StatusCode::OK, &page))
}
