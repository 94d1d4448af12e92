//! Sources: who may post events in.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use futures_util::future::try_join_all;
use http::StatusCode;
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;

use super::fields::Asked;
use super::page::{Frame, Section, Trouble, html};
use super::session::Viewer;
use super::text::{self, Markup};
use crate::Api;

/// Up to this many, each is asked when something of it was refused last.
const MAX_ASKED: usize = 20;

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    frame: Frame,
    /// Whether it is told what was refused.
    tells_refused: bool,
    sources: Vec<SourceLine>,
}

struct SourceLine {
    id: String,
    name: String,
    scheme: String,
    routes: usize,
    /// When something of it was refused last, within the last days.
    refused_at: Markup,
    created_at: Markup,
}

/// When something was refused last of each source; none when there are too many to ask for each.
async fn refused_at(
    api: &Api,
    viewer: &Viewer,
    sources: &[Source],
) -> Result<Option<Vec<Option<Timestamp>>>, Trouble> {
    if sources.len() > MAX_ASKED {
        return Ok(None);
    }
    let (store, now) = (&api.gateway.ports.store, api.now());
    let newest = sources.iter().map(|source| async move {
        let kept = store.refused(viewer.tenant(), source.id, 1, now).await?;
        Ok(kept.first().map(|kept| kept.refused.at))
    });
    try_join_all(newest).await.map(Some)
}

/// All sources.
pub(super) async fn list(
    State(api): State<Api>,
    viewer: Viewer,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let sources = api.gateway.sources.list(viewer.tenant()).await?;
    let refused = refused_at(&api, &viewer, &sources).await?;
    let line = |(n, source): (usize, &Source)| SourceLine {
        id: source.id.to_string(),
        name: source.settings.name.clone(),
        scheme: source.settings.scheme.name.to_owned(),
        routes: source.settings.routes.len(),
        refused_at: text::when_or_never(
            refused
                .as_ref()
                .and_then(|all| all.get(n).copied().flatten()),
        ),
        created_at: text::when(source.created_at),
    };
    let page = SourcesPage {
        frame: Frame::new("Sources", Section::Sources, &viewer).after(&fields),
        tells_refused: refused.is_some(),
        sources: sources.iter().enumerate().map(line).collect(),
    };
    Ok(html(StatusCode::OK, &page))
}
