//! The page for what went wrong: what it is, what to do, and the way on. Whoever is logged in keeps the menu.

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
use crate::Api;
use crate::problem::Problem;

/// Something that went wrong, ready to be shown.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    status: StatusCode,
    title: String,
    detail: String,
    errors: Vec<FieldError>,
}

impl Trouble {
    pub(super) fn new(status: StatusCode, title: &str, detail: &str) -> Self {
        Self {
            status,
            title: title.to_owned(),
            detail: detail.to_owned(),
            errors: Vec::new(),
        }
    }

    /// Nothing has this id.
    pub(super) fn not_found(what: &'static str) -> Self {
        Problem::not_found(what).into()
    }

    /// What to do about it.
    fn advice(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => {
                "It may have been removed: delivered events are kept for 30 days and dead ones for 90 unless set otherwise. Check the address for a missing character."
            }
            StatusCode::UNAUTHORIZED => "Nothing is lost: log in, go back, and do it again.",
            StatusCode::FORBIDDEN => {
                "Log in with a key that has the scope `manage`, or ask somebody who has one."
            }
            StatusCode::CONFLICT => "Go back, look at how it stands now, and try again.",
            StatusCode::BAD_REQUEST => "Go back and correct what is named above.",
            StatusCode::SERVICE_UNAVAILABLE => {
                "The store cannot be reached right now. Wait a moment and load the page again; if it stays so, look at the gateway's log and its disk."
            }
            _ => "Load the page again. If it stays so, the gateway's log says more.",
        }
    }
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.code().status(),
            title: problem.code().title().to_owned(),
            detail: problem.detail().to_owned(),
            errors: problem.errors().to_vec(),
        }
    }
}

impl From<GatewayError> for Trouble {
    fn from(refusal: GatewayError) -> Self {
        Problem::from(refusal).into()
    }
}

impl From<Invalid> for Trouble {
    fn from(invalid: Invalid) -> Self {
        Problem::from(invalid).into()
    }
}

impl From<postrider_ports::Error> for Trouble {
    fn from(error: postrider_ports::Error) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for Trouble {
    /// Its status, and itself for [`show`], which knows who asked.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// A way on.
struct Way {
    name: &'static str,
    path: String,
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage {
    frame: Frame,
    trouble: Trouble,
    ways: Vec<Way>,
}

/// The first is the one that is most likely wanted.
fn ways(status: StatusCode, is_inside: bool, back: Option<String>) -> Vec<Way> {
    let mut ways = Vec::new();
    if status == StatusCode::UNAUTHORIZED || !is_inside {
        ways.push(Way {
            name: "Log in",
            path: login::path(back.as_deref().unwrap_or(super::HOME)),
        });
    }
    if !is_inside {
        return ways;
    }
    ways.extend(back.map(|path| Way { name: "Back", path }));
    for (name, path) in [
        ("Overview", super::HOME),
        ("Deliveries", "/inspector/deliveries"),
    ] {
        let path = path.to_owned();
        ways.push(Way { name, path });
    }
    ways
}

/// Writes the page of what went wrong.
pub(super) async fn show(State(api): State<Api>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Trouble>() {
        Some(trouble) => page(&api, &headers, trouble).await,
        None => response,
    }
}

async fn page(api: &Api, headers: &HeaderMap, trouble: Trouble) -> Response {
    // What cannot be found out now, because the store is away, is shown without the menu.
    let viewer = Viewer::of(api, headers).await.ok().flatten();
    let frame = viewer.as_ref().map_or_else(
        || Frame::bare(trouble.title.clone()),
        |viewer| Frame::new(trouble.title.clone(), Section::Elsewhere, viewer),
    );
    let ways = ways(trouble.status, viewer.is_some(), guard::came_from(headers));
    html(
        trouble.status,
        &TroublePage {
            frame,
            trouble,
            ways,
        },
    )
}

/// A page that does not exist.
pub(super) async fn unknown() -> Trouble {
    let detail = "Nothing is at this address.";
    Trouble::new(StatusCode::NOT_FOUND, "There is no such page", detail)
}
