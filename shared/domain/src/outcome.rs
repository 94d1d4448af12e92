//! The outcome of one POST. A receiver's failure is data, never an error.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::template::RenderError;
use crate::time::{Millis, Timestamp};

/// How many bytes of a response body are stored.
pub const KEPT_BODY_BYTES: usize = 2048;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: Answer,
    pub timings: Timings,
}

/// The response to a POST, or why there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A status line arrived; it alone determines what happens next.
    Response(Response),
    /// No usable response.
    Failed(Failure),
}

/// A response, as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The `Retry-After` header, if it could be parsed.
    pub retry_after: Option<RetryAfter>,
    /// The `webhook-delivery` header, if it could be parsed.
    pub control: Option<Control>,
    /// The `Content-Type` header, shortened if it is very long.
    pub content_type: Option<String>,
    /// The start of the body, to show to operators; invalid UTF-8 is replaced.
    pub body: String,
}

/// When the receiver asks for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    Delay(Millis),
    At(Timestamp),
}

impl RetryAfter {
    /// Parses the header's value: whole seconds or any of the three HTTP date formats.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let value = value.trim();
        if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            let seconds = value.parse().unwrap_or(u64::MAX);
            return Some(Self::Delay(Millis::from_seconds(seconds)));
        }
        let at = httpdate::parse_http_date(value).ok()?;
        let since_epoch = at.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self::At(Timestamp::ZERO.plus(since_epoch.into())))
    }

    #[must_use]
    pub fn wait(self, now: Timestamp) -> Millis {
        match self {
            Self::Delay(delay) => delay,
            Self::At(at) => at.since(now),
        }
    }
}

/// What the receiver asks for in addition to its status, using the header of Svix's delivery control:
/// <https://docs.svix.com/receiving/delivery-control>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Do not send this delivery again.
    AbortMessage,
    /// Stop sending to this webhook.
    Disable,
}

impl Control {
    pub const HEADER: &str = "webhook-delivery";

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AbortMessage => "abort-message",
            Self::Disable => "disable",
        }
    }

    /// Parses the header's value. An unknown value is ignored.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        match value.trim() {
            "abort-message" => Some(Self::AbortMessage),
            "disable" => Some(Self::Disable),
            _ => None,
        }
    }
}

/// Why there was no usable response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    pub phase: Phase,
    /// The reason in plain words; never contains part of a body or of a URL's query.
    pub detail: String,
}

/// The kinds of failure that call for different action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Timeout,
    Dns,
    /// The connection was refused or could not be established.
    Connect,
    Reset,
    Tls,
    /// The response is not valid HTTP.
    Malformed,
    /// Egress rules block the URL or an address it resolves to.
    #[serde(rename = "refused")]
    Blocked,
    /// The webhook's template could not be rendered; nothing was sent.
    Template,
}

/// The steps of an attempt, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Rendering the webhook's template.
    Render,
    /// Checking the URL against the egress rules.
    Check,
    /// Resolving the name.
    Dns,
    /// Opening the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Sending the request and waiting for the status line.
    FirstByte,
    /// Reading the body.
    Body,
}

impl Phase {
    pub const ALL: [Self; 7] = [
        Self::Render,
        Self::Check,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::FirstByte,
        Self::Body,
    ];

    /// The name in the API, in logs and in stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Check => "check",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::FirstByte => "first_byte",
            Self::Body => "body",
        }
    }
}

impl FailureKind {
    pub const ALL: [Self; 8] = [
        Self::Timeout,
        Self::Dns,
        Self::Connect,
        Self::Reset,
        Self::Tls,
        Self::Malformed,
        Self::Blocked,
        Self::Template,
    ];

    /// The name in logs and in stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::Tls => "tls",
            Self::Malformed => "malformed",
            Self::Blocked => "refused",
            Self::Template => "template",
        }
    }
}

/// Not the name of a failure kind or phase; perhaps one of a newer version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown name")]
pub struct UnknownName;

impl FromStr for FailureKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| kind.as_str() == name).ok_or(UnknownName)
    }
}

impl FromStr for Phase {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut phases = Self::ALL.into_iter();
        phases
            .find(|phase| phase.as_str() == name)
            .ok_or(UnknownName)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "timeout",
            Self::Dns => "DNS error",
            Self::Connect => "connection failed",
            Self::Reset => "connection reset",
            Self::Tls => "TLS failure",
            Self::Malformed => "malformed response",
            Self::Blocked => "blocked by egress rules",
            Self::Template => "template error",
        })
    }
}

/// The duration of each phase of an attempt, in milliseconds. A phase that did not happen (a reused connection has no
/// DNS, connect and TLS) is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// Resolving the name.
    pub dns_ms: Option<u32>,
    /// Opening the connection.
    pub connect_ms: Option<u32>,
    /// The TLS handshake.
    pub tls_ms: Option<u32>,
    /// From sending the request to the status line.
    pub first_byte_ms: Option<u32>,
    /// Reading the body.
    pub body_ms: Option<u32>,
    pub total_ms: u32,
}

impl Outcome {
    /// The outcome of an attempt whose request could not be rendered.
    #[must_use]
    pub fn unrendered(error: &RenderError) -> Self {
        Self {
            result: Answer::Failed(Failure {
                kind: FailureKind::Template,
                phase: Phase::Render,
                detail: error.to_string(),
            }),
            timings: Timings::default(),
        }
    }

    /// The status code, if a status line arrived.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match &self.result {
            Answer::Response(response) => Some(response.status),
            Answer::Failed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_reads_seconds_and_dates() {
        assert_eq!(
            RetryAfter::parse(" 120 "),
            Some(RetryAfter::Delay(Millis::from_seconds(120)))
        );
        let at = RetryAfter::At(Timestamp::from_millis(784_111_777_000));
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(RetryAfter::parse(date), Some(at), "{date}");
        }
        assert_eq!(
            at.wait(Timestamp::from_millis(784_111_770_000)),
            Millis::from_seconds(7)
        );
        assert_eq!(
            at.wait(Timestamp::from_millis(999_999_999_999)),
            Millis::ZERO
        );
    }

    #[test]
    fn each_name_is_read_back_and_is_the_same_in_every_store() {
        for kind in FailureKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for phase in Phase::ALL {
            assert_eq!(phase.as_str().parse(), Ok(phase));
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.as_str());
        }
        for control in [Control::AbortMessage, Control::Disable] {
            assert_eq!(Control::parse(control.as_str()), Some(control));
        }
        assert_eq!("".parse::<FailureKind>(), Err(UnknownName));
        assert_eq!("timeout".parse::<Phase>(), Err(UnknownName));
    }

    #[test]
    fn a_control_that_is_not_known_asks_for_nothing() {
        assert_eq!(Control::parse(" disable "), Some(Control::Disable));
        assert_eq!(Control::parse("abort-message"), Some(Control::AbortMessage));
        for text in ["", "Disable", "abort", "disable, abort-message"] {
            assert_eq!(Control::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_retry_after_that_says_nothing_is_ignored() {
        for text in [
            "",
            "soon",
            "-5",
            "1.5",
            "+3",
            "12 seconds",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(RetryAfter::parse(text), None, "{text}");
        }
        assert!(
            RetryAfter::parse("99999999999999999999999").is_some(),
            "a huge number is clamped later"
        );
    }
}
