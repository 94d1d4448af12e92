//! Coming in and going out.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode, header};
use postrider_domain::key::{ApiKey, Scope};

use super::fields::{Asked, Fields, Form};
use super::page::{Frame, Trouble, html};
use super::session::{self, Viewer};
use super::{HOME, once};
use crate::Api;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    /// Where to go afterwards.
    next: String,
    /// The token of a one-time link.
    once: String,
    /// What was wrong with the last try.
    fault: Option<&'static str>,
}

impl LoginPage {
    fn new(fields: &Fields, fault: Option<&'static str>) -> Self {
        Self {
            frame: Frame::bare("Log in"),
            next: next(fields),
            once: fields.text("once"),
            fault,
        }
    }
}

/// Whether this is the path of a page of ours.
pub(super) fn is_ours(path: &str) -> bool {
    path.strip_prefix(HOME)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// The way to the login, and back to this page.
pub(super) fn path(next: &str) -> String {
    if next == HOME {
        return "/inspector/login".to_owned();
    }
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("/inspector/login?next={next}")
}

/// Where to go afterwards: a page of ours, whatever the address says.
fn next(fields: &Fields) -> String {
    fields
        .get("next")
        .filter(|path| is_ours(path))
        .unwrap_or(HOME)
        .to_owned()
}

/// The page to log in on. The address of a one-time link only brings it here: a link that is opened twice by a preview
/// or a scanner is not used up by that.
pub(super) async fn show(
    State(api): State<Api>,
    Asked(fields): Asked,
    headers: HeaderMap,
) -> Result<Response, Trouble> {
    if fields.get("once").is_none() && Viewer::of(&api, &headers).await?.is_some() {
        return Ok(Redirect::to(&next(&fields)).into_response());
    }
    Ok(html(StatusCode::OK, &LoginPage::new(&fields, None)))
}

/// Logs in, with a key or the token of a one-time link.
pub(super) async fn enter(
    State(api): State<Api>,
    headers: HeaderMap,
    Form(fields): Form,
) -> Result<Response, Trouble> {
    let key = match (fields.get("once"), fields.get("key")) {
        (Some(token), _) => by_link(&api, api.once.as_ref(), token).await?,
        (None, Some(token)) => api.gateway.keyring.recognise(token).await?,
        (None, None) => None,
    };
    let refuse = |fault| {
        let fields = Fields::parse(format!("next={}", fields.text("next")).as_bytes());
        Ok(html(
            StatusCode::UNAUTHORIZED,
            &LoginPage::new(&fields, Some(fault)),
        ))
    };
    let Some(key) = key else {
        return refuse(if fields.get("once").is_some() {
            "This link was used before, or is too old. Log in with a key, or start the gateway again for a new link."
        } else {
            "This key is not known, or it was revoked. Check that all of it was copied."
        });
    };
    if !key.allows(Scope::Read) {
        return refuse("This key may only publish. Looking needs the scope `read` or `manage`.");
    }
    let cookie = session::begin(&api, &key, &headers).await?;
    let there = Redirect::to(&next(&fields));
    Ok(([(header::SET_COOKIE, cookie)], there).into_response())
}

async fn by_link(
    api: &Api,
    link: Option<&once::OneTimeLogin>,
    token: &str,
) -> Result<Option<std::sync::Arc<ApiKey>>, Trouble> {
    let now = api.gateway.ports.clock.now();
    match link.and_then(|link| link.take(token, now)) {
        Some(digest) => Ok(api.gateway.keyring.recognise_again(digest).await?),
        None => Ok(None),
    }
}

/// Logs out.
pub(super) async fn leave(headers: HeaderMap) -> impl IntoResponse {
    let cookie = session::end(&headers);
    (
        [(header::SET_COOKIE, cookie)],
        Redirect::to("/inspector/login"),
    )
}

/// Whether somebody is logged in. A browser does not send the cookie when a link is opened from another site; the login
/// page asks here and goes on if there is a session after all.
pub(super) async fn check(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<StatusCode, Trouble> {
    let viewer = Viewer::of(&api, &headers).await?;
    Ok(viewer.map_or(StatusCode::UNAUTHORIZED, |_| StatusCode::NO_CONTENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn afterwards_it_goes_to_a_page_of_ours_only() {
        let go = |text: &str| {
            let query = format!(
                "next={}",
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
            );
            next(&Fields::parse(query.as_bytes()))
        };
        for ours in [
            "/inspector",
            "/inspector/dead?status=dead",
            "/inspector?window=7d",
        ] {
            assert_eq!(go(ours), ours);
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
