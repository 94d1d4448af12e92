//! Logging in to the portal with a link, and out.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode, header};
use postrider_gateway::portal_links;

use crate::App;
use crate::fields::{Form, Query};
use crate::page::{Frame, PageError, html};
use crate::session::{self, Viewer};
use crate::site::Site;

#[derive(Template)]
#[template(path = "portal_login.html")]
struct LoginPage {
    frame: Frame,
    /// The token of the link; empty without one.
    once: String,
    message: &'static str,
}

const WITHOUT_LINK: &str = "You are not logged in. Open this page again from where you came.";
const USED: &str =
    "This link has already been used or has expired. Open this page again from where you came.";

impl LoginPage {
    fn new(app: &App, once: String, message: &'static str) -> Self {
        Self {
            frame: Frame::bare("Log in", Site::Portal, app),
            once,
            message,
        }
    }
}

/// Opening a link only shows a page, so a link preview or scanner does not use it up.
pub(crate) async fn show(
    State(app): State<App>,
    Query(fields): Query,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let once = fields.text("once");
    if once.is_empty() && Viewer::of(&app, Site::Portal, &headers).await?.is_some() {
        return Ok(Redirect::to(Site::Portal.home()).into_response());
    }
    let page = LoginPage::new(&app, once, WITHOUT_LINK);
    Ok(html(StatusCode::OK, &page))
}

pub(crate) async fn enter(
    State(app): State<App>,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let link = match fields.get("once") {
        Some(token) => portal_links::redeem(&app.gateway.ports, token).await?,
        None => None,
    };
    let cookie = match &link {
        Some(link) => session::begin_portal(&app, link, &headers).await?,
        None => None,
    };
    let Some(cookie) = cookie else {
        let page = LoginPage::new(&app, String::new(), USED);
        return Ok(html(StatusCode::UNAUTHORIZED, &page));
    };
    let there = Redirect::to(&Site::Portal.path("/webhooks"));
    Ok(([(header::SET_COOKIE, cookie)], there).into_response())
}

pub(crate) async fn leave(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let cookie = session::end(&app, Site::Portal, &headers).await?;
    let there = Redirect::to(&Site::Portal.path("/login"));
    Ok(([(header::SET_COOKIE, cookie)], there).into_response())
}
