//! Who is logged in: a cookie that only the gateway can make, good for any of its processes.
//!
//! It holds the digest of the key that somebody showed, and when the session ends, sealed. So it cannot be made out of
//! what is stored, it is no key, and whoever revokes the key ends its sessions.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::HEXLOWER;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use postrider_domain::ids::TenantId;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::time::{Millis, Timestamp};

use super::page::Trouble;
use super::{guard, login};
use crate::Api;

const COOKIE: &str = "postrider_session";
const PURPOSE: &str = "inspector session";
/// How long a session lasts: a working day with its evening.
pub(super) const LASTS: Millis = Millis::from_seconds(12 * 3600);
/// Longer than any cookie of ours.
const MAX_COOKIE_BYTES: usize = 1024;

/// Somebody who may look.
pub(super) struct Viewer {
    key: Arc<ApiKey>,
    ends_at: Timestamp,
}

impl Viewer {
    pub(super) fn key(&self) -> &ApiKey {
        &self.key
    }

    pub(super) fn tenant(&self) -> &TenantId {
        &self.key.tenant
    }

    /// When the session ends.
    pub(super) const fn ends_at(&self) -> Timestamp {
        self.ends_at
    }

    /// The session that a request's cookies speak of.
    pub(super) async fn of(api: &Api, headers: &HeaderMap) -> Result<Option<Self>, Trouble> {
        let Some((tenant, sealed)) = cookie(headers) else {
            return Ok(None);
        };
        let store = &api.gateway.ports.store;
        let opened = store.unseal(&tenant, PURPOSE.to_owned(), sealed).await?;
        let Some((ends_at, digest)) = opened.as_deref().and_then(read) else {
            return Ok(None);
        };
        if api.gateway.ports.clock.now() >= ends_at {
            return Ok(None);
        }
        let key = api.gateway.keyring.recognise_again(digest).await?;
        let may_look = |key: &Arc<ApiKey>| key.allows(Scope::Read) && key.tenant == tenant;
        Ok(key.filter(may_look).map(|key| Self { key, ends_at }))
    }
}

/// The cookie that begins a session of this key.
pub(super) async fn begin(
    api: &Api,
    key: &ApiKey,
    headers: &HeaderMap,
) -> Result<HeaderValue, Trouble> {
    let ends_at = api.gateway.ports.clock.now().plus(LASTS);
    let text = format!("{} {}", ends_at.as_millis(), HEXLOWER.encode(&key.digest.0));
    let store = &api.gateway.ports.store;
    let sealed = store.seal(&key.tenant, PURPOSE.to_owned(), text).await?;
    let value = format!("{}.{sealed}", key.tenant);
    Ok(set_cookie(&value, LASTS, headers))
}

/// The cookie that ends a session.
pub(super) fn end(headers: &HeaderMap) -> HeaderValue {
    set_cookie("", Millis::ZERO, headers)
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
    // Tenant and sealed text are letters, digits, `-` and `_`.
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

fn read(text: &str) -> Option<(Timestamp, KeyDigest)> {
    let (ends_at, digest) = text.split_once(' ')?;
    let digest = HEXLOWER.decode(digest.as_bytes()).ok()?;
    Some((
        Timestamp::from_millis(ends_at.parse().ok()?),
        KeyDigest(digest.try_into().ok()?),
    ))
}

/// Why somebody cannot go on.
pub(super) enum Outside {
    /// Nobody is logged in; the way to the login, and back to where they were going.
    Nobody(String),
    /// The session is over, and something was to be changed.
    Over,
    /// The key may look and not change.
    MayOnlyLook,
    /// We could not find out.
    Trouble(Trouble),
}

impl IntoResponse for Outside {
    fn into_response(self) -> Response {
        match self {
            Self::Nobody(login) => Redirect::to(&login).into_response(),
            Self::Over => Trouble::new(
                StatusCode::UNAUTHORIZED,
                "You are not logged in",
                "The session is over, so nothing was done.",
            )
            .into_response(),
            Self::MayOnlyLook => Trouble::new(
                StatusCode::FORBIDDEN,
                "This key may only look",
                "The key that you logged in with lacks the scope `manage`, so nothing was done.",
            )
            .into_response(),
            Self::Trouble(trouble) => trouble.into_response(),
        }
    }
}

impl FromRequestParts<Api> for Viewer {
    type Rejection = Outside;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Outside> {
        match Self::of(api, &parts.headers).await {
            Ok(Some(viewer)) => Ok(viewer),
            Ok(None) if parts.method == Method::GET => Err(Outside::Nobody(way_in(parts))),
            Ok(None) => Err(Outside::Over),
            Err(trouble) => Err(Outside::Trouble(trouble)),
        }
    }
}

fn way_in(parts: &Parts) -> String {
    let wanted = parts.uri.path_and_query();
    login::path(wanted.map_or(super::HOME, |path| path.as_str()))
}

/// Somebody who may change things, too. Every action asks for one.
pub(super) struct Manager(pub(super) Viewer);

impl FromRequestParts<Api> for Manager {
    type Rejection = Outside;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Outside> {
        let viewer = Viewer::from_request_parts(parts, api).await?;
        if viewer.key.allows(Scope::Manage) {
            Ok(Self(viewer))
        } else {
            Err(Outside::MayOnlyLook)
        }
    }
}
