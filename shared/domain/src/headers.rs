//! A webhook's own headers: parsed, bounded, and none that are ours to set.

use http::{HeaderName, HeaderValue};

use crate::invalid::Invalid;

/// The most headers a webhook may add.
pub const MAX_HEADERS: usize = 32;
/// The most bytes they may take together.
pub const MAX_HEADER_BYTES: usize = 8192;

const RESERVED: [&str; 12] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "keep-alive",
    "user-agent",
    "postrider-shadow",
];
const RESERVED_PREFIXES: [&str; 4] = ["proxy-", "webhook-", "x-webhook-", "x-observatory-"];
const REVEALING: [&str; 8] = [
    "auth",
    "cookie",
    "token",
    "secret",
    "key",
    "password",
    "signature",
    "credential",
];

/// Checked headers, in the order given. Values may be credentials: `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CustomHeaders(Vec<(HeaderName, HeaderValue)>);

impl CustomHeaders {
    /// Checks names and values.
    ///
    /// # Errors
    /// Every fault, each under `headers.<name>`.
    pub fn parse<'a>(given: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Invalid> {
        let mut faults = Invalid::default();
        let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::new();
        let mut bytes = 0;
        for (name, value) in given {
            bytes += name.len() + value.len();
            match parse_one(name, value) {
                Ok((name, _)) if headers.iter().any(|(known, _)| *known == name) => {
                    faults.add(format!("headers.{name}"), "is named twice");
                }
                Ok(header) => headers.push(header),
                Err(message) => faults.add(format!("headers.{name}"), message),
            }
        }
        faults.require(headers.len() <= MAX_HEADERS, "headers", || {
            format!("must be at most {MAX_HEADERS} headers")
        });
        faults.require(bytes <= MAX_HEADER_BYTES, "headers", || {
            format!("must be at most {MAX_HEADER_BYTES} bytes in all")
        });
        faults.into_result()?;
        Ok(Self(headers))
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Whether the value under this name looks like a credential and is better not shown.
    #[must_use]
    pub fn is_revealing(name: &HeaderName) -> bool {
        REVEALING.iter().any(|part| name.as_str().contains(part))
    }
}

impl std::fmt::Debug for CustomHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name.as_str()))
            .finish()
    }
}

fn parse_one(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed: HeaderName = name
        .parse()
        .map_err(|_| "is not a valid header name".to_owned())?;
    let lower = parsed.as_str();
    if RESERVED.contains(&lower)
        || RESERVED_PREFIXES
            .iter()
            .any(|prefix| lower.starts_with(prefix))
    {
        return Err("is set by the gateway and cannot be replaced".to_owned());
    }
    let visible = value
        .bytes()
        .all(|b| b == b'\t' || (b' '..=b'~').contains(&b));
    let value = HeaderValue::from_str(value).ok().filter(|_| visible);
    value
        .map(|value| (parsed, value))
        .ok_or_else(|| "must have a value of printable ASCII characters".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_ours_are_refused() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "connection",
            "TE",
            "trailer",
            "upgrade",
            "Expect",
            "Proxy-Authorization",
            "webhook-id",
            "X-Webhook-Retry",
            "X-Observatory-Signature",
            "Postrider-Shadow",
        ] {
            let faults = CustomHeaders::parse([(name, "x")])
                .unwrap_err()
                .into_fields();
            assert!(faults[0].message.contains("set by the gateway"), "{name}");
        }
    }

    #[test]
    fn headers_are_parsed_and_bounded() {
        assert!(CustomHeaders::parse([("Authorization", "Bearer x"), ("X-Env", "prod")]).is_ok());
        for (name, value) in [
            ("a b", "x"),
            ("", "x"),
            ("x\r\ny", "x"),
            ("x", "a\r\nb: c"),
            ("x", "ä"),
            ("x", "\0"),
        ] {
            assert!(
                CustomHeaders::parse([(name, value)]).is_err(),
                "{name:?}: {value:?}"
            );
        }
        let names: Vec<String> = (0..33).map(|n| format!("x-{n}")).collect();
        assert!(CustomHeaders::parse(names.iter().map(|name| (name.as_str(), "1"))).is_err());
        assert!(CustomHeaders::parse([("x-long", "y".repeat(8192).as_str())]).is_err());
        assert!(CustomHeaders::parse([("X-A", "1"), ("x-a", "2")]).is_err());
    }

    #[test]
    fn values_are_never_printed() {
        let headers = CustomHeaders::parse([("Authorization", "Bearer canary")]).unwrap();
        assert!(!format!("{headers:?}").contains("canary"));
    }
}
