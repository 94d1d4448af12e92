use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::MAX_URL_CHARS;

/// Why a URL or an address is blocked. No message repeats the URL, whose query may contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    #[error("the URL is not valid: {}", unreadable(*.0))]
    Unreadable(url::ParseError),
    #[error("the URL has {chars} characters; at most {MAX_URL_CHARS} are allowed")]
    TooLong { chars: usize },
    #[error("the scheme `{scheme}` is not allowed; use https, or http where the gateway allows it")]
    UrlScheme {
        /// At most 32 characters of it.
        scheme: String,
    },
    #[error("plain http is not allowed; use https")]
    PlainHttp,
    #[error("the URL must not contain a user name or password; use a header")]
    UserInfo,
    /// A fragment would never be sent.
    #[error("the URL must not contain a fragment (`#…`)")]
    Fragment,
    #[error("the URL has no host")]
    NoHost,
    #[error("port {port} is not allowed; use one of {}", list(.allowed))]
    Port { port: u16, allowed: Vec<u16> },
    /// A name without a dot, which only a local network can resolve.
    #[error(
        "the host `{name}` is a single label; use a full name such as hooks.example.com, or the IP address"
    )]
    SingleLabel { name: String },
    #[error(
        "the host `{name}` is not public: names ending in `{suffix}` are not allowed; use the IP address"
    )]
    LocalName { name: String, suffix: &'static str },
    #[error(
        "the host is not a valid name; use labels of 1 to 63 letters, digits, `-` and `_`, at most 253 characters in total"
    )]
    BadName,
    #[error("the address {ip} is {what} ({range}); use a public address")]
    Blocked {
        ip: IpAddr,
        what: &'static str,
        range: IpNet,
    },
    /// An IPv6 address with an embedded IPv4 address that is not public.
    #[error("the address {ip} contains {inner}, which is {what} ({range}); use a public address")]
    ContainsBlocked {
        ip: Ipv6Addr,
        inner: Ipv4Addr,
        what: &'static str,
        range: IpNet,
    },
    /// An address of the network that the gateway runs in.
    #[error("the address {ip} is in a range that the gateway's operator denies ({range})")]
    Denied { ip: IpAddr, range: IpNet },
    /// An IPv6 address outside the range that IANA assigns for the Internet.
    #[error("the address {ip} is not public (outside 2000::/3); use a public address")]
    NotGlobal { ip: Ipv6Addr },
}

impl Blocked {
    /// Whether the message names an address.
    #[must_use]
    pub const fn reveals_address(&self) -> bool {
        matches!(
            self,
            Self::Blocked { .. }
                | Self::ContainsBlocked { .. }
                | Self::Denied { .. }
                | Self::NotGlobal { .. }
        )
    }
}

fn unreadable(error: url::ParseError) -> String {
    if error == url::ParseError::RelativeUrlWithoutBase {
        "it must start with https://".to_owned()
    } else {
        error.to_string()
    }
}

fn list(ports: &[u16]) -> String {
    let words: Vec<String> = ports.iter().map(u16::to_string).collect();
    words.join(", ")
}
