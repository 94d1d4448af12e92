//! Under which URL a browser reaches the gateway.

use http::{HeaderMap, header};

/// Whether the browser uses HTTPS. The gateway itself speaks HTTP; a proxy in front of it sets the header.
#[must_use]
pub fn is_https(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto");
    proto.is_some_and(|proto| proto.as_bytes().starts_with(b"https"))
}

/// The requested host, if the request names one.
#[must_use]
pub fn host(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    (!host.is_empty()).then_some(host)
}

/// Scheme and host of this request.
#[must_use]
pub fn of(headers: &HeaderMap) -> Option<String> {
    let scheme = if is_https(headers) { "https" } else { "http" };
    host(headers).map(|host| format!("{scheme}://{host}"))
}

/// Whether the browser is on the same machine.
#[must_use]
pub fn is_loopback(headers: &HeaderMap) -> bool {
    let names = ["127.", "localhost", "[::1]"];
    host(headers).is_some_and(|host| names.iter().any(|name| host.starts_with(name)))
}
