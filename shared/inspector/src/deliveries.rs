//! The list of deliveries, with its filters.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::delivery::Delivery;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::webhook::Webhook;
use postrider_ports::history::{Cursor, Filter, Page};

use super::fields::{Fields, Query};
use super::filter::{Choice, FilterForm};
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::rows::{self, Row};
use super::session::Viewer;
use crate::App;

/// Rows per page.
pub(super) const PAGE: usize = 50;
/// Longer than any store's cursor.
const MAX_CURSOR_BYTES: usize = 2048;

#[derive(Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    frame: Frame,
    list: List,
}

/// A list with its filter form.
pub(super) struct List {
    pub(super) form: FilterForm,
    pub(super) errors: Vec<FieldError>,
    pub(super) statuses: Vec<Choice>,
    pub(super) webhooks: Vec<Choice>,
    pub(super) recent: Vec<(&'static str, String)>,
    pub(super) rows: Vec<Row>,
    /// The URL of the first page, if this is another one.
    pub(super) newest: Option<String>,
    /// The URL of the next page.
    pub(super) older: Option<String>,
    /// Whether the search stopped before the page was full.
    pub(super) goes_on: bool,
}

impl List {
    /// Reads a page. If the form has errors, it is shown with them and without rows.
    pub(super) async fn read(
        app: &App,
        viewer: &Viewer,
        form: FilterForm,
        fields: &Fields,
        webhooks: &[Webhook],
    ) -> Result<Self, PageError> {
        let cursor = fields.get("cursor").map(|text| Cursor(text.to_owned()));
        let (page, errors) = match form.check() {
            Ok(filter) => (
                page(app, viewer, &filter, cursor.as_ref()).await?,
                Invalid::default(),
            ),
            Err(errors) => (
                Page {
                    items: Vec::new(),
                    next: None,
                },
                errors,
            ),
        };
        let older = page
            .next
            .as_ref()
            .map(|Cursor(text)| form.query(("cursor", text)));
        Ok(Self {
            errors: errors.into_fields(),
            statuses: form.statuses(),
            webhooks: form.webhooks(webhooks),
            recent: form.recent(app.gateway.ports.clock.now()),
            rows: rows::rows(app, viewer, &page.items, webhooks).await?,
            newest: cursor.map(|_| form.query(("cursor", ""))),
            goes_on: older.is_some() && page.items.len() < PAGE,
            older,
            form,
        })
    }

    /// What is wrong with a filter.
    pub(super) fn error(&self, name: &str) -> Option<&str> {
        let found = self.errors.iter().find(|error| error.field == name);
        found.map(|error| error.message.as_str())
    }

    fn status(&self) -> StatusCode {
        if self.errors.is_empty() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        }
    }
}

async fn page(
    app: &App,
    viewer: &Viewer,
    filter: &Filter,
    cursor: Option<&Cursor>,
) -> Result<Page<Delivery>, PageError> {
    if cursor.is_some_and(|Cursor(text)| text.len() > MAX_CURSOR_BYTES) {
        return Err(Invalid::field("cursor", "does not belong to this list").into());
    }
    let store = &app.gateway.ports.store;
    Ok(store.list(viewer.tenant(), filter, PAGE, cursor).await?)
}

pub(super) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let form = FilterForm::of(&fields);
    let list = List::read(&app, &viewer, form, &fields, &webhooks).await?;
    let frame = Frame::new("Deliveries", Section::Deliveries, &viewer).after(&fields);
    // Only the first page updates live: new deliveries appear there.
    let frame = if list.newest.is_none() {
        frame.live(place)
    } else {
        frame
    };
    Ok(html(list.status(), &DeliveriesPage { frame, list }))
}
