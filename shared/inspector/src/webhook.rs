//! The form of a webhook, with previews of its retry schedule, of the events its filter matches, and of what its template sends.

pub(super) mod actions;
mod form;
mod headers;
mod matches;
pub(super) mod page;
mod rendered;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use postrider_domain::ids::WebhookId;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;

use super::fields::{Fields, Form, Named};
use super::page::{Frame, PageError, Section, html};
use super::schedule::Schedule;
use super::session::{Manager, Viewer};
use crate::App;
use form::WebhookForm;
use matches::Matches;
use rendered::Preview;

#[derive(Template)]
#[template(path = "webhook_form.html")]
struct FormPage {
    frame: Frame,
    /// None for a new webhook.
    id: Option<String>,
    form: WebhookForm,
    /// None if the retry settings are invalid.
    schedule: Option<Schedule>,
    /// None unless they are asked for.
    matches: Option<Matches>,
    /// None unless it is asked for.
    rendered: Option<Preview>,
    errors: Vec<FieldError>,
}

impl FormPage {
    fn of(
        app: &App,
        viewer: &Viewer,
        id: Option<WebhookId>,
        form: WebhookForm,
        errors: Invalid,
    ) -> Self {
        let title = if id.is_some() {
            "Edit webhook"
        } else {
            "New webhook"
        };
        let settings = form.retry().ok();
        Self {
            frame: Frame::new(title, Section::Webhooks, viewer),
            id: id.map(|id| id.to_string()),
            schedule: settings.map(|settings| Schedule::of(&settings, app.gateway.settings.retry)),
            matches: None,
            rendered: None,
            errors: viewer.site().shown_errors(errors.into_fields()),
            form,
        }
    }

    /// Adds the preview that the form was sent for.
    async fn with_preview(
        self,
        app: &App,
        viewer: &Viewer,
        id: Option<WebhookId>,
        fields: &Fields,
    ) -> Result<Self, PageError> {
        let page = self.with_matches(app, viewer, fields).await?;
        page.with_rendered(app, viewer, id, fields).await
    }

    /// Renders the template for a recent event if that is what the form was sent for.
    async fn with_rendered(
        mut self,
        app: &App,
        viewer: &Viewer,
        id: Option<WebhookId>,
        fields: &Fields,
    ) -> Result<Self, PageError> {
        if fields.get("do") != Some("render") {
            return Ok(self);
        }
        match self.form.template() {
            Ok(Some(template)) => {
                let found = rendered::read(app, viewer, id, &self.form, &template).await?;
                self.rendered = Some(found);
            }
            Ok(None) => {
                let message = "is empty, so payloads are sent as they are";
                self.errors = Invalid::field("template", message).into_fields();
            }
            // Among the errors already.
            Err(_) => {}
        }
        Ok(self)
    }

    /// Tries the filter on the last events if that is what the form was sent for.
    async fn with_matches(
        mut self,
        app: &App,
        viewer: &Viewer,
        fields: &Fields,
    ) -> Result<Self, PageError> {
        if fields.get("do") != Some("matches") {
            return Ok(self);
        }
        // An invalid filter is among the errors.
        if let Ok(filter) = self.form.filter() {
            let patterns = self.form.patterns();
            let found = matches::read(app, viewer, &patterns, filter.as_ref()).await?;
            self.matches = Some(found);
        }
        Ok(self)
    }

    fn error(&self, name: &str) -> Option<String> {
        let of_it = |error: &&FieldError| {
            error.field == name
                || error.field.starts_with(&format!("{name}["))
                || error.field.starts_with(&format!("{name}."))
        };
        let found: Vec<_> = self
            .errors
            .iter()
            .filter(of_it)
            .map(|error| error.message.clone())
            .collect();
        (!found.is_empty()).then(|| found.join("; "))
    }
}

pub(super) async fn blank(
    State(app): State<App>,
    Manager(viewer): Manager,
) -> Result<Response, PageError> {
    let page = FormPage::of(
        &app,
        &viewer,
        None,
        WebhookForm::blank(),
        Invalid::default(),
    );
    Ok(html(StatusCode::OK, &page))
}

pub(super) async fn form(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Response, PageError> {
    let webhook = app.gateway.manage.get(viewer.tenant(), id).await?;
    let form = WebhookForm::of(&webhook.settings);
    let page = FormPage::of(&app, &viewer, Some(id), form, Invalid::default());
    Ok(html(StatusCode::OK, &page))
}

/// Whether the form was sent only for a preview, or to copy a preset into it.
fn is_preview(fields: &Fields) -> bool {
    fields.get("do").is_some()
}

/// Creates a webhook. Its secret is shown only here.
pub(super) async fn create(
    State(app): State<App>,
    Manager(viewer): Manager,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let given = WebhookForm::from_fields(&fields);
    let created = match given.apply_to(viewer.site(), &WebhookDraft::default()) {
        Ok(_) if is_preview(&fields) => Err(GatewayError::Invalid(Invalid::default())),
        Ok(draft) => {
            app.gateway
                .manage
                .create(viewer.tenant(), draft, None)
                .await
        }
        Err(errors) => Err(errors.into()),
    };
    match created {
        Ok(webhook) => {
            let secret = webhook.secrets.current.expose();
            page::with_secret(&app, &viewer, webhook.id, secret, StatusCode::CREATED).await
        }
        Err(GatewayError::Invalid(errors)) => {
            let page = FormPage::of(&app, &viewer, None, given, errors);
            let page = page.with_preview(&app, &viewer, None, &fields).await?;
            Ok(again(&page))
        }
        Err(error) => Err(error.into()),
    }
}

/// Saves the form, or shows a preview.
pub(super) async fn save(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let given = WebhookForm::from_fields(&fields);
    let webhook = app.gateway.manage.get(viewer.tenant(), id).await?;
    let named = webhook.settings.headers.iter();
    let stored = WebhookDraft {
        target_url: webhook.settings.target_url.to_string(),
        headers: Some(
            named
                .map(|(name, _)| (name.to_string(), String::new()))
                .collect(),
        ),
        ..WebhookDraft::default()
    };
    let saved = match given.apply_to(viewer.site(), &stored) {
        Ok(_) if is_preview(&fields) => Err(GatewayError::Invalid(Invalid::default())),
        Ok(_) => {
            // Checked above; this reads the stored values of headers that the form leaves empty.
            let site = viewer.site();
            let edit = |draft: WebhookDraft| given.apply_to(site, &draft).unwrap_or_default();
            app.gateway.manage.change(viewer.tenant(), id, edit).await
        }
        Err(errors) => Err(errors.into()),
    };
    match saved {
        Ok(_) => Ok(viewer
            .redirect(&format!("/webhooks/{id}?done=saved"))
            .into_response()),
        Err(GatewayError::Invalid(errors)) => {
            let page = FormPage::of(&app, &viewer, Some(id), given, errors);
            let page = page.with_preview(&app, &viewer, Some(id), &fields).await?;
            Ok(again(&page))
        }
        Err(error) => Err(error.into()),
    }
}

/// The form again, with its errors if there are any.
fn again(page: &FormPage) -> Response {
    let status = if page.errors.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    };
    html(status, page)
}
