//! The URL that a sender is given.

use http::{HeaderMap, header};
use postrider_domain::source::Source;

use crate::inspector::guard;

/// Where a source posts to.
pub(super) struct Address {
    pub(super) url: String,
    /// What to know before it is pasted somewhere.
    pub(super) note: Option<&'static str>,
}

impl Address {
    /// The public URL that its owner named, or the one under which this page was reached.
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
                note: Some("Put the gateway's public address before it."),
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
                "Only this machine can reach this address. Give the sender the one under which it reaches the gateway, with the same path.",
            ),
        }
    }
}

fn is_local(host: &str) -> bool {
    host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
}
