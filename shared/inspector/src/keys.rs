//! API keys: listing, creating and revoking them.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use postrider_domain::ids::KeyId;
use postrider_domain::invalid::FieldError;
use postrider_domain::key::{ApiKey, Scope};
use postrider_gateway::GatewayError;

use super::fields::{Fields, Form, Named, Query};
use super::page::{Frame, PageError, Section, html};
use super::session::{Manager, Viewer};
use super::text::{self, Markup};
use crate::App;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<KeyLine>,
    /// Name and token of the key just created; shown only once.
    created: Option<(String, String)>,
    /// The name entered in the form.
    name: String,
    scopes: Vec<ScopeChoice>,
    errors: Vec<FieldError>,
}

struct KeyLine {
    id: String,
    name: String,
    scopes: String,
    created_at: Markup,
    last_used_at: Markup,
    /// Whether it is the key of this session.
    is_own: bool,
}

struct ScopeChoice {
    name: &'static str,
    meaning: &'static str,
    is_chosen: bool,
}

fn scopes(chosen: &[Scope]) -> Vec<ScopeChoice> {
    Scope::ALL
        .map(|scope| ScopeChoice {
            name: scope.as_str(),
            meaning: match scope {
                Scope::Publish => "publish events",
                Scope::Read => "read everything",
                Scope::Manage => "read and change everything",
            },
            is_chosen: chosen.contains(&scope),
        })
        .into()
}

fn line(key: &ApiKey, viewer: &Viewer) -> KeyLine {
    let scopes: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    KeyLine {
        id: key.id.to_string(),
        name: key.name.clone(),
        scopes: scopes.join(", "),
        created_at: text::when(key.created_at),
        last_used_at: text::when_or_never(key.last_used_at),
        is_own: key.id == viewer.key().id,
    }
}

async fn page(app: &App, viewer: &Viewer) -> Result<KeysPage, PageError> {
    let keys = app.gateway.keyring.list(viewer.tenant()).await?;
    Ok(KeysPage {
        frame: Frame::new("API keys", Section::Keys, viewer),
        keys: keys.iter().map(|key| line(key, viewer)).collect(),
        created: None,
        name: String::new(),
        scopes: scopes(&[Scope::Read]),
        errors: Vec::new(),
    })
}

pub(super) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let mut page = page(&app, &viewer).await?;
    page.frame = page.frame.after(&fields);
    Ok(html(StatusCode::OK, &page))
}

fn chosen(fields: &Fields) -> Vec<Scope> {
    let wanted: Vec<_> = fields.all("scope").collect();
    let is_wanted = |scope: &Scope| wanted.contains(&scope.as_str());
    Scope::ALL.into_iter().filter(is_wanted).collect()
}

/// Creates a key. Only this response shows its token.
pub(super) async fn create(
    State(app): State<App>,
    Manager(viewer): Manager,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let (name, chosen) = (fields.text("name"), chosen(&fields));
    let created = app
        .gateway
        .keyring
        .create(viewer.tenant(), &name, chosen.clone())
        .await;
    let mut page = page(&app, &viewer).await?;
    let status = match created {
        Ok(created) => {
            page.created = Some((created.key.name, created.token));
            StatusCode::CREATED
        }
        Err(GatewayError::Invalid(errors)) => {
            (page.name, page.scopes) = (name, scopes(&chosen));
            page.errors = errors.into_fields();
            StatusCode::BAD_REQUEST
        }
        Err(error) => return Err(error.into()),
    };
    Ok(html(status, &page))
}

/// Revokes a key. Revoking the session's own key ends the session.
pub(super) async fn revoke(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<KeyId>,
) -> Result<Response, PageError> {
    app.gateway.keyring.revoke(viewer.tenant(), id).await?;
    let there = if id == viewer.key().id {
        "/inspector/login"
    } else {
        "/inspector/keys?done=revoked"
    };
    Ok(Redirect::to(there).into_response())
}
