//! Why a URL or an address is refused: a reason, not a bool, so that people can act on it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::MAX_URL_CHARS;

/// Why a URL or an address is refused. No message repeats the URL, whose query may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// The text cannot be read as a URL.
    #[error("the URL cannot be read: {0}")]
    Unreadable(url::ParseError),
    /// The URL is longer than allowed.
    #[error("the URL has {chars} characters; at most {MAX_URL_CHARS} are allowed")]
    TooLong {
        /// Its length.
        chars: usize,
    },
    /// A scheme that is never used.
    #[error("the scheme `{scheme}` is not allowed; use https")]
    UrlScheme {
        /// The scheme, shortened if absurd.
        scheme: String,
    },
    /// Plain http where only https is allowed.
    #[error("plain http is not allowed; use https")]
    PlainHttp,
    /// A user name or password in the URL.
    #[error("a user name or password in the URL is not allowed; use a header")]
    UserInfo,
    /// A fragment, which would never be sent.
    #[error("a fragment (`#…`) in the URL is not allowed")]
    Fragment,
    /// No host at all.
    #[error("the URL names no host")]
    NoHost,
    /// A port that is not open.
    #[error("port {port} is not allowed; allowed are {}", list(.allowed))]
    Port {
        /// The port asked for.
        port: u16,
        /// The ports that are open.
        allowed: Vec<u16>,
    },
    /// A name without a dot, which only a local network can answer.
    #[error("the host `{name}` is a single label; a full name such as hooks.example.com is needed")]
    SingleLabel {
        /// The name.
        name: String,
    },
    /// A name that by definition is not public.
    #[error("the host `{name}` is not public: names that end in `{suffix}` are not allowed")]
    LocalName {
        /// The name.
        name: String,
        /// The ending that gives it away.
        suffix: &'static str,
    },
    /// A name that no name server could hold.
    #[error(
        "the host is no valid name: labels of 1 to 63 letters, digits, `-` and `_`, 253 characters in all, are allowed"
    )]
    BadName,
    /// An address in a range that is not public.
    #[error("the address {ip} is {what} ({range})")]
    Blocked {
        /// The address.
        ip: IpAddr,
        /// What the range is for.
        what: &'static str,
        /// The range.
        range: IpNet,
    },
    /// An IPv6 address that leads to an IPv4 address in such a range.
    #[error("the address {ip} contains {inner}, which is {what} ({range})")]
    ContainsBlocked {
        /// The address.
        ip: Ipv6Addr,
        /// The address within it.
        inner: Ipv4Addr,
        /// What the range is for.
        what: &'static str,
        /// The range.
        range: IpNet,
    },
    /// An IPv6 address that nobody on the Internet can have.
    #[error("the address {ip} is not public (outside 2000::/3)")]
    NotGlobal {
        /// The address.
        ip: Ipv6Addr,
    },
}

fn list(ports: &[u16]) -> String {
    let words: Vec<String> = ports.iter().map(u16::to_string).collect();
    words.join(", ")
}
