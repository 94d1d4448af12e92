//! The list of sources.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use futures_util::future::try_join_all;
use http::StatusCode;
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;

use super::fields::Query;
use super::page::{Frame, PageError, Section, html};
use super::session::Viewer;
use super::text::{self, Markup};
use crate::App;

/// With more sources than this, the column of the last rejected requests is left out: it takes a query per source.
const MAX_QUERIED: usize = 20;

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    frame: Frame,
    shows_rejected: bool,
    sources: Vec<SourceLine>,
}

struct SourceLine {
    id: String,
    name: String,
    scheme: String,
    routes: usize,
    rejected_at: Markup,
    created_at: Markup,
}

/// The time of the last rejected request per source; none if there are too many sources.
async fn rejected_at(
    app: &App,
    viewer: &Viewer,
    sources: &[Source],
) -> Result<Option<Vec<Option<Timestamp>>>, PageError> {
    if sources.len() > MAX_QUERIED {
        return Ok(None);
    }
    let (store, now) = (&app.gateway.ports.store, app.now());
    let newest = sources.iter().map(|source| async move {
        let kept = store.rejections(viewer.tenant(), source.id, 1, now).await?;
        Ok(kept.first().map(|kept| kept.rejected.at))
    });
    try_join_all(newest).await.map(Some)
}

pub(super) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let sources = app.gateway.sources.list(viewer.tenant()).await?;
    let rejected = rejected_at(&app, &viewer, &sources).await?;
    let line = |(n, source): (usize, &Source)| SourceLine {
        id: source.id.to_string(),
        name: source.settings.name.clone(),
        scheme: source.settings.scheme.name.to_owned(),
        routes: source.settings.routes.len(),
        rejected_at: text::when_or_never(
            rejected
                .as_ref()
                .and_then(|all| all.get(n).copied().flatten()),
        ),
        created_at: text::when(source.created_at),
    };
    let page = SourcesPage {
        frame: Frame::new("Sources", Section::Sources, &viewer).after(&fields),
        shows_rejected: rejected.is_some(),
        sources: sources.iter().enumerate().map(line).collect(),
    };
    Ok(html(StatusCode::OK, &page))
}
