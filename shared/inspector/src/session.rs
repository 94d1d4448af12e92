//! The session: a cookie that only the gateway can create, valid for any of its processes.
//!
//! It holds the digest of a key and the end of the session, encrypted. So it cannot be created from stored data, it is not
//! a key, and revoking the key ends its sessions. In the Inspector it is the key that was used to log in. In the portal it
//! is the key that created the link, and the cookie also says which part of its rights the session has. Logging out ends
//! this session, on the server too.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::HEXLOWER;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use postrider_domain::ids::TenantId;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::portal::{self, PortalLink};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::sessions::SessionId;
use postrider_presentation::redact;
use postrider_web::origin;
use postrider_web::recognised::Recognised;
use postrider_web::stream::{Shown, StreamSession};

use super::login;
use super::page::PageError;
use super::portal::Portal;
use super::site::Site;
use crate::App;

/// Longer than any session cookie.
const MAX_COOKIE_BYTES: usize = 3072;

impl Site {
    const fn cookie(self) -> &'static str {
        match self {
            Self::Inspector => "postrider_session",
            Self::Portal => "postrider_portal",
        }
    }

    /// What the cookie is sealed for, so that one site's cookie is worth nothing on the other.
    const fn purpose(self) -> &'static str {
        match self {
            Self::Inspector => "inspector session",
            Self::Portal => "portal session",
        }
    }

    const fn session_lasts(self) -> Millis {
        match self {
            // Long enough for a working day.
            Self::Inspector => Millis::from_seconds(12 * 3600),
            Self::Portal => portal::SESSION_LASTS,
        }
    }
}

/// A session that may read.
pub(super) struct Viewer {
    /// In the portal, what remains of the issuer's key for this tenant and these scopes.
    key: Arc<ApiKey>,
    id: SessionId,
    ends_at: Timestamp,
    site: Site,
    return_url: Option<String>,
    portal: Arc<Portal>,
}

impl Viewer {
    pub(super) fn key(&self) -> &ApiKey {
        &self.key
    }

    pub(super) fn tenant(&self) -> &TenantId {
        &self.key.tenant
    }

    pub(super) const fn site(&self) -> Site {
        self.site
    }

    pub(super) const fn portal(&self) -> &Arc<Portal> {
        &self.portal
    }

    pub(super) fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// A redirect to a page of the site; `rest` begins with a slash.
    pub(super) fn redirect(&self, rest: &str) -> Redirect {
        Redirect::to(&self.site.path(rest))
    }

    /// An error text as this user may see it: a customer learns nothing about the gateway's network.
    pub(super) fn shown(&self, text: String) -> String {
        self.site.shown(text)
    }

    pub(super) const fn session(&self) -> StreamSession {
        StreamSession {
            id: self.id,
            ends_at: self.ends_at,
            shown: match self.site {
                Site::Inspector => Shown::Everything,
                Site::Portal => Shown::Changes,
            },
        }
    }

