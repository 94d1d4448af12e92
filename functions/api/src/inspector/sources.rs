//! Sources: who may post events in, and where those go.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::ids::SourceId;
use postrider_domain::route::Route;
use postrider_domain::source::Source;
use postrider_domain::webhook::Webhook;

use super::fields::Named;
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

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    frame: Frame,
    id: String,
    name: String,
    scheme: String,
    path: String,
    public_url: Option<String>,
    routes: Vec<RouteLine>,
    old_secrets: Vec<Markup>,
    created_at: Markup,
    updated_at: Markup,
}

struct RouteLine {
    event_type: String,
    intent: String,
    session: Option<String>,
    webhook_id: String,
    /// None when the webhook is gone.
    webhook: Option<String>,
}

fn route_line(route: &Route, webhooks: &[Webhook]) -> RouteLine {
    let webhook = webhooks
        .iter()
        .find(|webhook| webhook.id == route.webhook_id);
    RouteLine {
        event_type: route.event_type.to_string(),
        intent: route.intent.as_str().to_owned(),
        session: route.target_session.clone().map(String::from),
        webhook_id: route.webhook_id.to_string(),
        webhook: webhook.map(|webhook| webhook.settings.name.clone()),
    }
}

/// All sources.
pub(super) async fn list(State(api): State<Api>, viewer: Viewer) -> Result<Response, Trouble> {
    let sources = api.gateway.sources.list(viewer.tenant()).await?;
    let line = |source: &Source| SourceLine {
        id: source.id.to_string(),
        name: source.settings.name.clone(),
        scheme: source.settings.scheme.name.to_owned(),
        routes: source.settings.routes.len(),
        created_at: text::when(source.created_at),
    };
    let page = SourcesPage {
        frame: Frame::new("Sources", Section::Sources, &viewer),
        sources: sources.iter().map(line).collect(),
    };
    Ok(html(StatusCode::OK, &page))
}

/// One source with its routes.
pub(super) async fn show(
    State(api): State<Api>,
    viewer: Viewer,
    Named(id): Named<SourceId>,
) -> Result<Response, Trouble> {
    let source = api.gateway.sources.get(viewer.tenant(), id).await?;
    let webhooks = api.gateway.manage.list(viewer.tenant()).await?;
    let settings = &source.settings;
    let routes = settings.routes.iter();
    let old_secrets = source.secrets.retiring.iter();
    let page = SourcePage {
        frame: Frame::new(settings.name.clone(), Section::Sources, &viewer),
        id: id.to_string(),
        name: settings.name.clone(),
        scheme: settings.scheme.name.to_owned(),
        path: Source::path(id),
        public_url: settings.public_url.as_ref().map(ToString::to_string),
        routes: routes.map(|route| route_line(route, &webhooks)).collect(),
        old_secrets: old_secrets.map(|old| text::when(old.expires_at)).collect(),
        created_at: text::when(source.created_at),
        updated_at: text::when(source.updated_at),
    };
    Ok(html(StatusCode::OK, &page))
}
