//! The URL for the sender.

use http::{HeaderMap, header};
use postrider_domain::source::Source;

use crate::guard;

pub(super) struct Address {
    pub(super) url: String,
    /// A caveat before the URL is used.
    pub(super) note: Option<&'static str>,
}

impl Address {
    /// The source's public URL, or the URL of this page's host.
    pub(super) fn of(source: &Source, headers: &HeaderMap) -> Self {
        if let Some(url) = &source.settings.public_url {
            return Self {
                url: url.to_string(),
                note: None,
            };
        }
        let host = headers.get(header::HOST);
        let host = host
            .and_then(|host| host.to_str().ok())
            .filter(|host| !host.is_empty());
        let path = Source::path(source.id);
        let Some(host) = host else {
            return Self {
                url: path,
                note: Some("Prefix this path with the gateway's public URL."),
            };
        };
        let protocol = if guard::is_https(headers) {
            "https"
        } else {
            "http"
        };
        Self {
            url: format!("{protocol}://{host}{path}"),
            note: is_local(host).then_some(
                "This URL works only on this machine. Give the sender the URL under which it can reach the gateway, with the same path.",
            ),
        }
    }
}

fn is_local(host: &str) -> bool {
    host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
}