    /// The session of a request, by its cookie.
    pub(super) async fn of(
        app: &App,
        site: Site,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, PageError> {
        let Some((tenant, sealed)) = cookie(site, headers) else {
            return Ok(None);
        };
        let store = &app.gateway.ports.store;
        let purpose = site.purpose().to_owned();
        let opened = store.unseal(&tenant, purpose, sealed).await?;
        let Some(content) = opened.as_deref().and_then(Content::read) else {
            return Ok(None);
        };
        let Content { ends_at, id, .. } = content;
        if app.gateway.ports.clock.now() >= ends_at || store.has_ended(&tenant, id).await? {
            return Ok(None);
        }
        let begun_at = ends_at.minus(site.session_lasts());
        if site == Site::Portal && !is_open(app, &tenant, begun_at).await? {
            return Ok(None);
        }
        let key = app.gateway.keyring.recognise_again(content.key).await?;
        let key = key.and_then(|key| match site {
            Site::Inspector => Some(key).filter(|key| key.tenant == tenant),
            Site::Portal => narrowed(&key, &tenant, &content.scopes),
        });
        let may_look = |key: &Arc<ApiKey>| key.allows(Scope::Read);
        Ok(key.filter(may_look).map(|key| Self {
            key,
            id,
            ends_at,
            site,
            return_url: content.return_url,
            portal: Arc::clone(&app.portal),
        }))
    }
}

impl Site {
    pub(super) fn shown(self, text: String) -> String {
        match self {
            Self::Inspector => text,
            Self::Portal => redact::without_addresses(&text),
        }
    }
}

/// Whether the tenant of a link or session from this time is still the same: it was not deleted since. There may be another
/// of its name.
async fn is_open(app: &App, tenant: &TenantId, begun_at: Timestamp) -> Result<bool, PageError> {
    let store = &app.gateway.ports.store;
    let ended_at = store.portal_ended_at(tenant).await?;
    Ok(ended_at.is_none_or(|ended_at| ended_at < begun_at))
}

/// The key with no more than these rights, for this tenant; `None` if it may not give them.
fn narrowed(key: &ApiKey, tenant: &TenantId, scopes: &[Scope]) -> Option<Arc<ApiKey>> {
    let is_its = key.tenant == *tenant || key.tenant.as_str() == TenantId::DEFAULT;
    let may = is_its && key.allows(Scope::Manage);
    may.then(|| {
        Arc::new(ApiKey {
            tenant: tenant.clone(),
            scopes: scopes.to_vec(),
            ..key.clone()
        })
    })
}

/// The cookie that starts a session of the Inspector with this key.
pub(super) async fn begin(
    app: &App,
    key: &ApiKey,
    headers: &HeaderMap,
) -> Result<HeaderValue, PageError> {
    let content = Content {
        ends_at: app.now().plus(Site::Inspector.session_lasts()),
        key: key.digest,
        id: SessionId(app.gateway.ports.entropy.bytes()),
        scopes: Vec::new(),
        return_url: None,
    };
    seal(app, Site::Inspector, &key.tenant, &content, headers).await
}

/// The cookie that starts a session of the portal with this link; `None` if the key that created it was revoked, or the
/// tenant deleted.
pub(super) async fn begin_portal(
    app: &App,
    link: &PortalLink,
    headers: &HeaderMap,
) -> Result<Option<HeaderValue>, PageError> {
    let issuer = app.gateway.keyring.recognise_again(link.issuer).await?;
    if issuer.is_none() || !is_open(app, &link.tenant, link.created_at).await? {
        return Ok(None);
    }
    let content = Content {
        ends_at: app.now().plus(Site::Portal.session_lasts()),
        key: link.issuer,
        id: SessionId(app.gateway.ports.entropy.bytes()),
        scopes: link.scopes.clone(),
        return_url: link.return_url.clone(),
    };
    let cookie = seal(app, Site::Portal, &link.tenant, &content, headers).await?;
    Ok(Some(cookie))
}

async fn seal(
    app: &App,
    site: Site,
    tenant: &TenantId,
    content: &Content,
    headers: &HeaderMap,
) -> Result<HeaderValue, PageError> {
    let store = &app.gateway.ports.store;
    let purpose = site.purpose().to_owned();
    let sealed = store.seal(tenant, purpose, content.written()).await?;
    let value = format!("{tenant}.{sealed}");
    Ok(set_cookie(app, site, &value, site.session_lasts(), headers))
}

/// Ends the session of a request, if it has one, and returns the cookie that says so. A copy of the old cookie is worth
/// nothing from now on.
pub(super) async fn end(
    app: &App,
    site: Site,
    headers: &HeaderMap,
) -> Result<HeaderValue, PageError> {
    if let Some(viewer) = Viewer::of(app, site, headers).await? {
        let store = &app.gateway.ports.store;
        store
            .end_session(viewer.tenant(), viewer.id, viewer.ends_at)
            .await?;
    }
    Ok(set_cookie(app, site, "", Millis::ZERO, headers))
}

fn set_cookie(
    app: &App,
    site: Site,
    value: &str,
    lasts: Millis,
    headers: &HeaderMap,
) -> HeaderValue {
    let seconds = lasts.get() / 1000;
    let (name, path) = (site.cookie(), site.home());
    let is_https = origin::is_https(headers);
    let is_embedded = site == Site::Portal && app.portal.can_be_embedded();
    // In a frame of another site, browsers send only such cookies: over https, or on this machine, and apart for each
    // embedding site.
    let same_site = if is_embedded && (is_https || origin::is_loopback(headers)) {
        "None; Secure; Partitioned"
    } else if is_https {
        "Strict; Secure"
    } else {
        "Strict"
    };
    let text =
        format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite={same_site}");
    // Tenant and encrypted text consist of letters, digits, `-` and `_`.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn cookie(site: Site, headers: &HeaderMap) -> Option<(TenantId, String)> {
    let pairs = headers.get_all(header::COOKIE).iter();
    let texts = pairs.filter_map(|value| value.to_str().ok());
    let value = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == site.cookie()).then_some(value))?;
    let (tenant, sealed) = value.split_once('.')?;
    let fits = value.len() <= MAX_COOKIE_BYTES;
    fits.then_some((tenant.parse().ok()?, sealed.to_owned()))
}

