//! URLs that a sender may have called in its own eyes.

use http::header::HOST;

use super::UrlChange;
use crate::inbound::Inbound;
use crate::scheme::{with_port, without_port};

/// A URL to try.
pub(super) struct Changed {
    pub(super) what: UrlChange,
    pub(super) url: String,
    pub(super) query: Option<String>,
}

/// The URLs to try, those that differ from the source's.
pub(super) fn changed(inbound: &Inbound, public_url: Option<&str>) -> Vec<Changed> {
    let known = public_url.unwrap_or_default();
    let host = inbound
        .headers
        .get(HOST)
        .and_then(|value| value.to_str().ok());
    let received = host.map(|host| format!("https://{host}{}", inbound.path));
    let swapped = |from: &str, to: &str| known.strip_prefix(from).map(|rest| format!("{to}{rest}"));
    let urls = [
        (UrlChange::PortAdded, Some(with_port(known))),
        (UrlChange::PortCut, Some(without_port(known))),
        (
            UrlChange::SlashAdded,
            Some(format!("{known}/")).filter(|_| !known.ends_with('/')),
        ),
        (
            UrlChange::SlashCut,
            known.strip_suffix('/').map(str::to_owned),
        ),
        (UrlChange::Http, swapped("https://", "http://")),
        (UrlChange::Https, swapped("http://", "https://")),
        (UrlChange::AsReceived, received),
    ];
    let query = || inbound.query.clone();
    let urls = urls
        .into_iter()
        .filter_map(|(what, url)| Some((what, url?)));
    let others = urls
        .filter(|(_, url)| url != known)
        .map(|(what, url)| Changed {
            what,
            url,
            query: query(),
        });
    let bare = query().map(|_| Changed {
        what: UrlChange::QueryCut,
        url: known.to_owned(),
        query: None,
    });
    others.chain(bare).collect()
}
