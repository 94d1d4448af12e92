//! Logging in and out.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode, Uri, header};
use postrider_domain::key::{ApiKey, Scope};

use super::fields::{Fields, Form, Query};
use super::page::{Frame, PageError, html};
use super::session::{self, Viewer};
use super::site::Site;
use super::{HOME, once};
use crate::App;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    /// The page to open afterwards.
    next: String,
    /// The token of a one-time link.
    once: String,
    /// Why the last login failed.
    error: Option<&'static str>,
}

impl LoginPage {
    fn new(app: &App, fields: &Fields, error: Option<&'static str>) -> Self {
        Self {
            frame: Frame::bare("Log in", Site::Inspector, app),
            next: next(fields),
            once: fields.text("once"),
            error,
        }
    }
}

/// The path of the login page, which then returns to `next`.
pub(super) fn path(next: &str) -> String {
    if next == HOME {
        return "/inspector/login".to_owned();
    }
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("/inspector/login?next={next}")
}

/// The page to open afterwards: an Inspector page, whatever the URL says.
fn next(fields: &Fields) -> String {
    fields
        .get("next")
        .filter(|path| Site::Inspector.has(path))
        .unwrap_or(HOME)
        .to_owned()
}

/// The login page. A one-time link only opens this page, so a link preview or scanner does not use it up.
pub(super) async fn show(
    State(app): State<App>,
    Query(fields): Query,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    if fields.get("once").is_none() && Viewer::of(&app, Site::Inspector, &headers).await?.is_some()
    {
        return Ok(Redirect::to(&next(&fields)).into_response());
    }
    Ok(html(StatusCode::OK, &LoginPage::new(&app, &fields, None)))
}

/// Logs in with a key or the token of a one-time link.
pub(super) async fn enter(
    State(app): State<App>,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, PageError> {
    let key = match (fields.get("once"), fields.get("key")) {
        (Some(token), _) => by_link(&app, app.once.as_ref(), token).await?,
        (None, Some(token)) => app.gateway.keyring.recognise(token).await?,
        (None, None) => None,
    };
    let reject = |message| {
        let fields = Fields::parse(format!("next={}", fields.text("next")).as_bytes());
        Ok(html(
            StatusCode::UNAUTHORIZED,
            &LoginPage::new(&app, &fields, Some(message)),
        ))
    };
    let Some(key) = key else {
        return reject(if fields.get("once").is_some() {
            "This link has already been used or has expired. Log in with an API key, or restart the gateway to get a new link."
        } else {
            "Unknown or revoked API key. Check that you copied the whole key."
        });
    };
    if !key.allows(Scope::Read) {
        return reject(
            "This key can only publish events. Log in with a key that has the scope `read` or `manage`.",
        );
    }
    let cookie = session::begin(&app, &key, &headers).await?;
    let there = Redirect::to(&next(&fields));
    Ok(([(header::SET_COOKIE, cookie)], there).into_response())
}

async fn by_link(
    app: &App,
    link: Option<&once::OneTimeLogin>,
    token: &str,
) -> Result<Option<std::sync::Arc<ApiKey>>, PageError> {
    let now = app.gateway.ports.clock.now();
    match link.and_then(|link| link.take(token, now)) {
        Some(digest) => Ok(app.gateway.keyring.recognise_again(digest).await?),
        None => Ok(None),
    }
}

pub(super) async fn leave(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let cookie = session::end(&app, Site::Inspector, &headers).await?;
    let there = Redirect::to("/inspector/login");
    Ok(([(header::SET_COOKIE, cookie)], there).into_response())
}

/// Whether there is a session. Browsers do not send the cookie when a link is opened from another site; the login page
/// checks here and continues if there is a session after all.
pub(super) async fn check(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<StatusCode, PageError> {
    let viewer = Viewer::of(&app, Site::of(uri.path()), &headers).await?;
    Ok(viewer.map_or(StatusCode::UNAUTHORIZED, |_| StatusCode::NO_CONTENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_returns_only_to_inspector_pages() {
        let go = |text: &str| {
            let query = format!(
                "next={}",
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
            );
            next(&Fields::parse(query.as_bytes()))
        };
        for path in [
            "/inspector",
            "/inspector/dead?status=dead",
            "/inspector?window=7d",
        ] {
            assert_eq!(go(path), path);
        }
        for other in [
            "",
            "/",
            "//evil.example",
            "/inspector.evil",
            "/inspectorx",
            "https://evil.example/inspector",
            "/inspector/\r\nSet-Cookie: a=b",
            "/inspector\\evil",
            "javascript:alert(1)",
        ] {
            assert_eq!(go(other), HOME, "{other}");
        }
    }
}
