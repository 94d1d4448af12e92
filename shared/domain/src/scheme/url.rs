//! The called URL, as the sender may have signed it.

/// How the called URL is written in the signed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlForm {
    /// As configured for the source.
    AsGiven,
    /// With a port, if necessary the default one.
    WithPort,
    WithoutPort,
    /// With the escapes decoded that HubSpot decodes.
    Unescaped,
}

const MAX_QUERY_BYTES: usize = 8192;

/// <https://developers.hubspot.com/docs/api/webhooks/validating-requests>
const UNESCAPED: [(&str, &str); 12] = [
    ("%3A", ":"),
    ("%2F", "/"),
    ("%3F", "?"),
    ("%40", "@"),
    ("%21", "!"),
    ("%24", "$"),
    ("%27", "'"),
    ("%28", "("),
    ("%29", ")"),
    ("%2A", "*"),
    ("%2C", ","),
    ("%3B", ";"),
];

impl UrlForm {
    /// The signed URL: the source's public URL in this form, followed by the request's query.
    ///
    /// `None` if the query contains characters that queries may not contain: the body follows the URL without a
    /// separator, and the start of the body must not pass as the end of the query.
    pub(crate) fn of(self, public_url: &str, query: Option<&str>) -> Option<String> {
        let mut url = match self {
            Self::AsGiven | Self::Unescaped => public_url.to_owned(),
            Self::WithPort => with_port(public_url),
            Self::WithoutPort => without_port(public_url),
        };
        if let Some(query) = query {
            if !is_query(query) {
                return None;
            }
            url.push('?');
            url.push_str(query);
        }
        if self == Self::Unescaped {
            for (escaped, plain) in UNESCAPED {
                url = url.replace(escaped, plain);
            }
        }
        Some(url)
    }
}

/// Brackets are allowed, because many senders do not escape them.
fn is_query(text: &str) -> bool {
    text.len() <= MAX_QUERY_BYTES
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte))
}

pub(crate) fn with_port(url: &str) -> String {
    let (scheme, host, port, rest) = parts(url);
    let default = if scheme == "http" { "80" } else { "443" };
    format!("{scheme}://{host}:{}{rest}", port.unwrap_or(default))
}

pub(crate) fn without_port(url: &str) -> String {
    let (scheme, host, _, rest) = parts(url);
    format!("{scheme}://{host}{rest}")
}

/// Scheme, host, port and the rest.
fn parts(url: &str) -> (&str, &str, Option<&str>, &str) {
    let (scheme, after_scheme) = url.split_once("://").unwrap_or(("https", url));
    let end = after_scheme.find(['/', '?']).unwrap_or(after_scheme.len());
    let (authority, rest) = after_scheme.split_at(end);
    // A colon inside the brackets of an IPv6 address does not start a port.
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (scheme, host, Some(port), rest),
        _ => (scheme, authority, None, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_and_removed() {
        for (bare, ported) in [
            ("https://h.example/a", "https://h.example:443/a"),
            ("http://h.example", "http://h.example:80"),
            ("https://[::1]/", "https://[::1]:443/"),
        ] {
            assert_eq!(with_port(bare), ported);
            assert_eq!(with_port(ported), ported);
            assert_eq!(without_port(ported), bare);
            assert_eq!(without_port(bare), bare);
        }
        assert_eq!(without_port("https://h:8443/a:b"), "https://h/a:b");
    }

    #[test]
    fn the_query_of_the_request_is_appended() {
        let of = |query| UrlForm::AsGiven.of("https://h/a", query);
        assert_eq!(of(None).as_deref(), Some("https://h/a"));
        assert_eq!(
            of(Some("x=1&y[]=2")).as_deref(),
            Some("https://h/a?x=1&y[]=2")
        );
        assert_eq!(of(Some("x={\"a\":1}")), None);
        assert_eq!(of(Some(&"x".repeat(MAX_QUERY_BYTES + 1))), None);
        let unescaped = UrlForm::Unescaped.of("https://h/a", Some("u=a%40b%2Fc%20d"));
        assert_eq!(unescaped.as_deref(), Some("https://h/a?u=a@b/c%20d"));
    }
}
