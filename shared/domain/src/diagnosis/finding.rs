//! The possible results of a diagnosis.

use std::fmt;

use serde::Serialize;

use crate::scheme::TimeFit;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// The request would be accepted now, for example because the secret has since been added.
    Matches,
    /// The signature is valid, but its timestamp is outside the window.
    Clock {
        /// Seconds after the gateway's clock, negative if before it.
        seconds_off: i64,
    },
    /// The signature is valid, but the timestamp is missing or malformed.
    BadTime,
    /// Signed with an expired secret.
    OldSecret,
    /// Signed with the source's secret in another scheme.
    OtherScheme { scheme: &'static str },
    /// The signature is valid for a different body.
    ChangedBody { change: BodyChange },
    /// The signature is valid for a different URL.
    ChangedUrl { change: UrlChange },
    /// A signature or timestamp that the scheme requires is missing.
    Missing { expected: String },
    /// There is a value where the scheme expects a signature, but not in its format.
    OtherForm { expected: String },
    /// The stored body is incomplete, so no signature over it can be checked.
    BodyCut,
    /// No check matched: the sender used a different secret or signed a different body.
    Nothing,
}

/// What turns the received body into the signed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyChange {
    /// The trailing line break removed.
    NewlineCut,
    /// A trailing line feed added.
    NewlineAdded,
    /// Every line feed replaced with CR LF.
    CrlfAdded,
    /// Every CR LF replaced with a line feed.
    CrlfCut,
    /// The byte order mark removed.
    MarkCut,
    /// Whitespace between JSON tokens removed.
    Compact,
    /// A space after every comma and colon, as Python writes JSON.
    Spaced,
    /// Keys sorted.
    Sorted,
    /// Keys sorted, and a space after every comma and colon.
    SortedSpaced,
    Base64Decoded,
    Empty,
}

/// What turns the source's URL into the one that was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlChange {
    PortAdded,
    PortCut,
    SlashAdded,
    SlashCut,
    Http,
    Https,
    QueryCut,
    /// The host and path of the received request.
    AsReceived,
}

/// The finding for a valid signature.
pub(super) fn of_time(time: TimeFit) -> Finding {
    of_off_time(time).unwrap_or(Finding::Matches)
}

/// The finding for the timestamp of a valid signature, unless it is within the window.
pub(super) fn of_off_time(time: TimeFit) -> Option<Finding> {
    match time {
        TimeFit::Fits => None,
        TimeFit::Malformed => Some(Finding::BadTime),
        TimeFit::Off(seconds_off) => Some(Finding::Clock { seconds_off }),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matches => f.write_str("it matches: the request would be accepted now"),
            Self::Clock { seconds_off } => {
                let way = if seconds_off.is_negative() {
                    "behind"
                } else {
                    "ahead"
                };
                let seconds = seconds_off.unsigned_abs();
                write!(
                    f,
                    "the signature is valid, but its timestamp is {seconds} s {way}: a wrong clock or a replayed request"
                )
            }
            Self::BadTime => {
                f.write_str("the signature is valid, but the timestamp is missing or malformed")
            }
            Self::OldSecret => {
                f.write_str("signed with an expired secret: give the sender the current one")
            }
            Self::OtherScheme { scheme } => {
                write!(
                    f,
                    "signed with the right secret in the scheme `{scheme}`: create a source with that scheme"
                )
            }
            Self::ChangedBody { change } => write!(
                f,
                "the signature is valid for a different body: {change}; something in transit rewrites the body"
            ),
            Self::ChangedUrl { change } => {
                write!(
                    f,
                    "the signature is valid for a different URL: {change}; update the source's public_url"
                )
            }
            Self::Missing { expected } => write!(f, "missing: {expected}"),
            Self::OtherForm { expected } => {
                write!(f, "not in the expected format: {expected}")
            }
            Self::BodyCut => f.write_str(
                "the body was too long to store in full, so its signature cannot be checked",
            ),
            Self::Nothing => f.write_str(
                "nothing matches: the sender used a different secret or signed a different body",
            ),
        }
    }
}

impl fmt::Display for BodyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewlineCut => "without the trailing line break",
            Self::NewlineAdded => "with a trailing line feed",
            Self::CrlfAdded => "with CR LF line endings",
            Self::CrlfCut => "with LF line endings",
            Self::MarkCut => "without the byte order mark",
            Self::Compact => "as JSON without whitespace",
            Self::Spaced => "as JSON with a space after commas and colons, as Python writes it",
            Self::Sorted => "as JSON with sorted keys",
            Self::SortedSpaced => "as JSON with sorted keys and a space after commas and colons",
            Self::Base64Decoded => "decoded from base64",
            Self::Empty => "no body at all",
        })
    }
}

impl fmt::Display for UrlChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PortAdded => "with the port",
            Self::PortCut => "without the port",
            Self::SlashAdded => "with a trailing slash",
            Self::SlashCut => "without the trailing slash",
            Self::Http => "with http",
            Self::Https => "with https",
            Self::QueryCut => "without the query",
            Self::AsReceived => "the host and path of the request",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_or_behind() {
        for (seconds_off, words) in [(3600, "3600 s ahead"), (-301, "301 s behind")] {
            let text = Finding::Clock { seconds_off }.to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_finding_names_what_it_found() {
        let (scheme, expected) = ("stripe", "header `x-sig: <hex>`".to_owned());
        let body = |change| Finding::ChangedBody { change };
        let url = |change| Finding::ChangedUrl { change };
        for (finding, words) in [
            (Finding::Matches, "would be accepted now"),
            (Finding::BadTime, "the timestamp is missing"),
            (Finding::OldSecret, "an expired secret"),
            (Finding::OtherScheme { scheme }, "the scheme `stripe`"),
            (body(BodyChange::CrlfCut), "LF line endings"),
            (body(BodyChange::Base64Decoded), "base64"),
            (url(UrlChange::PortCut), "without the port"),
            (url(UrlChange::AsReceived), "the host and path"),
            (
                Finding::Missing {
                    expected: expected.clone(),
                },
                "missing: header `x-sig: <hex>`",
            ),
            (
                Finding::OtherForm { expected },
                "expected format: header `x-sig: <hex>`",
            ),
            (Finding::BodyCut, "too long to store"),
            (Finding::Nothing, "nothing matches"),
        ] {
            let text = finding.to_string();
            assert!(text.contains(words), "{text}");
        }
    }
}
