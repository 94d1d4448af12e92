//! The error page: what went wrong, what to do, and where to go. Logged-in users still see the menu.

use askama::Template;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_gateway::GatewayError;

use super::page::{Frame, Section, html};
use super::session::Viewer;
use super::{guard, login};
use crate::App;
use postrider_web::problem::Problem;

/// An error to be shown as a page.
#[derive(Clone, Debug)]
pub(super) struct PageError {
    status: StatusCode,
    title: String,
    detail: String,
    errors: Vec<FieldError>,
}

impl PageError {
    pub(super) fn new(status: StatusCode, title: &str, detail: &str) -> Self {
        Self {
            status,
            title: title.to_owned(),
            detail: detail.to_owned(),
            errors: Vec::new(),
        }
    }

    pub(super) fn not_found(what: &'static str) -> Self {
        Problem::not_found(what).into()
    }

    fn advice(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => {
                "Check the URL for typos. Deliveries are deleted when their retention period ends: by default 30 days if delivered, 90 days if dead."
            }
            StatusCode::UNAUTHORIZED => "Log in, then try again.",
            StatusCode::FORBIDDEN => "Log in with a key that has the scope `manage`.",
            StatusCode::CONFLICT => "Go back, check the current state, and try again.",
            StatusCode::BAD_REQUEST => "Go back and fix the fields listed above.",
            StatusCode::SERVICE_UNAVAILABLE => {
                "Wait a moment and reload the page. If the problem persists, check the gateway's log and disk."
            }
            _ => "Reload the page. If the problem persists, check the gateway's log.",
        }
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.code().status(),
            title: problem.code().title().to_owned(),
            detail: problem.detail().to_owned(),
            errors: problem.errors().to_vec(),
        }
    }
}

impl From<GatewayError> for PageError {
    fn from(error: GatewayError) -> Self {
        Problem::from(error).into()
    }
}

impl From<Invalid> for PageError {
    fn from(invalid: Invalid) -> Self {
        Problem::from(invalid).into()
    }
}

impl From<postrider_ports::Error> for PageError {
    fn from(error: postrider_ports::Error) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for PageError {
    /// The status, with the error as an extension for [`show`], which knows the session.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

struct Link {
    name: &'static str,
    path: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    error: PageError,
    links: Vec<Link>,
}

/// Where to go next, the most likely first.
fn links(status: StatusCode, is_logged_in: bool, back: Option<String>) -> Vec<Link> {
    let mut links = Vec::new();
    if status == StatusCode::UNAUTHORIZED || !is_logged_in {
        links.push(Link {
            name: "Log in",
            path: login::path(back.as_deref().unwrap_or(super::HOME)),
        });
    }
    if !is_logged_in {
        return links;
    }
    links.extend(back.map(|path| Link { name: "Back", path }));
    for (name, path) in [
        ("Overview", super::HOME),
        ("Deliveries", "/inspector/deliveries"),
    ] {
        let path = path.to_owned();
        links.push(Link { name, path });
    }
    links
}

/// Renders an error as a page.
pub(super) async fn show(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<PageError>() {
        Some(error) => page(&app, &headers, error).await,
        None => response,
    }
}

async fn page(app: &App, headers: &HeaderMap, error: PageError) -> Response {
    // If the store is unavailable, the session is unknown and the page has no menu.
    let viewer = Viewer::of(app, headers).await.ok().flatten();
    let frame = viewer.as_ref().map_or_else(
        || Frame::bare(error.title.clone()),
        |viewer| Frame::new(error.title.clone(), Section::Elsewhere, viewer),
    );
    let links = links(error.status, viewer.is_some(), guard::came_from(headers));
    html(
        error.status,
        &ErrorPage {
            frame,
            error,
            links,
        },
    )
}

pub(super) async fn unknown() -> PageError {
    let detail = "There is no page at this URL.";
    PageError::new(StatusCode::NOT_FOUND, "Page not found", detail)
}
