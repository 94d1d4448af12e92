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
use super::site::Site;
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

    /// What to do next; in the portal, what a customer can do.
    fn advice(&self, site: Site) -> &'static str {
        match (site, self.status) {
            (Site::Inspector, status) => Self::advice_for_operators(status),
            (Site::Portal, StatusCode::UNAUTHORIZED) => {
                "Go back to the site that sent you here and open this page again."
            }
            (Site::Portal, StatusCode::FORBIDDEN) => "",
            (Site::Portal, StatusCode::CONFLICT | StatusCode::BAD_REQUEST) => {
                Self::advice_for_operators(self.status)
            }
            (Site::Portal, StatusCode::NOT_FOUND) => {
                "Check the URL for typos. Deliveries are deleted after a while."
            }
            (Site::Portal, _) => "Wait a moment and reload the page.",
        }
    }

    fn advice_for_operators(status: StatusCode) -> &'static str {
        match status {
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
    advice: &'static str,
    links: Vec<Link>,
}

/// Where to go next, the most likely first.
fn links(
    site: Site,
    status: StatusCode,
    viewer: Option<&Viewer>,
    back: Option<String>,
) -> Vec<Link> {
    let is_logged_in = viewer.is_some();
    let mut links = Vec::new();
    if site == Site::Inspector && (status == StatusCode::UNAUTHORIZED || !is_logged_in) {
        links.push(Link {
            name: "Log in",
            path: login::path(back.as_deref().unwrap_or(super::HOME)),
        });
    }
    if !is_logged_in {
        return links;
    }
    links.extend(back.map(|path| Link { name: "Back", path }));
    let sections = site.menu().iter().take(2);
    links.extend(sections.map(|section| Link {
        name: section.name(),
        path: site.path(section.folder()),
    }));
    links
}

/// Renders an error as a page.
pub(super) async fn show(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let site = Site::of(request.uri().path());
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<PageError>() {
        Some(error) => page(&app, site, &headers, error).await,
        None => response,
    }
}

async fn page(app: &App, site: Site, headers: &HeaderMap, error: PageError) -> Response {
    // If the store is unavailable, the session is unknown and the page has no menu.
    let viewer = Viewer::of(app, site, headers).await.ok().flatten();
    let error = PageError {
        detail: site.shown(error.detail),
        errors: site.shown_errors(error.errors),
        ..error
    };
    let frame = viewer.as_ref().map_or_else(
        || Frame::bare(error.title.clone(), site, app),
        |viewer| Frame::new(error.title.clone(), Section::Elsewhere, viewer),
    );
    let back = guard::came_from(site, headers);
    let page = ErrorPage {
        frame,
        advice: error.advice(site),
        links: links(site, error.status, viewer.as_ref(), back),
        error,
    };
    html(page.error.status, &page)
}

impl Site {
    pub(super) fn shown_errors(self, errors: Vec<FieldError>) -> Vec<FieldError> {
        let shown = |error: FieldError| FieldError {
            message: self.shown(error.message),
            ..error
        };
        errors.into_iter().map(shown).collect()
    }
}

pub(super) async fn unknown() -> PageError {
    let detail = "There is no page at this URL.";
    PageError::new(StatusCode::NOT_FOUND, "Page not found", detail)
}
