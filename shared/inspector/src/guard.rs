//! Protection of every page: cross-site requests, and the security headers of responses.

use std::sync::LazyLock;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::page::PageError;
use super::site::Site;
use super::{assets, catalogue};
use crate::App;

/// Nothing inline and nothing from other origins: even if stored text became markup, it could do nothing. `images` are from
/// one more origin, and `ancestors` may embed the page.
pub(super) fn policy(images: &str, ancestors: &str) -> HeaderValue {
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: {images}; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
    );
    // An origin consists of visible ASCII characters. Nothing is allowed if it does not after all.
    HeaderValue::from_str(&text)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
}

static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| policy("", "'none'"));

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Rejects changes requested by pages of other sites. The Inspector's cookie is `SameSite=Strict`, so there this matters for
/// browsers that send it anyway, and for the login. The cookie of a portal that may be embedded is not: there this is the
/// protection.
pub(super) async fn reject_cross_site(request: Request, next: Next) -> Response {
    if request.method().is_safe() || is_from_here(request.headers()) {
        return next.run(request).await;
    }
    let title = "Cross-site request rejected";
    let detail = "The request came from another site, so nothing was changed.";
    PageError::new(StatusCode::FORBIDDEN, title, detail).into_response()
}

/// Whether the request comes from a page of ours: its `Origin` is the requested host.
fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(|origin| {
        origin
            .strip_prefix("https://")
            .or_else(|| origin.strip_prefix("http://"))
    });
    let same_host = match (origin, text(header::HOST)) {
        (Some(origin), Some(host)) => origin.eq_ignore_ascii_case(host),
        _ => false,
    };
    same_host && text(SEC_FETCH_SITE).is_none_or(|site| site == "same-origin")
}

/// The page of this site that linked here, as path and query.
pub(super) fn came_from(site: Site, headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (referer, host) = (text(header::REFERER)?, text(header::HOST)?);
    let rest = referer
        .strip_prefix("https://")
        .or_else(|| referer.strip_prefix("http://"))?;
    let path = rest.strip_prefix(host)?;
    site.has(path).then(|| path.to_owned())
}

/// Sets the security headers. An asset never changes under its URL, so it may be cached forever.
pub(super) async fn set_headers(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let site = Site::of(path);
    let is_asset = path.starts_with(&assets::folder(site));
    let is_public = catalogue::public::has(path);
    let mut response = next.run(request).await;
    let is_found = response.status().is_success();
    let headers = response.headers_mut();
    let policy = match site {
        Site::Inspector => POLICY.clone(),
        Site::Portal => app.portal.policy.clone(),
    };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    // The header has no way to name origins.
    if site == Site::Inspector || !app.portal.can_be_embedded() {
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    for (name, value) in [
        // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        // A page may have its own.
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    let kept = match (is_asset, is_public) {
        (true, _) => Some("public, max-age=31536000, immutable"),
        (false, true) => Some(catalogue::public::CACHE_CONTROL),
        (false, false) => None,
    };
    if let Some(kept) = kept.filter(|_| is_found) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_here(pairs: &[(&'static str, &'static str)]) -> bool {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        is_from_here(&pairs.collect())
    }

    #[test]
    fn only_our_own_pages_may_request_changes() {
        let host = ("host", "127.0.0.1:8080");
        assert!(from_here(&[host, ("origin", "http://127.0.0.1:8080")]));
        assert!(from_here(&[
            ("host", "Hooks.example"),
            ("origin", "https://hooks.example")
        ]));
        assert!(from_here(&[
            host,
            ("origin", "http://127.0.0.1:8080"),
            ("sec-fetch-site", "same-origin")
        ]));
        for foreign in [
            "null",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "http://evil.example",
            "http://127.0.0.1:8080.evil.example",
            "http://evil.example/http://127.0.0.1:8080",
            "ftp://127.0.0.1:8080",
            "127.0.0.1:8080",
            "",
        ] {
            assert!(!from_here(&[host, ("origin", foreign)]), "{foreign}");
        }
        assert!(!from_here(&[host]), "no origin at all");
        assert!(
            !from_here(&[("origin", "http://127.0.0.1:8080")]),
            "no host"
        );
        let sent_by_another = ("sec-fetch-site", "cross-site");
        let claimed = ("origin", "http://127.0.0.1:8080");
        assert!(!from_here(&[host, claimed, sent_by_another]));
    }
}
