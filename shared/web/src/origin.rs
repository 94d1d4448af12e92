//! Under which URL a browser reaches the gateway.

use std::net::IpAddr;

use http::uri::Authority;
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

/// Whether the browser is on the same machine. Browsers resolve `localhost` and the names below it to loopback.
#[must_use]
pub fn is_loopback(headers: &HeaderMap) -> bool {
    let authority = host(headers).and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| {
        let name = authority.host();
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_named = name == "localhost" || name.ends_with(".localhost");
        is_named || address.is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_by_name_and_by_address() {
        let is_loopback = |host: &'static str| {
            let host = [(header::HOST, http::HeaderValue::from_static(host))];
            is_loopback(&host.into_iter().collect())
        };
        for near in [
            "localhost",
            "localhost:8080",
            "abc.execute-api.localhost:4566",
            "127.0.0.1",
            "127.1.2.3:8080",
            "[::1]",
            "[::1]:8080",
        ] {
            assert!(is_loopback(near), "{near}");
        }
        for far in [
            "hooks.example",
            "localhost.example",
            "127.0.0.1.example:80",
            "notlocalhost",
            "10.0.0.1",
            "[::2]",
            "",
            "a b",
        ] {
            assert!(!is_loopback(far), "{far}");
        }
    }
}
