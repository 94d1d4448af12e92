//! Protection of every page: cross-site requests, and the security headers of responses.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::page::PageError;
use super::{assets, login};

/// Nothing inline and nothing from other origins: even if stored text became markup, it could do nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Rejects changes requested by pages of other sites. The session cookie is `SameSite=Strict`, so this matters for
/// browsers that send it anyway, and for the login.
pub(super) async fn reject_cross_site(request: Request, next: Next) -> Response {
    if request.method().is_safe() || is_from_here(request.headers()) {
        return next.run(request).await;
    }
    let title = "Cross-site request rejected";
    let detail = "The request came from another site, so nothing was changed.";
    PageError::new(StatusCode::FORBIDDEN, title, detail).into_response()
}

/// Whether the request comes from an Inspector page: its `Origin` is the requested host.
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

/// Whether the browser uses HTTPS. The gateway itself speaks HTTP; a proxy in front of it sets the header.
pub(super) fn is_https(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto");
    proto.is_some_and(|proto| proto.as_bytes().starts_with(b"https"))
}

/// The Inspector page that linked here, as path and query.
pub(super) fn came_from(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (referer, host) = (text(header::REFERER)?, text(header::HOST)?);
    let rest = referer
        .strip_prefix("https://")
        .or_else(|| referer.strip_prefix("http://"))?;
    let path = rest.strip_prefix(host)?;
    login::is_inspector(path).then(|| path.to_owned())
}

/// Sets the security headers. An asset never changes under its URL, so it may be cached forever.
pub(super) async fn set_headers(request: Request, next: Next) -> Response {
    let is_asset = request.uri().path().starts_with(assets::FOLDER);
    let mut response = next.run(request).await;
    let keep = is_asset && response.status().is_success();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Not `no-referrer`: browsers would then send `Origin: null` with the Inspector's own forms.
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
        headers.insert(name, HeaderValue::from_static(value));
    }
    if keep {
        let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, kept);
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
    fn only_inspector_pages_may_request_changes() {
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
