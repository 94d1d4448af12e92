//! Dead letters: the list, and retrying some or all of them.

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::delivery::{Force, Status};
use postrider_domain::ids::DeliveryId;
use postrider_domain::invalid::Invalid;
use postrider_gateway::GatewayError;
use postrider_ports::jobs::Count;

use super::deliveries::{List, PAGE};
use super::fields::{Form, Query};
use super::filter::FilterForm;
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::session::{Manager, Viewer};
use super::text;
use crate::App;

#[derive(Template)]
#[template(path = "dead.html")]
struct DeadPage {
    frame: Frame,
    list: List,
}

#[derive(Template)]
#[template(path = "dead_retry.html")]
struct AskPage {
    frame: Frame,
    form: FilterForm,
    matches_none: bool,
    /// `7`, or `At least 10,000`.
    count: String,
    noun: &'static str,
    is_exact: bool,
    description: String,
}

pub(super) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let form = FilterForm::of(&fields).with_status(Status::Dead);
    let list = List::read(&app, &viewer, form, &fields, &webhooks).await?;
    let frame = Frame::new("Dead letters", Section::Dead, &viewer).after(&fields);
    let frame = if list.newest.is_none() {
        frame.live(place)
    } else {
        frame
    };
    Ok(html(StatusCode::OK, &DeadPage { frame, list }))
}

/// Asks for confirmation with the number of matching deliveries. Changes nothing.
pub(super) async fn ask(
    State(app): State<App>,
    Manager(viewer): Manager,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let form = FilterForm::of(&fields).with_status(Status::Dead);
    let filter = form.check()?;
    let count = app.gateway.retries.count(viewer.tenant(), filter).await?;
    let webhooks = app.gateway.manage.list(viewer.tenant()).await?;
    let page = AskPage {
        frame: Frame::new("Retry dead letters", Section::Dead, &viewer),
        description: form.in_words(&webhooks),
        form,
        matches_none: count == Count::Exactly(0),
        noun: if count == Count::Exactly(1) {
            "delivery"
        } else {
            "deliveries"
        },
        count: match count {
            Count::Exactly(matched) => text::count(matched),
            Count::AtLeast(matched) => format!("At least {}", text::count(matched)),
        },
        is_exact: matches!(count, Count::Exactly(_)),
    };
    Ok(html(StatusCode::OK, &page))
}

/// Retries the selected deliveries.
pub(super) async fn retry_selected(
    State(app): State<App>,
    Manager(viewer): Manager,
    Form(fields): Form,
) -> Result<Redirect, PageError> {
    let ids = fields.all("id").map(str::parse::<DeliveryId>);
    let ids = ids.collect::<Result<Vec<_>, _>>();
    let ids = ids.map_err(|error| Invalid::field("id", error.to_string()))?;
    if ids.is_empty() || ids.len() > PAGE {
        let message = format!("select 1 to {PAGE} deliveries to retry");
        return Err(Invalid::field("id", message).into());
    }
    let (mut done, mut failed) = (0, 0);
    for id in ids {
        match app
            .gateway
            .retries
            .retry_now(viewer.tenant(), id, Force::No)
            .await
        {
            Ok(_) => done += 1,
            Err(GatewayError::Store(error)) => return Err(error.into()),
            Err(_) => failed += 1,
        }
    }
    let form = FilterForm::of(&fields);
    let query = form.query(("done", "selected"));
    Ok(viewer.redirect(&format!("/dead{query}&n={done}&failed={failed}")))
}
