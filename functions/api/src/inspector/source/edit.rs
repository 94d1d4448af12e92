//! Making a source, and changing one.

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
use crate::Api;
use crate::inspector::fields::{Asked, Fields, Form, Named};
use crate::inspector::filter::Choice;
use crate::inspector::page::{Frame, Section, Trouble, html};
use crate::inspector::session::{Manager, Viewer};

#[derive(Template)]
#[template(path = "source_form.html")]
struct FormPage {
    frame: Frame,
    /// None for a new one.
    id: Option<String>,
    form: SourceForm,
    schemes: Vec<Choice>,
    routes: Vec<RouteFields>,
    /// Whether the sender asks with a token of its own; for a new one it may.
    asks: bool,
    faults: Vec<FieldError>,
}

impl FormPage {
    fn of(
        viewer: &Viewer,
        source: Option<&Source>,
        form: SourceForm,
        webhooks: &[Webhook],
        faults: Invalid,
    ) -> Self {
        let title = source.map_or("New source", |_| "Edit source");
        Self {
            frame: Frame::new(title, Section::Sources, viewer),
            id: source.map(|source| source.id.to_string()),
            schemes: form.schemes(),
            routes: form.routes(webhooks),
            asks: source
                .is_none_or(|source| source.settings.scheme.handshake == Some(Handshake::Meta)),
            faults: faults.into_fields(),
            form,
        }
    }

    /// Whether something is wrong with a field.
    fn is_wrong(&self, name: &str) -> bool {
        self.faults.iter().any(|fault| fault.field == name)
    }

    fn is_route_wrong(&self, number: &usize, name: &str) -> bool {
        self.is_wrong(&format!("routes[{number}].{name}"))
    }

    fn answer(&self) -> Response {
        let status = if self.faults.is_empty() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        };
        html(status, self)
    }
}

/// The form of a new source; the address may name its scheme.
pub(in crate::inspector) async fn blank(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let webhooks = api.gateway.manage.list(viewer.tenant()).await?;
    let form = SourceForm {
        scheme: fields.text("scheme"),
        ..SourceForm::default()
    };
    let page = FormPage::of(&viewer, None, form, &webhooks, Invalid::default());
    Ok(page.answer())
}

/// The form of a source as it is.
pub(in crate::inspector) async fn form(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
) -> Result<Response, Trouble> {
    let source = api.gateway.sources.get(viewer.tenant(), id).await?;
    let webhooks = api.gateway.manage.list(viewer.tenant()).await?;
    let form = SourceForm::of(&source.settings);
    let page = FormPage::of(&viewer, Some(&source), form, &webhooks, Invalid::default());
    Ok(page.answer())
}

/// Whether somebody only wants more lines.
fn wants_lines(fields: &Fields) -> bool {
    fields.get("do") == Some("lines")
}

/// Makes a source. A secret that was drawn for it is shown this once.
pub(in crate::inspector) async fn create(
    State(api): State<Api>,
    Manager(viewer): Manager,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let given = SourceForm::from_fields(&fields);
    let made = if wants_lines(&fields) {
        Err(GatewayError::Invalid(Invalid::default()))
    } else {
        make(&api, &viewer, &given).await
    };
    match made {
        Ok((id, Secret::Drawn(secret))) => {
            with_secret(&api, &viewer, id, &headers, secret, StatusCode::CREATED).await
        }
        Ok((id, Secret::Given(_))) => {
            Ok(Redirect::to(&format!("/inspector/sources/{id}?done=source-made")).into_response())
        }
        Err(GatewayError::Invalid(faults)) => {
            let webhooks = api.gateway.manage.list(viewer.tenant()).await?;
            Ok(FormPage::of(&viewer, None, given, &webhooks, faults).answer())
        }
        Err(refusal) => Err(refusal.into()),
    }
}

async fn make(
    api: &Api,
    viewer: &Viewer,
    given: &SourceForm,
) -> Result<(SourceId, Secret), GatewayError> {
    let scheme = Scheme::named(&given.scheme)
        .map_err(|error| Invalid::field("scheme", error.to_string()))?;
    let typed = (!given.secret.is_empty()).then_some(given.secret.as_str());
    let secret = Secret::of(api, &scheme, typed)?;
    let draft = given.apply_to(SourceDraft {
        scheme: given.scheme.clone(),
        ..SourceDraft::default()
    });
    let sources = &api.gateway.sources;
    let source = sources
        .create(viewer.tenant(), draft, secret.text())
        .await?;
    Ok((source.id, secret))
}

/// Saves the form, or gives it more lines.
pub(in crate::inspector) async fn save(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<SourceId>,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let (sources, tenant) = (&api.gateway.sources, viewer.tenant());
    let source = sources.get(tenant, id).await?;
    let given = SourceForm {
        scheme: source.settings.scheme.name.to_owned(),
        ..SourceForm::from_fields(&fields)
    };
    let saved = if wants_lines(&fields) {
        Err(GatewayError::Invalid(Invalid::default()))
    } else {
        let edit = |draft: SourceDraft| given.apply_to(draft);
        sources.change(tenant, id, edit).await.map(drop)
    };
    match saved {
        Ok(()) => {
            Ok(Redirect::to(&format!("/inspector/sources/{id}?done=source-saved")).into_response())
        }
        Err(GatewayError::Invalid(faults)) => {
            let webhooks = api.gateway.manage.list(tenant).await?;
            Ok(FormPage::of(&viewer, Some(&source), given, &webhooks, faults).answer())
        }
        Err(refusal) => Err(refusal.into()),
    }
}
