//! Creating, changing and deleting an entry, in the Inspector.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use postrider_domain::event_catalogue::EntryOwner;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::pattern::EventType;
use postrider_gateway::GatewayError;

use super::form::EntryForm;
use crate::App;
use crate::fields::{LargeForm, Named};
use crate::page::{Frame, PageError, Section, html};
use crate::session::{Manager, Viewer};

#[derive(Template)]
#[template(path = "event_type_form.html")]
struct FormPage {
    frame: Frame,
    form: EntryForm,
    /// Where the entry is; `None` for a new one.
    path: Option<String>,
    /// Whether saving creates an entry of the tenant that hides the operator's.
    hides_shared: bool,
    /// The groups in use.
    groups: BTreeSet<String>,
    errors: Vec<FieldError>,
}

impl FormPage {
    async fn of(
        app: &App,
        viewer: &Viewer,
        name: Option<&EventType>,
        form: EntryForm,
        errors: Invalid,
    ) -> Result<Self, PageError> {
        let title = match name {
            Some(_) => "Edit event type",
            None => "New event type",
        };
        let listed = app.gateway.catalogue.list(viewer.tenant()).await?;
        let is_shared = |name: &EventType| {
            let mut shared = listed
                .iter()
                .filter(|one| one.owner == EntryOwner::Operator);
            shared.any(|one| one.entry.name == *name)
        };
        Ok(Self {
            frame: Frame::new(title, Section::EventTypes, viewer),
            path: name.map(|name| viewer.site().path(&super::path(name))),
            hides_shared: name.is_some_and(is_shared),
            groups: listed
                .iter()
                .filter_map(|one| one.entry.group.clone())
                .collect(),
            errors: errors.into_fields(),
            form,
        })
    }

    fn is_invalid(&self, field: &str) -> bool {
        let of_it = |error: &FieldError| {
            error.field == field || error.field.starts_with(&format!("{field}["))
        };
        self.errors.iter().any(of_it)
    }
}

pub(crate) async fn blank(
    State(app): State<App>,
    Manager(viewer): Manager,
) -> Result<Response, PageError> {
    let form = EntryForm::default();
    let page = FormPage::of(&app, &viewer, None, form, Invalid::default()).await?;
    Ok(html(StatusCode::OK, &page))
}

pub(crate) async fn create(
    State(app): State<App>,
    Manager(viewer): Manager,
    LargeForm(fields): LargeForm,
) -> Result<Response, PageError> {
    let form = EntryForm::from_fields(&fields);
    let name = EventType::try_from(form.name.clone());
    let name = name.map_err(|error| Invalid::field("name", error.to_string()));
    let put = match name {
        Ok(name) => put(&app, &viewer, name, &form).await,
        Err(invalid) => Err(invalid.into()),
    };
    answer(&app, &viewer, None, form, put).await
}

pub(crate) async fn form(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(name): Named<EventType>,
) -> Result<Response, PageError> {
    let listed = app.gateway.catalogue.get(viewer.tenant(), &name).await?;
    let form = EntryForm::of(&listed.entry);
    let page = FormPage::of(&app, &viewer, Some(&name), form, Invalid::default()).await?;
    Ok(html(StatusCode::OK, &page))
}

pub(crate) async fn save(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(name): Named<EventType>,
    LargeForm(fields): LargeForm,
) -> Result<Response, PageError> {
    let form = EntryForm {
        name: name.as_str().to_owned(),
        ..EntryForm::from_fields(&fields)
    };
    let put = put(&app, &viewer, name.clone(), &form).await;
    answer(&app, &viewer, Some(&name), form, put).await
}

pub(crate) async fn delete(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(name): Named<EventType>,
) -> Result<Redirect, PageError> {
    let catalogue = &app.gateway.catalogue;
    catalogue.delete(viewer.tenant(), &name).await?;
    Ok(viewer.redirect("/event-types?done=event-type-deleted"))
}

/// Stores the entry and returns where it is.
async fn put(
    app: &App,
    viewer: &Viewer,
    name: EventType,
    form: &EntryForm,
) -> Result<String, GatewayError> {
    let path = super::path(&name);
    let catalogue = &app.gateway.catalogue;
    catalogue.put(viewer.tenant(), name, form.draft()?).await?;
    Ok(path)
}

async fn answer(
    app: &App,
    viewer: &Viewer,
    name: Option<&EventType>,
    form: EntryForm,
    put: Result<String, GatewayError>,
) -> Result<Response, PageError> {
    match put {
        Ok(path) => {
            let there = format!("{path}?done=event-type-saved");
            Ok(viewer.redirect(&there).into_response())
        }
        Err(GatewayError::Invalid(errors)) => {
            let page = FormPage::of(app, viewer, name, form, errors).await?;
            Ok(html(StatusCode::BAD_REQUEST, &page))
        }
        Err(error) => Err(error.into()),
    }
}
