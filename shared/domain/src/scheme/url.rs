//! The URL that was called, as its caller may have signed it.

/// How the called URL is written where it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlForm {
    /// As the source's owner gave it.
    AsGiven,
    /// With a port, the default one if none was given.
    WithPort,
    /// Without any port.
    WithoutPort,
    /// With those escapes decoded that HubSpot decodes.
    Unescaped,
}

/// The longest query that a signed URL may have, in bytes.
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
    /// The signed URL: that of the source, in this form, and the query of the request.
    ///
    /// Nothing if the query holds what no query may hold: a body follows the URL without a mark between them, and a
    /// body's beginning must not pass for the query's end.
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

/// Whether a text may be a query. Brackets are let in: many callers leave them as they are.
fn is_query(text: &str) -> bool {
    text.len() <= MAX_QUERY_BYTES
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte))
}

/// The URL with its port, the default one if it has none.
pub(crate) fn with_port(url: &str) -> String {
    let (scheme, host, port, rest) = parts(url);
    let default = if scheme == "http" { "80" } else { "443" };
    format!("{scheme}://{host}:{}{rest}", port.unwrap_or(default))
}

/// The URL without any port.
pub(crate) fn without_port(url: &str) -> String {
    let (scheme, host, _, rest) = parts(url);
    format!("{scheme}://{host}{rest}")
}

/// Scheme, host, port and all that follows.
fn parts(url: &str) -> (&str, &str, Option<&str>, &str) {
    let (scheme, behind) = url.split_once("://").unwrap_or(("https", url));
    let end = behind.find(['/', '?']).unwrap_or(behind.len());
    let (authority, rest) = behind.split_at(end);
    // A colon inside the brackets of an IPv6 address begins no port.
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (scheme, host, Some(port), rest),
        _ => (scheme, authority, None, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_and_taken_away() {
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
    fn the_query_of_the_request_follows() {
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
