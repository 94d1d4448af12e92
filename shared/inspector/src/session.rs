//! The session: a cookie that only the gateway can create, valid for any of its processes.
//!
//! It holds the digest of the key used to log in and the end of the session, encrypted. So it cannot be created from
//! stored data, it is not a key, and revoking the key ends its sessions. Logging out ends this one, on the server too.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::HEXLOWER;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use postrider_domain::ids::TenantId;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::sessions::SessionId;
use postrider_web::recognised::Recognised;
use postrider_web::stream::StreamSession;

use super::page::PageError;
use super::{guard, login};
use crate::App;

const COOKIE: &str = "postrider_session";
const PURPOSE: &str = "inspector session";
/// Long enough for a working day.
pub(super) const LASTS: Millis = Millis::from_seconds(12 * 3600);
/// Longer than any session cookie.
const MAX_COOKIE_BYTES: usize = 1024;

/// A session whose key may read.
pub(super) struct Viewer {
    key: Arc<ApiKey>,
    id: SessionId,
    ends_at: Timestamp,
}

impl Viewer {
    pub(super) fn key(&self) -> &ApiKey {
        &self.key
    }

    pub(super) fn tenant(&self) -> &TenantId {
        &self.key.tenant
    }

    pub(super) const fn session(&self) -> StreamSession {
        StreamSession {
            id: self.id,
            ends_at: self.ends_at,
        }
    }

    /// The session of a request, by its cookie.
    pub(super) async fn of(app: &App, headers: &HeaderMap) -> Result<Option<Self>, PageError> {
        let Some((tenant, sealed)) = cookie(headers) else {
            return Ok(None);
        };
        let store = &app.gateway.ports.store;
        let opened = store.unseal(&tenant, PURPOSE.to_owned(), sealed).await?;
        let Some(Sealed {
            ends_at,
            digest,
            id,
        }) = opened.as_deref().and_then(read)
        else {
            return Ok(None);
        };
        if app.gateway.ports.clock.now() >= ends_at || store.has_ended(&tenant, id).await? {
            return Ok(None);
        }
        let key = app.gateway.keyring.recognise_again(digest).await?;
        let may_look = |key: &Arc<ApiKey>| key.allows(Scope::Read) && key.tenant == tenant;
        Ok(key.filter(may_look).map(|key| Self { key, id, ends_at }))
    }
}

/// The cookie that starts a session with this key.
pub(super) async fn begin(
    app: &App,
    key: &ApiKey,
    headers: &HeaderMap,
) -> Result<HeaderValue, PageError> {
    let ends_at = app.gateway.ports.clock.now().plus(LASTS);
    let id = app.gateway.ports.entropy.bytes::<16>();
    let text = format!(
        "{} {} {}",
        ends_at.as_millis(),
        HEXLOWER.encode(&key.digest.0),
        HEXLOWER.encode(&id)
    );
    let store = &app.gateway.ports.store;
    let sealed = store.seal(&key.tenant, PURPOSE.to_owned(), text).await?;
    let value = format!("{}.{sealed}", key.tenant);
    Ok(set_cookie(&value, LASTS, headers))
}

/// Ends the session of a request, if it has one, and returns the cookie that says so. A copy of the old cookie is worth
/// nothing from now on.
pub(super) async fn end(app: &App, headers: &HeaderMap) -> Result<HeaderValue, PageError> {
    if let Some(viewer) = Viewer::of(app, headers).await? {
        let store = &app.gateway.ports.store;
        store
            .end_session(viewer.tenant(), viewer.id, viewer.ends_at)
            .await?;
    }
    Ok(set_cookie("", Millis::ZERO, headers))
}

fn set_cookie(value: &str, lasts: Millis, headers: &HeaderMap) -> HeaderValue {
    let seconds = lasts.get() / 1000;
    let secure = if guard::is_https(headers) {
        "; Secure"
    } else {
        ""
    };
    let text = format!(
        "{COOKIE}={value}; Path=/inspector; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    // Tenant and encrypted text consist of letters, digits, `-` and `_`.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn cookie(headers: &HeaderMap) -> Option<(TenantId, String)> {
    let pairs = headers.get_all(header::COOKIE).iter();
    let texts = pairs.filter_map(|value| value.to_str().ok());
    let value = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE).then_some(value))?;
    let (tenant, sealed) = value.split_once('.')?;
    let fits = value.len() <= MAX_COOKIE_BYTES;
    fits.then_some((tenant.parse().ok()?, sealed.to_owned()))
}

/// What the cookie holds.
struct Sealed {
    ends_at: Timestamp,
    digest: KeyDigest,
    id: SessionId,
}

fn read(text: &str) -> Option<Sealed> {
    let mut parts = text.split(' ');
    let ends_at = parts.next()?.parse().ok()?;
    let digest = HEXLOWER.decode(parts.next()?.as_bytes()).ok()?;
    let id = HEXLOWER.decode(parts.next()?.as_bytes()).ok()?;
    Some(Sealed {
        ends_at: Timestamp::from_millis(ends_at),
        digest: KeyDigest(digest.try_into().ok()?),
        id: SessionId(id.try_into().ok()?),
    })
}

/// Why a request is not served.
pub(super) enum Denied {
    /// No session: the path of the login page, which returns here.
    LoggedOut(String),
    /// The session has ended, and the request would have changed something.
    SessionEnded,
    /// The key has the scope `read`, and the request needs `manage`.
    ReadOnly,
    /// The session could not be read.
    Failed(PageError),
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        match self {
            Self::LoggedOut(login) => Redirect::to(&login).into_response(),
            Self::SessionEnded => PageError::new(
                StatusCode::UNAUTHORIZED,
                "You are logged out",
                "Your session has ended, so nothing was changed.",
            )
            .into_response(),
            Self::ReadOnly => PageError::new(
                StatusCode::FORBIDDEN,
                "This key is read-only",
                "You are logged in with a key that lacks the scope `manage`, so nothing was changed.",
            )
            .into_response(),
            Self::Failed(error) => error.into_response(),
        }
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Denied> {
        match Self::of(app, &parts.headers).await {
            Ok(Some(viewer)) => {
                Recognised::mark(&parts.extensions);
                Ok(viewer)
            }
            Ok(None) if parts.method == Method::GET => Err(Denied::LoggedOut(login_path(parts))),
            Ok(None) => Err(Denied::SessionEnded),
            Err(error) => Err(Denied::Failed(error)),
        }
    }
}

fn login_path(parts: &Parts) -> String {
    let wanted = parts.uri.path_and_query();
    login::path(wanted.map_or(super::HOME, |path| path.as_str()))
}

/// A session whose key may change things. Every action requires one.
pub(super) struct Manager(pub(super) Viewer);

impl FromRequestParts<App> for Manager {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Denied> {
        let viewer = Viewer::from_request_parts(parts, app).await?;
        if viewer.key.allows(Scope::Manage) {
            Ok(Self(viewer))
        } else {
            Err(Denied::ReadOnly)
        }
    }
}
