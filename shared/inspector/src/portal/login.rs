//! Logging in to the portal with a link, and out.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode, header};
use postrider_domain::ids::TenantId;
use postrider_domain::portal::PortalLink;
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
    /// If the browser has a session of another tenant.
    change: Option<Change>,
}

/// The tenants before and after logging in.
struct Change {
    from: TenantId,
    to: TenantId,
}

const WITHOUT_LINK: &str =
    "You are not logged in. Go back to the site that sent you here and open this page again.";
const USED: &str = "This link has expired or was already used. Go back to the site that sent you here to get a new one.";

impl LoginPage {
    fn new(app: &App, once: String, message: &'static str) -> Self {
        Self {
            frame: Frame::bare("Log in", Site::Portal, app),
            once,
            message,
            change: None,
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
    if let Some(link) = &link
        && fields.get("confirmed").is_none()
        && let Some(from) = other_session(&app, link, &headers).await?
    {
        // Not used yet: the form that asks has the same token.
        app.gateway
            .ports
            .store
            .add_portal_link(link.clone())
            .await?;
        let to = link.tenant.clone();
        let page = LoginPage {
            change: Some(Change { from, to }),
            ..LoginPage::new(&app, fields.text("once"), WITHOUT_LINK)
        };
        return Ok(html(StatusCode::OK, &page));
    }
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

/// The tenant of the browser's session, if it is not that of the link. The page of a link submits its form by itself, so whoever
/// makes a customer open a link would log them in to another tenant unnoticed: that takes a click. The cookie shows it only now,
/// because browsers do not send it when a link on another site is followed.
async fn other_session(
    app: &App,
    link: &PortalLink,
    headers: &HeaderMap,
) -> Result<Option<TenantId>, PageError> {
    let viewer = Viewer::of(app, Site::Portal, headers).await?;
    let tenant = viewer.map(|viewer| viewer.tenant().clone());
    Ok(tenant.filter(|tenant| *tenant != link.tenant))
}

pub(crate) async fn leave(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let cookie = session::end(&app, Site::Portal, &headers).await?;
    let there = Redirect::to(&Site::Portal.path("/login"));
    Ok(([(header::SET_COOKIE, cookie)], there).into_response())
}
