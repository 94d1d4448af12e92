//! What a diagnosis can say.

use std::fmt;

use serde::Serialize;

use crate::scheme::TimeFit;

/// Something that would have matched, or that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// It matches: whatever was wrong then is right now.
    Matches,
    /// The signature is right, but the time lies so many seconds after the gateway's, or before it if negative.
    Clock {
        /// How many.
        seconds_off: i64,
    },
    /// The signature is right, but the time is missing or not in its form.
    BadTime,
    /// It was signed with a secret that is valid no more.
    OldSecret,
    /// It was signed with the source's secret, but as another scheme does.
    OtherScheme {
        /// Which one.
        scheme: &'static str,
    },
    /// The signature is right for another body than the one that arrived.
    ChangedBody {
        /// What was changed to get the one that was signed.
        change: BodyChange,
    },
    /// The signature is right for another URL than the source's.
    ChangedUrl {
        /// What was changed to get the one that was signed.
        change: UrlChange,
    },
    /// Where the scheme looks for something there is nothing.
    Missing {
        /// What was expected.
        expected: String,
    },
    /// Where the scheme looks for a signature there is something else.
    OtherForm {
        /// What was expected.
        expected: String,
    },
    /// The body is not whole, so that no signature over it can be looked at.
    BodyCut,
    /// Nothing that was tried matches: another secret, or another body.
    Nothing,
}

/// What turns the body that arrived into the one that was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyChange {
    /// The line end behind it taken away.
    NewlineCut,
    /// A line feed added behind it.
    NewlineAdded,
    /// CR LF made of every line feed.
    CrlfAdded,
    /// A line feed made of every CR LF.
    CrlfCut,
    /// A byte order mark taken away.
    MarkCut,
    /// White space between JSON values taken away.
    Compact,
    /// A space after every comma and colon, as Python writes JSON.
    Spaced,
    /// Names sorted.
    Sorted,
    /// Names sorted, and a space after every comma and colon.
    SortedSpaced,
    /// Decoded from base64.
    Base64Decoded,
    /// Left out.
    Empty,
}

/// What turns the source's URL into the one that was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlChange {
    /// With the port.
    PortAdded,
    /// Without the port.
    PortCut,
    /// With a slash behind it.
    SlashAdded,
    /// Without the slash behind it.
    SlashCut,
    /// http in place of https.
    Http,
    /// https in place of http.
    Https,
    /// Without the query.
    QueryCut,
    /// The host and path that the request itself names.
    AsReceived,
}

/// What is said of a request whose signature is right.
pub(super) fn of_time(time: TimeFit) -> Finding {
    of_off_time(time).unwrap_or(Finding::Matches)
}

/// What is said of its time, if it does not fit.
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
            Self::Matches => f.write_str("it matches: what was wrong then is right now"),
            Self::Clock { seconds_off } => {
                let way = if *seconds_off < 0 { "behind" } else { "ahead" };
                let seconds = seconds_off.unsigned_abs();
                write!(
                    f,
                    "the signature is right, but its time is {seconds} s {way}: a wrong clock, or a request sent again"
                )
            }
            Self::BadTime => {
                f.write_str("the signature is right, but the time is missing or not in its form")
            }
            Self::OldSecret => f.write_str(
                "signed with a secret that is valid no more: give the sender the new one",
            ),
            Self::OtherScheme { scheme } => {
                write!(
                    f,
                    "signed with the right secret in the scheme `{scheme}`: make a new source with that scheme"
                )
            }
            Self::ChangedBody { change } => write!(
                f,
                "the signature is right for another body: {change}; something between sender and gateway writes it anew"
            ),
            Self::ChangedUrl { change } => {
                write!(
                    f,
                    "the signature is right for another URL: {change}; change the source's public_url"
                )
            }
            Self::Missing { expected } => write!(f, "missing: {expected}"),
            Self::OtherForm { expected } => {
                write!(f, "not in the form that was expected: {expected}")
            }
            Self::BodyCut => f.write_str(
                "the body was too long to be kept whole, so its signature cannot be looked at",
            ),
            Self::Nothing => {
                f.write_str("nothing that was tried matches: another secret, or another body")
            }
        }
    }
}

impl fmt::Display for BodyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewlineCut => "without the line end behind it",
            Self::NewlineAdded => "with a line feed behind it",
            Self::CrlfAdded => "with CR LF at the end of its lines",
            Self::CrlfCut => "with LF at the end of its lines",
            Self::MarkCut => "without the byte order mark",
            Self::Compact => "as JSON without white space",
            Self::Spaced => "as JSON with a space after commas and colons, as Python writes it",
            Self::Sorted => "as JSON with sorted names",
            Self::SortedSpaced => "as JSON with sorted names and a space after commas and colons",
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
            Self::SlashAdded => "with a slash behind it",
            Self::SlashCut => "without the slash behind it",
            Self::Http => "with http",
            Self::Https => "with https",
            Self::QueryCut => "without the query",
            Self::AsReceived => "the host and path of the request",
        })
    }
}
