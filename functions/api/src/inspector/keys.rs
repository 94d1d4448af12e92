//! API keys: who has one, making one, revoking one.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use postrider_domain::ids::KeyId;
use postrider_domain::invalid::FieldError;
use postrider_domain::key::{ApiKey, Scope};
use postrider_gateway::GatewayError;

use super::fields::{Asked, Fields, Form, Named};
use super::page::{Frame, Section, Trouble, html};
use super::session::{Manager, Viewer};
use super::text::{self, Markup};
use crate::Api;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<KeyLine>,
    /// The token of a key that was just made, shown this once.
    made: Option<(String, String)>,
    /// What was written into the form.
    name: String,
    scopes: Vec<ScopeChoice>,
    faults: Vec<FieldError>,
}

struct KeyLine {
    id: String,
    name: String,
    scopes: String,
    created_at: Markup,
    last_used_at: Markup,
    /// The one that somebody looks with.
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
                Scope::Read => "look at everything",
                Scope::Manage => "change everything, and look at it",
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

async fn page(api: &Api, viewer: &Viewer) -> Result<KeysPage, Trouble> {
    let keys = api.gateway.keyring.list(viewer.tenant()).await?;
    Ok(KeysPage {
        frame: Frame::new("Keys", Section::Keys, viewer),
        keys: keys.iter().map(|key| line(key, viewer)).collect(),
        made: None,
        name: String::new(),
        scopes: scopes(&[Scope::Read]),
        faults: Vec::new(),
    })
}

/// All keys of the tenant.
pub(super) async fn list(
    State(api): State<Api>,
    viewer: Viewer,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let mut page = page(&api, &viewer).await?;
    page.frame = page.frame.after(&fields);
    Ok(html(StatusCode::OK, &page))
}

fn chosen(fields: &Fields) -> Vec<Scope> {
    let wanted: Vec<_> = fields.all("scope").collect();
    let is_wanted = |scope: &Scope| wanted.contains(&scope.as_str());
    Scope::ALL.into_iter().filter(is_wanted).collect()
}

/// Makes a key. The answer is the only one that shows it.
pub(super) async fn create(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let (name, chosen) = (fields.text("name"), chosen(&fields));
    let made = api
        .gateway
        .keyring
        .create(viewer.tenant(), &name, chosen.clone())
        .await;
    let mut page = page(&api, &viewer).await?;
    let status = match made {
        Ok(made) => {
            page.made = Some((made.key.name, made.token));
            StatusCode::CREATED
        }
        Err(GatewayError::Invalid(faults)) => {
            (page.name, page.scopes) = (name, scopes(&chosen));
            page.faults = faults.into_fields();
            StatusCode::BAD_REQUEST
        }
        Err(refusal) => return Err(refusal.into()),
    };
    Ok(html(status, &page))
}

/// Revokes a key. One's own ends the session with it.
pub(super) async fn revoke(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<KeyId>,
) -> Result<Response, Trouble> {
    api.gateway.keyring.revoke(viewer.tenant(), id).await?;
    let there = if id == viewer.key().id {
        "/inspector/login"
    } else {
        "/inspector/keys?done=revoked"
    };
    Ok(Redirect::to(there).into_response())
}
