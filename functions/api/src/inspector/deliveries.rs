//! All deliveries, by the conditions that somebody sets.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::delivery::Delivery;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::webhook::Webhook;
use postrider_ports::history::{Cursor, Filter, Page};

use super::fields::{Asked, Fields};
use super::filter::{Choice, FilterForm};
use super::live::Place;
use super::page::{Frame, Section, Trouble, html};
use super::rows::{self, Row};
use super::session::Viewer;
use crate::Api;

/// How many lines a page has.
pub(super) const PAGE: usize = 50;
/// Longer than any cursor of any store.
const MAX_CURSOR_BYTES: usize = 2048;

#[derive(Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    frame: Frame,
    list: List,
}

/// A list with its form, as all lists of deliveries have it.
pub(super) struct List {
    pub(super) form: FilterForm,
    pub(super) faults: Vec<FieldError>,
    pub(super) statuses: Vec<Choice>,
    pub(super) webhooks: Vec<Choice>,
    pub(super) recent: Vec<(&'static str, String)>,
    pub(super) rows: Vec<Row>,
    /// The address of the first page, if this is not it.
    pub(super) newest: Option<String>,
    /// The address of the next page.
    pub(super) older: Option<String>,
    /// Whether the page ended before it was full: what follows may be far away.
    pub(super) goes_on: bool,
}

impl List {
    /// Reads the page that the form and the cursor ask for. A form with faults is shown with them, and no lines.
    pub(super) async fn read(
        api: &Api,
        viewer: &Viewer,
        form: FilterForm,
        fields: &Fields,
        webhooks: &[Webhook],
    ) -> Result<Self, Trouble> {
        let cursor = fields.get("cursor").map(|text| Cursor(text.to_owned()));
        let (page, faults) = match form.check() {
            Ok(filter) => (
                page(api, viewer, &filter, cursor.as_ref()).await?,
                Invalid::default(),
            ),
            Err(faults) => (
                Page {
                    items: Vec::new(),
                    next: None,
                },
                faults,
            ),
        };
        let older = page
            .next
            .as_ref()
            .map(|Cursor(text)| form.query(("cursor", text)));
        Ok(Self {
            faults: faults.into_fields(),
            statuses: form.statuses(),
            webhooks: form.webhooks(webhooks),
            recent: form.recent(api.gateway.ports.clock.now()),
            rows: rows::rows(&page.items, webhooks),
            newest: cursor.map(|_| form.query(("cursor", ""))),
            goes_on: older.is_some() && page.items.len() < PAGE,
            older,
            form,
        })
    }

    /// Whether a condition does not fit, and why.
    pub(super) fn fault(&self, name: &str) -> Option<&str> {
        let found = self.faults.iter().find(|fault| fault.field == name);
        found.map(|fault| fault.message.as_str())
    }

    fn status(&self) -> StatusCode {
        if self.faults.is_empty() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        }
    }
}

async fn page(
    api: &Api,
    viewer: &Viewer,
    filter: &Filter,
    cursor: Option<&Cursor>,
) -> Result<Page<Delivery>, Trouble> {
    if cursor.is_some_and(|Cursor(text)| text.len() > MAX_CURSOR_BYTES) {
        return Err(Invalid::field("cursor", "is not one of this list").into());
    }
    let store = &api.gateway.ports.store;
    Ok(store.list(viewer.tenant(), filter, PAGE, cursor).await?)
}

/// The page of all deliveries.
pub(super) async fn list(
    State(api): State<Api>,
    viewer: Viewer,
    place: Place,
    Asked(fields): Asked,
) -> Result<Response, Trouble> {
    let webhooks = api.gateway.manage.list(viewer.tenant()).await?;
    let form = FilterForm::of(&fields);
    let list = List::read(&api, &viewer, form, &fields, &webhooks).await?;
    let frame = Frame::new("Deliveries", Section::Deliveries, &viewer).after(&fields);
    // Older pages stay as they are: what is new stands on the first.
    let frame = if list.newest.is_none() {
        frame.live(place)
    } else {
        frame
    };
    Ok(html(list.status(), &DeliveriesPage { frame, list }))
}
