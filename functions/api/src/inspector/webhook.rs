//! The form of a webhook: what can be set about it, with its schedule drawn.

pub(super) mod actions;
mod form;
mod headers;
pub(super) mod page;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use postrider_domain::ids::WebhookId;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;

use super::fields::{Fields, Form, Named};
use super::filter::Choice;
use super::page::{Frame, Section, Trouble, html};
use super::schedule::Schedule;
use super::session::{Manager, Viewer};
use crate::Api;
use form::WebhookForm;

#[derive(Template)]
#[template(path = "webhook_form.html")]
struct FormPage {
    frame: Frame,
    /// None for a new one.
    id: Option<String>,
    form: WebhookForm,
    profiles: Vec<Choice>,
    classifiers: Vec<Choice>,
    redirects: Vec<Choice>,
    endings: Vec<Choice>,
    /// None when the settings have faults.
    schedule: Option<Schedule>,
    faults: Vec<FieldError>,
}

impl FormPage {
    fn of(
        api: &Api,
        viewer: &Viewer,
        id: Option<WebhookId>,
        form: WebhookForm,
        faults: Invalid,
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
            profiles: form.profiles(),
            classifiers: form.classifiers(),
            redirects: form.redirects(),
            endings: form.endings(),
            schedule: settings.map(|settings| Schedule::of(&settings, api.gateway.settings.retry)),
            faults: faults.into_fields(),
            form,
        }
    }

    /// What is wrong with a field.
    fn fault(&self, name: &str) -> Option<String> {
        let of_it = |fault: &&FieldError| {
            fault.field == name
                || fault.field.starts_with(&format!("{name}["))
                || fault.field.starts_with(&format!("{name}."))
        };
        let found: Vec<_> = self
            .faults
            .iter()
            .filter(of_it)
            .map(|fault| fault.message.clone())
            .collect();
        (!found.is_empty()).then(|| found.join("; "))
    }
}

/// The form of a new webhook.
pub(super) async fn blank(
    State(api): State<Api>,
    Manager(viewer): Manager,
) -> Result<Response, Trouble> {
    let page = FormPage::of(
        &api,
        &viewer,
        None,
        WebhookForm::default(),
        Invalid::default(),
    );
    Ok(html(StatusCode::OK, &page))
}

/// The form of a webhook as it is.
pub(super) async fn form(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Response, Trouble> {
    let webhook = api.gateway.manage.get(viewer.tenant(), id).await?;
    let form = WebhookForm::of(&webhook.settings);
    let page = FormPage::of(&api, &viewer, Some(id), form, Invalid::default());
    Ok(html(StatusCode::OK, &page))
}

/// Whether somebody only wants to see what the schedule comes to.
fn is_preview(fields: &Fields) -> bool {
    fields.get("do") == Some("preview")
}

/// Makes a webhook, and shows its secret this once.
pub(super) async fn create(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let given = WebhookForm::from_fields(&fields);
    let made = match given.apply_to(&WebhookDraft::default()) {
        Ok(_) if is_preview(&fields) => Err(GatewayError::Invalid(Invalid::default())),
        Ok(draft) => {
            api.gateway
                .manage
                .create(viewer.tenant(), draft, None)
                .await
        }
        Err(faults) => Err(faults.into()),
    };
    match made {
        Ok(webhook) => {
            let secret = webhook.secrets.current.expose();
            page::with_secret(&api, &viewer, webhook.id, secret, StatusCode::CREATED).await
        }
        Err(GatewayError::Invalid(faults)) => {
            Ok(again(&FormPage::of(&api, &viewer, None, given, faults)))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// Saves the form, or draws what it says.
pub(super) async fn save(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let given = WebhookForm::from_fields(&fields);
    let webhook = api.gateway.manage.get(viewer.tenant(), id).await?;
    let named = webhook.settings.headers.iter();
    let stored = WebhookDraft {
        headers: Some(
            named
                .map(|(name, _)| (name.to_string(), String::new()))
                .collect(),
        ),
        ..WebhookDraft::default()
    };
    let saved = match given.apply_to(&stored) {
        Ok(_) if is_preview(&fields) => Err(GatewayError::Invalid(Invalid::default())),
        Ok(_) => {
            // Checked just before; the values of headers that it leaves empty are read now.
            let edit = |draft: WebhookDraft| given.apply_to(&draft).unwrap_or_default();
            api.gateway.manage.change(viewer.tenant(), id, edit).await
        }
        Err(faults) => Err(faults.into()),
    };
    match saved {
        Ok(_) => Ok(Redirect::to(&format!("/inspector/webhooks/{id}?done=saved")).into_response()),
        Err(GatewayError::Invalid(faults)) => {
            Ok(again(&FormPage::of(&api, &viewer, Some(id), given, faults)))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// The form again, with what is wrong with it if anything is.
fn again(page: &FormPage) -> Response {
    let status = if page.faults.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    };
    html(status, page)
}
