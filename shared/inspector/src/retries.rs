//! Bulk retries: starting one, its progress, cancelling it.

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::delivery::Status;
use postrider_domain::ids::JobId;
use postrider_ports::jobs::{Count, JobState, RetryJob};

use super::fields::{Form, Named, Query};
use super::filter::FilterForm;
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::session::{Manager, Viewer};
use super::text::{self, Markup, Pill};
use crate::App;

#[derive(Template)]
#[template(path = "retry.html")]
struct RetryPage {
    frame: Frame,
    id: String,
    state: Pill,
    is_running: bool,
    matched: u64,
    /// Rows processed, never more than matched.
    seen: u64,
    done: String,
    failed: u64,
    /// `1,200`, or `at least 1,200` if not all of them are counted.
    total: String,
    is_counting: bool,
    began_at: Markup,
}

impl RetryPage {
    fn of(frame: Frame, job: &RetryJob) -> Self {
        let (class, text) = match job.state {
            JobState::Running => ("pending", "Running"),
            JobState::Done => ("delivered", "Done"),
            JobState::Cancelled => ("parked", "Cancelled"),
        };
        // Some rows may have been retried individually in the meantime.
        let seen = match job.state {
            JobState::Done => job.matched,
            JobState::Running | JobState::Cancelled => (job.done + job.failed).min(job.matched),
        };
        let is_running = job.state == JobState::Running;
        Self {
            frame,
            id: job.id.to_string(),
            state: Pill {
                class,
                text: text.to_owned(),
            },
            is_running,
            matched: job.matched,
            seen,
            done: text::count(job.done),
            failed: job.failed,
            total: match job.count() {
                Count::Exactly(matched) => text::count(matched),
                Count::AtLeast(matched) => format!("at least {}", text::count(matched)),
            },
            is_counting: is_running && matches!(job.count(), Count::AtLeast(_)),
            began_at: text::when(job.created_at),
        }
    }
}

/// Starts retrying all dead deliveries that match a filter.
pub(super) async fn begin(
    State(app): State<App>,
    Manager(viewer): Manager,
    Form(fields): Form,
) -> Result<Redirect, PageError> {
    let filter = FilterForm::of(&fields).with_status(Status::Dead).check()?;
    let job = app.gateway.retries.begin(viewer.tenant(), filter).await?;
    Ok(viewer.redirect(&format!("/retries/{}", job.id)))
}

pub(super) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Named(id): Named<JobId>,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let job = app.gateway.retries.job(viewer.tenant(), id).await?;
    let frame = Frame::new("Bulk retry", Section::Dead, &viewer)
        .after(&fields)
        .live(place);
    Ok(html(StatusCode::OK, &RetryPage::of(frame, &job)))
}

pub(super) async fn cancel(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<JobId>,
) -> Result<Redirect, PageError> {
    app.gateway.retries.cancel(viewer.tenant(), id).await?;
    Ok(viewer.redirect(&format!("/retries/{id}?done=cancelled")))
}
