//! One source: how it signs, where its events go, what was refused of it and why; a new secret, removing it.

mod address;
mod advice;
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

use super::fields::{Asked, Form, Named};
use super::live::Place;
use super::page::{Frame, Section, Trouble, html};
use super::session::{Manager, Viewer};
use super::text::{self, Markup};
use crate::Api;
use address::Address;
use rejected::RejectedLine;

/// How many refused requests are listed.
const REFUSED: usize = 10;
/// How many of them are looked at: every forged request loads the page anew for whoever watches it, and a look computes many
/// signatures.
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
    refused: Vec<RejectedLine>,
    kept: u64,
    counted: u64,
    old_secrets: Vec<Markup>,
    created_at: Markup,
    updated_at: Markup,
    /// A secret that was just drawn, shown this once.
    secret: Option<String>,
    /// What was wrong with a new secret.
    faults: Vec<FieldError>,
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

async fn page(
    api: &Api,
    viewer: &Viewer,
    id: SourceId,
    headers: &HeaderMap,
) -> Result<SourcePage, Trouble> {
    let refusals = &api.gateway.refusals;
    let listed = refusals.list(viewer.tenant(), id, REFUSED).await?;
    let webhooks = api.gateway.manage.list(viewer.tenant()).await?;
    let Listed {
        source,
        requests,
        tally,
    } = &listed;
    let (settings, now) = (&source.settings, api.now());
    // What a request held tells more than a key that may only look should know, as in the API.
    let looks_closer = viewer.key().allows(Scope::Manage).then_some(source);
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
        refused: requests
            .iter()
            .enumerate()
            .map(|(at, kept)| RejectedLine::of(kept, looks_closer.filter(|_| at < DIAGNOSED)))
            .collect(),
        kept: tally.kept,
        counted: tally.counted,
        old_secrets: source
            .secrets
            .replaced(now)
            .map(|old| text::when(old.expires_at))
            .collect(),
        created_at: text::when(source.created_at),
        updated_at: text::when(source.updated_at),
        secret: None,
        faults: Vec::new(),
    })
}

/// The page of one source.
pub(super) async fn show(
    State(api): State<Api>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<SourceId>,
    Asked(fields): Asked,
    headers: HeaderMap,
) -> Result<Response, Trouble> {
    let mut page = page(&api, &viewer, id, &headers).await?;
    page.frame = page.frame.after(&fields).live(place);
    Ok(html(StatusCode::OK, &page))
}

/// A secret as somebody gave it, or a drawn one, which has to be shown.
enum Secret {
    Given(String),
    Drawn(String),
}

impl Secret {
    fn of(api: &Api, scheme: &Scheme, given: Option<&str>) -> Result<Self, Invalid> {
        if let Some(given) = given {
            return Ok(Self::Given(given.to_owned()));
        }
        let drawn = api.gateway.sources.draw_secret(scheme);
        let drawn = drawn.ok_or_else(|| {
            let message = format!(
                "must be given: the scheme `{}` verifies with its sender's public key",
                scheme.name
            );
            Invalid::field("secret", message)
        })?;
        Ok(Self::Drawn(drawn.expose().to_owned()))
    }

    fn text(&self) -> &str {
        match self {
            Self::Given(text) | Self::Drawn(text) => text,
        }
    }
}

/// Takes a new secret, or draws one and shows it.
pub(super) async fn rotate(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let (sources, tenant) = (&api.gateway.sources, viewer.tenant());
    let source = sources.get(tenant, id).await?;
    let rotated = match Secret::of(&api, &source.settings.scheme, fields.get("secret")) {
        Ok(secret) => {
            let rotated = sources.rotate_secret(tenant, id, secret.text()).await;
            rotated.map(|_| secret)
        }
        Err(faults) => Err(faults.into()),
    };
    match rotated {
        Ok(Secret::Given(_)) => {
            Ok(Redirect::to(&format!("/inspector/sources/{id}?done=rotated")).into_response())
        }
        Ok(Secret::Drawn(secret)) => {
            with_secret(&api, &viewer, id, &headers, secret, StatusCode::OK).await
        }
        Err(GatewayError::Invalid(faults)) => {
            let mut page = page(&api, &viewer, id, &headers).await?;
            page.faults = faults.into_fields();
            Ok(html(StatusCode::BAD_REQUEST, &page))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// A page that shows a fresh secret, this once.
async fn with_secret(
    api: &Api,
    viewer: &Viewer,
    id: SourceId,
    headers: &HeaderMap,
    secret: String,
    status: StatusCode,
) -> Result<Response, Trouble> {
    let mut page = page(api, viewer, id, headers).await?;
    page.secret = Some(secret);
    Ok(html(status, &page))
}

/// Removes a source; what it sent stays.
pub(super) async fn delete(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
) -> Result<Redirect, Trouble> {
    api.gateway.sources.delete(viewer.tenant(), id).await?;
    Ok(Redirect::to("/inspector/sources?done=source-deleted"))
}
