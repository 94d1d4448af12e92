//! Creating and editing a source.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use postrider_domain::ids::SourceId;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::scheme::{Handshake, Scheme};
use postrider_domain::source::{Source, SourceDraft};
use postrider_domain::webhook::Webhook;
use postrider_gateway::GatewayError;

use super::form::{RouteFields, SourceForm};
use super::{Secret, with_secret};
use crate::App;
use crate::fields::{Fields, Form, Named, Query};
use crate::filter::Choice;
use crate::page::{Frame, PageError, Section, html};
use crate::session::{Manager, Viewer};

#[derive(Template)]
#[template(path = "source_form.html")]
struct FormPage {
    frame: Frame,
    /// None for a new source.
    id: Option<String>,
    form: SourceForm,
    schemes: Vec<Choice>,
    routes: Vec<RouteFields>,
    /// Whether the scheme has a verify token; a new source's may.
    has_verify_token: bool,
    errors: Vec<FieldError>,
}

impl FormPage {
    fn of(
        viewer: &Viewer,
        source: Option<&Source>,
        form: SourceForm,
        webhooks: &[Webhook],
        errors: Invalid,
    ) -> Self {
        let title = source.map_or("New source", |_| "Edit source");
        Self {
            frame: Frame::new(title, Section::Sources, viewer),
            id: source.map(|source| source.id.to_string()),
            schemes: form.schemes(),
            routes: form.routes(webhooks),
            has_verify_token: source
                .is_none_or(|source| source.settings.scheme.handshake == Some(Handshake::Meta)),
            errors: errors.into_fields(),
            form,
        }
    }

    fn is_invalid(&self, name: &str) -> bool {
        self.errors.iter().any(|error| error.field == name)
    }

    fn is_route_invalid(&self, number: &usize, name: &str) -> bool {
        self.is_invalid(&format!("routes[{number}].{name}"))
    }

    fn answer(&self) -> Response {
        let status = if self.errors.is_empty() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        };
        html(status, self)
    }
}

/// The form of a new source; the query may name its scheme.
pub(crate) async fn blank(
    State(app): State<App>,
    Manager(viewer): Manager,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let form = SourceForm {
        scheme: fields.text("scheme"),
        ..SourceForm::default()
    };
    let page = FormPage::of(&viewer, None, form, &webhooks, Invalid::default());
    Ok(page.answer())
}

pub(crate) async fn form(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
) -> Result<Response, PageError> {
    let source = app.gateway.sources.get(viewer.tenant(), id).await?;
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let form = SourceForm::of(&source.settings);
    let page = FormPage::of(&viewer, Some(&source), form, &webhooks, Invalid::default());
    Ok(page.answer())
}

/// Whether the form was sent only to get more rows.
fn wants_rows(fields: &Fields) -> bool {
    fields.get("do") == Some("lines")
}

/// Creates a source. A generated secret is shown only here.
pub(crate) async fn create(
    State(app): State<App>,
    Manager(viewer): Manager,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let given = SourceForm::from_fields(&fields);
    let created = if wants_rows(&fields) {
        Err(GatewayError::Invalid(Invalid::default()))
    } else {
        create_from(&app, &viewer, &given).await
    };
    match created {
        Ok((id, Secret::Generated(secret))) => {
            with_secret(&app, &viewer, id, &headers, secret, StatusCode::CREATED).await
        }
        Ok((id, Secret::Given(_))) => Ok(Redirect::to(&format!(
            "/inspector/sources/{id}?done=source-created"
        ))
        .into_response()),
        Err(GatewayError::Invalid(errors)) => {
            let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
            Ok(FormPage::of(&viewer, None, given, &webhooks, errors).answer())
        }
        Err(error) => Err(error.into()),
    }
}

async fn create_from(
    app: &App,
    viewer: &Viewer,
    given: &SourceForm,
) -> Result<(SourceId, Secret), GatewayError> {
    let scheme = Scheme::named(&given.scheme)
        .map_err(|error| Invalid::field("scheme", error.to_string()))?;
    let typed = (!given.secret.is_empty()).then_some(given.secret.as_str());
    let secret = Secret::of(app, &scheme, typed)?;
    let draft = given.apply_to(SourceDraft {
        scheme: given.scheme.clone(),
        ..SourceDraft::default()
    });
    let sources = &app.gateway.sources;
    let source = sources
        .create(viewer.tenant(), draft, secret.text())
        .await?;
    Ok((source.id, secret))
}

/// Saves the form, or shows it with more rows.
pub(crate) async fn save(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let (sources, tenant) = (&app.gateway.sources, viewer.tenant());
    let source = sources.get(tenant, id).await?;
    let given = SourceForm {
        scheme: source.settings.scheme.name.to_owned(),
        ..SourceForm::from_fields(&fields)
    };
    let saved = if wants_rows(&fields) {
        Err(GatewayError::Invalid(Invalid::default()))
    } else {
        let edit = |draft: SourceDraft| given.apply_to(draft);
        sources.change(tenant, id, edit).await.map(drop)
    };
    match saved {
        Ok(()) => {
            Ok(Redirect::to(&format!("/inspector/sources/{id}?done=source-saved")).into_response())
        }
        Err(GatewayError::Invalid(errors)) => {
            let webhooks = app.gateway.manage.list(tenant).await?;
            Ok(FormPage::of(&viewer, Some(&source), given, &webhooks, errors).answer())
        }
        Err(error) => Err(error.into()),
    }
}
