//! One source: its scheme, routes and rejected requests; rotating its secret and deleting it.

mod address;
pub(super) mod edit;
mod form;
pub(super) mod rejected;
mod words;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use postrider_domain::ids::SourceId;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::key::Scope;
use postrider_domain::route::Route;
use postrider_domain::scheme::Scheme;
use postrider_domain::webhook::Webhook;
use postrider_gateway::GatewayError;
use postrider_gateway::rejected::Listed;

use super::fields::{Form, Named, Query};
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::session::{Manager, Viewer};
use super::text::{self, Markup};
use crate::App;
use address::Address;
use rejected::RejectedLine;

/// Rejected requests listed.
const REJECTED: usize = 10;
/// How many of them are diagnosed: every forged request reloads an open page, and a diagnosis computes many signatures.
const DIAGNOSED: usize = 3;

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    frame: Frame,
    id: String,
    name: String,
    scheme: String,
    signing: Vec<String>,
    address: Address,
    routes: Vec<RouteLine>,
    rejected: Vec<RejectedLine>,
    stored: u64,
    counted: u64,
    old_secrets: Vec<Markup>,
    created_at: Markup,
    updated_at: Markup,
    /// A generated secret; shown only once.
    secret: Option<String>,
    /// Why the secret was not rotated.
    errors: Vec<FieldError>,
}

struct RouteLine {
    event_type: String,
    filter: Option<String>,
    intent: String,
    session: Option<String>,
    webhook_id: String,
    /// None if the webhook was deleted.
    webhook: Option<String>,
}

fn route_line(route: &Route, webhooks: &[Webhook]) -> RouteLine {
    let webhook = webhooks
        .iter()
        .find(|webhook| webhook.id == route.webhook_id);
    RouteLine {
        event_type: route.event_type.to_string(),
        filter: route
            .filter
            .as_ref()
            .map(|filter| filter.source().to_string()),
        intent: route.intent.as_str().to_owned(),
        session: route.target_session.clone().map(String::from),
        webhook_id: route.webhook_id.to_string(),
        webhook: webhook.map(|webhook| webhook.settings.name.clone()),
    }
}

async fn page(
    app: &App,
    viewer: &Viewer,
    id: SourceId,
    headers: &HeaderMap,
) -> Result<SourcePage, PageError> {
    let rejected = &app.gateway.rejected;
    let listed = rejected.list(viewer.tenant(), id, REJECTED).await?;
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let Listed {
        source,
        requests,
        tally,
    } = &listed;
    let (settings, now) = (&source.settings, app.now());
    // As in the API, a key that can only read does not see the content of requests.
    let diagnosed_with = viewer.key().allows(Scope::Manage).then_some(source);
    Ok(SourcePage {
        frame: Frame::new(settings.name.clone(), Section::Sources, viewer),
        id: id.to_string(),
        name: settings.name.clone(),
        scheme: settings.scheme.name.to_owned(),
        signing: words::of(&settings.scheme),
        address: Address::of(source, headers),
        routes: settings
            .routes
            .iter()
            .map(|route| route_line(route, &webhooks))
            .collect(),
        rejected: requests
            .iter()
            .enumerate()
            .map(|(at, kept)| RejectedLine::of(kept, diagnosed_with.filter(|_| at < DIAGNOSED)))
            .collect(),
        stored: tally.stored,
        counted: tally.counted,
        old_secrets: source
            .secrets
            .replaced(now)
            .map(|old| text::when(old.expires_at))
            .collect(),
        created_at: text::when(source.created_at),
        updated_at: text::when(source.updated_at),
        secret: None,
        errors: Vec::new(),
    })
}

pub(super) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<SourceId>,
    Query(fields): Query,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let mut page = page(&app, &viewer, id, &headers).await?;
    page.frame = page.frame.after(&fields).live(place);
    Ok(html(StatusCode::OK, &page))
}

/// A secret from the form, or a generated one, which has to be shown.
enum Secret {
    Given(String),
    Generated(String),
}

impl Secret {
    fn of(app: &App, scheme: &Scheme, given: Option<&str>) -> Result<Self, Invalid> {
        if let Some(given) = given {
            return Ok(Self::Given(given.to_owned()));
        }
        let generated = app.gateway.sources.draw_secret(scheme);
        let generated = generated.ok_or_else(|| {
            let message = format!(
                "is required: the scheme `{}` verifies with the sender's public key",
                scheme.name
            );
            Invalid::field("secret", message)
        })?;
        Ok(Self::Generated(generated.expose().to_owned()))
    }

    fn text(&self) -> &str {
        match self {
            Self::Given(text) | Self::Generated(text) => text,
        }
    }
}

/// Rotates to the given secret, or to a generated one, which the response shows.
pub(super) async fn rotate(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let (sources, tenant) = (&app.gateway.sources, viewer.tenant());
    let source = sources.get(tenant, id).await?;
    let rotated = match Secret::of(&app, &source.settings.scheme, fields.get("secret")) {
        Ok(secret) => {
            let rotated = sources.rotate_secret(tenant, id, secret.text()).await;
            rotated.map(|_| secret)
        }
        Err(errors) => Err(errors.into()),
    };
    match rotated {
        Ok(Secret::Given(_)) => {
            Ok(Redirect::to(&format!("/inspector/sources/{id}?done=rotated")).into_response())
        }
        Ok(Secret::Generated(secret)) => {
            with_secret(&app, &viewer, id, &headers, secret, StatusCode::OK).await
        }
        Err(GatewayError::Invalid(errors)) => {
            let mut page = page(&app, &viewer, id, &headers).await?;
            page.errors = errors.into_fields();
            Ok(html(StatusCode::BAD_REQUEST, &page))
        }
        Err(error) => Err(error.into()),
    }
}

/// The page with a generated secret.
async fn with_secret(
    app: &App,
    viewer: &Viewer,
    id: SourceId,
    headers: &HeaderMap,
    secret: String,
    status: StatusCode,
) -> Result<Response, PageError> {
    let mut page = page(app, viewer, id, headers).await?;
    page.secret = Some(secret);
    Ok(html(status, &page))
}

pub(super) async fn delete(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
) -> Result<Redirect, PageError> {
    app.gateway.sources.delete(viewer.tenant(), id).await?;
    Ok(Redirect::to("/inspector/sources?done=source-deleted"))
}
