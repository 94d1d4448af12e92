//! Shadow requests: the request of a delivery, sent once to another URL to compare the responses. The delivery does not
//! change.

mod compare;

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::attempt::{Attempt, Verdict};
use crate::delivery::Delivery;
use crate::egress::Rules;
use crate::headers::CustomHeaders;
use crate::invalid::Invalid;
use crate::outcome::{Answer, FailureKind, Outcome, Phase, Timings};
use crate::request::{Content, TIMELESS_SIGNATURES, signed_headers};
use crate::time::{Millis, Timestamp};
use crate::webhook::Webhook;

pub use compare::{Aspect, Compared, Likeness, compare};

/// The caller waits for connection and response, and an HTTP API on AWS gives up after 30 seconds.
pub const MAX_TIMEOUT_SECONDS: u32 = 20;
/// Marks a shadow request for its receiver. Webhooks cannot set this header.
pub const HEADER: HeaderName = HeaderName::from_static("postrider-shadow");
/// Replaces a value that is sent but not shown.
const HIDDEN: &str = "***";

/// A shadow request as submitted, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShadowDraft {
    /// An https URL that the egress rules allow.
    pub url: String,
    /// 1 to 20; by default the webhook's timeout, at most 20.
    pub timeout_seconds: Option<u32>,
    pub own_headers: OwnHeaders,
}

/// Whether to send the headers meant only for the webhook's URL: its own headers, any of which may be a credential, and
/// the signatures without a timestamp, with which the other receiver could replay the request indefinitely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnHeaders {
    #[default]
    LeftOut,
    /// At the operator's request.
    Sent,
}

/// A shadow request, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowWish {
    /// As serialised after the check.
    pub target_url: Url,
    /// By default the webhook's timeout, at most [`MAX_TIMEOUT_SECONDS`].
    pub timeout: Option<Millis>,
    pub own_headers: OwnHeaders,
}

impl ShadowDraft {
    /// # Errors
    /// All errors at once.
    pub fn check(self, rules: &Rules) -> Result<ShadowWish, Invalid> {
        let mut errors = Invalid::default();
        let target_url = errors.take("url", rules.check_url(&self.url));
        let fits = |seconds| (1..=MAX_TIMEOUT_SECONDS).contains(&seconds);
        errors.require(
            self.timeout_seconds.is_none_or(fits),
            "timeout_seconds",
            || format!("must be 1 to {MAX_TIMEOUT_SECONDS} seconds"),
        );
        let timeout = self.timeout_seconds.map(u64::from);
        match target_url {
            Some(target_url) => {
                errors.into_result()?;
                Ok(ShadowWish {
                    target_url,
                    timeout: timeout.map(Millis::from_seconds),
                    own_headers: self.own_headers,
                })
            }
            None => Err(errors),
        }
    }
}

impl ShadowWish {
    #[must_use]
    pub fn timeout_for(&self, webhook: &Webhook) -> Millis {
        let longest = Millis::from_seconds(u64::from(MAX_TIMEOUT_SECONDS));
        self.timeout
            .unwrap_or(webhook.settings.timeout)
            .min(longest)
    }

    #[must_use]
    pub fn left_out(&self, webhook: &Webhook) -> Vec<HeaderName> {
        match self.own_headers {
            OwnHeaders::LeftOut => {
                let own = webhook.settings.headers.iter();
                let own = own.map(|(name, _)| name.clone());
                own.chain(TIMELESS_SIGNATURES).collect()
            }
            OwnHeaders::Sent => Vec::new(),
        }
    }

    /// The headers that an attempt of `row` would have now, without [those left out](Self::left_out) and with
    /// [`HEADER`].
    #[must_use]
    pub fn headers(
        &self,
        row: &Delivery,
        content: &Content,
        webhook: &Webhook,
        now: Timestamp,
    ) -> HeaderMap {
        let mut headers = signed_headers(row, content, webhook, now).headers;
        for name in self.left_out(webhook) {
            headers.remove(name);
        }
        headers.insert(HEADER, HeaderValue::from_static("true"));
        headers
    }
}

/// Names and values for display, without signatures and anything that looks like a credential.
#[must_use]
pub fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = headers.iter().map(|(name, value)| {
        let value = value
            .to_str()
            .ok()
            .filter(|_| !CustomHeaders::is_revealing(name));
        (name.as_str().to_owned(), value.unwrap_or(HIDDEN).to_owned())
    });
    shown.collect()
}

/// The response to a shadow request, in the terms of an attempt record. It is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowReply {
    pub at: Timestamp,
    /// `None` if no status line was received.
    pub status_code: Option<u16>,
    /// Why it failed, in plain words.
    pub error: Option<String>,
    pub kind: Option<FailureKind>,
    pub phase: Option<Phase>,
    pub timings: Timings,
    pub content_type: Option<String>,
    /// The start of the response, also for a success.
    pub response_body: Option<String>,
}

impl ShadowReply {
    #[must_use]
    pub fn of(at: Timestamp, outcome: &Outcome) -> Self {
        let verdict = match outcome.status() {
            Some(200..=299) => Verdict::Success,
            Some(_) | None => Verdict::Failure,
        };
        let record = Attempt::record(0, 0, at, outcome, verdict);
        let (content_type, response_body) = match &outcome.result {
            Answer::Response(response) => {
                (response.content_type.clone(), Some(response.body.clone()))
            }
            Answer::Failed(_) => (None, None),
        };
        Self {
            at,
            status_code: record.status_code,
            error: record.error,
            kind: record.kind,
            phase: record.phase,
            timings: record.timings,
            content_type,
            response_body,
        }
    }

    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status_code, Some(200..=299))
    }
}

#[cfg(test)]
mod tests;