/// What the cookie holds.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    ends_at: Timestamp,
    key: KeyDigest,
    id: SessionId,
    /// In the portal, what the session may do.
    scopes: Vec<Scope>,
    return_url: Option<String>,
}

impl Content {
    fn written(&self) -> String {
        let scopes: Vec<_> = self.scopes.iter().map(|scope| scope.as_str()).collect();
        format!(
            "{} {} {} {} {}",
            self.ends_at.as_millis(),
            HEXLOWER.encode(&self.key.0),
            HEXLOWER.encode(&self.id.0),
            scopes.join(","),
            self.return_url.as_deref().unwrap_or_default()
        )
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, ' ');
        let ends_at = parts.next()?.parse().ok()?;
        let key = HEXLOWER.decode(parts.next()?.as_bytes()).ok()?;
        let id = HEXLOWER.decode(parts.next()?.as_bytes()).ok()?;
        // Sessions of earlier versions end here.
        let scopes = parts.next().unwrap_or_default().split(',');
        let scopes = scopes.filter_map(|name| {
            let mut all = Scope::ALL.into_iter();
            all.find(|scope| scope.as_str() == name)
        });
        let return_url = parts.next().filter(|url| !url.is_empty());
        Some(Self {
            ends_at: Timestamp::from_millis(ends_at),
            key: KeyDigest(key.try_into().ok()?),
            id: SessionId(id.try_into().ok()?),
            scopes: scopes.collect(),
            return_url: return_url.map(str::to_owned),
        })
    }
}

/// Why a request is not served.
pub(super) enum Denied {
    /// No session: the path of the login page, which returns here.
    LoggedOut(String),
    /// The session has ended, and the request would have changed something.
    SessionEnded,
    /// The session has the scope `read`, and the request needs `manage`.
    ReadOnly(Site),
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
            Self::ReadOnly(Site::Portal) => PageError::new(
                StatusCode::FORBIDDEN,
                "You cannot change anything here",
                "Your access is read-only, so nothing was changed.",
            )
            .into_response(),
            Self::ReadOnly(Site::Inspector) => PageError::new(
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
        match Self::of(app, Site::of(parts.uri.path()), &parts.headers).await {
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
    match Site::of(parts.uri.path()) {
        Site::Inspector => login::path(wanted.map_or(super::HOME, |path| path.as_str())),
        Site::Portal => Site::Portal.path("/login"),
    }
}

/// A session that may change things. Every action requires one.
pub(super) struct Manager(pub(super) Viewer);

impl FromRequestParts<App> for Manager {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Denied> {
        let viewer = Viewer::from_request_parts(parts, app).await?;
        if viewer.key.allows(Scope::Manage) {
            Ok(Self(viewer))
        } else {
            Err(Denied::ReadOnly(viewer.site))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Content {
        Content {
            ends_at: Timestamp::from_millis(1_771_668_000_000),
            key: KeyDigest([7; 32]),
            id: SessionId([8; 16]),
            scopes: vec![Scope::Read, Scope::Manage],
            return_url: Some("https://app.example/a%20b?c".to_owned()),
        }
    }

    #[test]
    fn a_cookie_is_read_as_it_was_written() {
        let plain = Content {
            scopes: Vec::new(),
            return_url: None,
            ..content()
        };
        for content in [content(), plain] {
            assert_eq!(Content::read(&content.written()), Some(content));
        }
    }

    #[test]
    fn a_session_of_an_earlier_version_goes_on() {
        let earlier = content().written();
        let earlier: Vec<_> = earlier.split(' ').take(3).collect();
        let read = Content::read(&earlier.join(" ")).unwrap();
        assert_eq!((read.scopes, read.return_url), (Vec::new(), None));
    }
}
