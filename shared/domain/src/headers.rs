//! A webhook's own headers: parsed and limited, and never one that the gateway sets.

use http::{HeaderName, HeaderValue};

use crate::invalid::Invalid;

pub const MAX_HEADERS: usize = 32;
/// Names and values together.
pub const MAX_HEADER_BYTES: usize = 8192;

pub const RESERVED: [&str; 12] = [
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
pub const RESERVED_PREFIXES: [&str; 4] = ["proxy-", "webhook-", "x-webhook-", "x-observatory-"];
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

/// Checked headers in their original order. Values may be credentials: `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CustomHeaders(Vec<(HeaderName, HeaderValue)>);

impl CustomHeaders {
    /// # Errors
    /// Every error, each under `headers.<name>`.
    pub fn parse<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Invalid> {
        let mut errors = Invalid::default();
        let mut parsed: Vec<(HeaderName, HeaderValue)> = Vec::new();
        let mut bytes = 0;
        for (name, value) in headers {
            bytes += name.len() + value.len();
            match parse_one(name, value) {
                Ok((name, _)) if parsed.iter().any(|(other, _)| *other == name) => {
                    errors.add(format!("headers.{name}"), "is set twice");
                }
                Ok(header) => parsed.push(header),
                Err(message) => errors.add(format!("headers.{name}"), message),
            }
        }
        errors.require(parsed.len() <= MAX_HEADERS, "headers", || {
            format!("must be at most {MAX_HEADERS} headers")
        });
        errors.require(bytes <= MAX_HEADER_BYTES, "headers", || {
            format!("must be at most {MAX_HEADER_BYTES} bytes in total")
        });
        errors.into_result()?;
        Ok(Self(parsed))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Whether a header of this name probably holds a credential and should not be shown.
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
    fn headers_set_by_the_gateway_are_rejected() {
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
            let errors = CustomHeaders::parse([(name, "x")])
                .unwrap_err()
                .into_fields();
            assert!(errors[0].message.contains("set by the gateway"), "{name}");
        }
    }

    #[test]
    fn names_and_values_count_towards_the_limit() {
        let parse = |bytes: usize| {
            let value = "x".repeat(bytes / 4 - 4);
            let names = ["x-aa", "x-bb", "x-cc", "x-dd"];
            CustomHeaders::parse(names.map(|name| (name, value.as_str())))
        };
        assert!(parse(MAX_HEADER_BYTES).is_ok());
        let errors = parse(MAX_HEADER_BYTES + 4).unwrap_err().into_fields();
        assert!(errors[0].message.contains("bytes in total"), "{errors:?}");
    }

    #[test]
    fn debug_output_names_headers_without_values() {
        let headers = CustomHeaders::parse([("Authorization", "Bearer x")]).unwrap();
        assert_eq!(format!("{headers:?}"), "[\"authorization\"]");
    }

    #[test]
    fn headers_are_parsed_and_limited() {
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
