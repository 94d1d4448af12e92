//! URLs that the sender may have signed.

use http::header::HOST;

use super::UrlChange;
use crate::inbound::Inbound;
use crate::scheme::{with_port, without_port};

pub(super) struct Changed {
    pub(super) what: UrlChange,
    pub(super) url: String,
    pub(super) query: Option<String>,
}

/// The URLs to try: those that differ from the source's.
pub(super) fn changed(inbound: &Inbound, public_url: Option<&str>) -> Vec<Changed> {
    let public_url = public_url.unwrap_or_default();
    let host = inbound
        .headers
        .get(HOST)
        .and_then(|value| value.to_str().ok());
    let received = host.map(|host| format!("https://{host}{}", inbound.path));
    let swapped = |from: &str, to: &str| {
        public_url
            .strip_prefix(from)
            .map(|rest| format!("{to}{rest}"))
    };
    let urls = [
        (UrlChange::PortAdded, Some(with_port(public_url))),
        (UrlChange::PortCut, Some(without_port(public_url))),
        (
            UrlChange::SlashAdded,
            Some(format!("{public_url}/")).filter(|_| !public_url.ends_with('/')),
        ),
        (
            UrlChange::SlashCut,
            public_url.strip_suffix('/').map(str::to_owned),
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
        .filter(|(_, url)| url != public_url)
        .map(|(what, url)| Changed {
            what,
            url,
            query: query(),
        });
    let bare = query().map(|_| Changed {
        what: UrlChange::QueryCut,
        url: public_url.to_owned(),
        query: None,
    });
    others.chain(bare).collect()
}
