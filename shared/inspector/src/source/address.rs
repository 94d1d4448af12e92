//! The URL for the sender.

use http::HeaderMap;
use postrider_domain::source::Source;

use postrider_web::origin;

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
        let path = Source::path(source.id);
        let Some(base) = origin::of(headers) else {
            return Self {
                url: path,
                note: Some("Prefix this path with the gateway's public URL."),
            };
        };
        Self {
            url: format!("{base}{path}"),
            note: origin::is_loopback(headers).then_some(
                "This URL works only on this machine. Give the sender the URL under which it can reach the gateway, with the same path.",
            ),
        }
    }
}
